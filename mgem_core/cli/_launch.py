"""Steps of `mgem sweep` before runs are queued: confirm a huge sweep, and show the progress of preparing it."""

import sys
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TypeVar

from mgem_core import UsageError
from mgem_core.analysis.estimate import MANY_RUNS

T = TypeVar("T")
SECONDS = 2.0  # seconds between two lines of progress


def confirm(what: str, is_confirmed: bool) -> None:
    """Ask the user on the terminal; raise UsageError without a terminal or without a yes."""
    if is_confirmed:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{what}; add --yes to launch it anyway, or choose fewer values.")
    print(f"{what[:1].upper()}{what[1:]}. Launch it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was launched.")


def show_progress(doing: str, items: Iterable[T], total: int) -> Iterator[T]:
    """Yield the items, and print every few seconds how many there were; the next call overwrites the last line."""
    shown = monotonic()
    for number, item in enumerate(items, 1):
        if total >= MANY_RUNS and (monotonic() - shown > SECONDS or number == total):
            shown = monotonic()
            start, end = ("\r\033[K", "") if sys.stderr.isatty() else ("", "\n")
            print(f"{start}{doing}: {number:,} of {total:,} runs", end=end, file=sys.stderr, flush=True)
            if number == total and sys.stderr.isatty():
                print(file=sys.stderr)
        yield item
