"""The problem that keeps the runner from working, for everyone who waits for it: a file of fixed size beside the store.

It is overwritten in place, which works on a full disk, too.
"""

import json
import os
import time
from contextlib import suppress

from mgem_core.home import home

SIZE = 2048  # bytes
FRESH = 15.0  # seconds for which a report is valid; a runner with a problem repeats it at least every five seconds
NAME = "runner.status"


def report_problem(problem: str) -> None:
    """Write the problem to the file; an empty text means that there is none."""
    text = json.dumps({"process": os.getpid(), "time": time.time(), "problem": problem[: SIZE // 8]})
    path = home() / NAME
    with suppress(OSError), path.open("r+b" if path.exists() else "wb") as file:
        file.write(text.encode().ljust(SIZE))


def current_problem() -> str:
    """The problem that keeps the runner from working; empty if there is none, or no recent report."""
    try:
        report = json.loads((home() / NAME).read_bytes())
        return str(report["problem"]) if time.time() - report["time"] < FRESH else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""
