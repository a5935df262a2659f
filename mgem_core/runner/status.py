"""What keeps the runner from working, for everybody who waits for it: a file of fixed size beside the store.

It is written in place, so that it can be written on a full disk, too.
"""

import json
import os
import time
from contextlib import suppress

from mgem_core.home import home

SIZE = 2048  # bytes
FRESH = 15.0  # seconds for which a report counts; a runner with a problem renews it every five at the latest
NAME = "runner.status"


def report_problem(problem: str) -> None:
    """Say what is wrong; an empty text says that nothing is."""
    text = json.dumps({"process": os.getpid(), "time": time.time(), "problem": problem[: SIZE // 8]})
    path = home() / NAME
    with suppress(OSError), path.open("r+b" if path.exists() else "wb") as file:
        file.write(text.encode().ljust(SIZE))


def current_problem() -> str:
    """What keeps the runner from working now; empty if nothing does, or if no runner says so."""
    try:
        report = json.loads((home() / NAME).read_bytes())
        return str(report["problem"]) if time.time() - report["time"] < FRESH else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""
