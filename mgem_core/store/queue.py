"""The queue: which run is trained next, and by which process.

Sweeps take turns. A run has a place in the queue, and the lowest place comes first. A new request starts at the place of
the runs in training and counts up, so its runs alternate with theirs. A process trains only runs that were requested with
its own code (`keys.RunKey`), so several versions of the code can share a store.
"""

import sqlite3
import time
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import ValidationError

from mgem_core.config import RunConfig, explain
from mgem_core.config.keys import RunKey, code_of_this_process, codes_on_disk
from mgem_core.errors import UsageError
from mgem_core.store.database import Database
from mgem_core.text import pluralize

OTHER_CODE = "requested with other code, libraries or data than are installed here"
MOST_UNREADABLE = 20  # how many runs per code are tried to find one that this version can read


class Queued(NamedTuple):
    place: int
    run: int
    code: str
    config: RunConfig | None  # None if this version cannot read it
    problem: str = ""  # why it cannot be trained
    unreadable: tuple[int, str] | None = None  # an earlier run that this version cannot read, and the reason


def next_run(database: Database) -> Queued | None:
    """Return the queued run with the lowest place that this process can train or must mark as failed."""
    return min(filter(None, map(_checked, _first_runs(database))), key=lambda one: (one.place, one.run), default=None)


def _checked(first: Queued) -> Queued | None:
    """Return the run if it is for this process, with a problem if its data or config cannot be read; otherwise None."""
    if first.config is None:
        return None
    try:
        if code_of_this_process(first.config) != first.code:
            return None
    except UsageError as error:
        return first._replace(problem=str(error))
    if first.unreadable:
        run, problem = first.unreadable
        return first._replace(run=run, problem=problem)
    return first


def requested_codes(database: Database) -> dict[str, bool]:
    """Map the code of each queued run to whether a process started now would run that code."""
    code_on_disk = codes_on_disk()

    def is_current(first: Queued) -> bool:
        try:
            return first.config is not None and code_on_disk(first.config) == first.code
        except UsageError:  # its data cannot be read, which the runner will report
            return True

    return {first.code: is_current(first) for first in _first_runs(database)}


def _first_runs(database: Database) -> list[Queued]:
    """Return the first run that this version can read, for each code with which queued runs were requested."""
    query = "SELECT place, id, config FROM runs WHERE status = 'queued' AND code = ? ORDER BY place, id LIMIT ?"
    found = []
    for (code,) in database.rows("SELECT DISTINCT code FROM runs WHERE status = 'queued'"):
        first, unreadable = Queued(0, 0, code, None), None
        for place, run, config in database.rows(query, code, MOST_UNREADABLE):
            try:
                first = Queued(place, run, code, RunConfig.model_validate_json(config), unreadable=unreadable)
                break
            except ValidationError as error:
                unreadable = unreadable or (run, explain(error))
        found.append(first)
    return found


def request(db: sqlite3.Connection, keys: Mapping[int, RunKey], place: int) -> int:
    """Queue runs from this place on, except those finished or already queued with this code; return how many."""
    change = "status = 'queued', wanted = 'run', attempts = 0, error = NULL, traceback = NULL, ended = NULL"
    must_change = "(status IN ('failed', 'cancelled') OR (status = 'queued' AND code != ?3))"
    query = f"UPDATE runs SET {change}, key = ?2, code = ?3, place = ?4 WHERE id = ?1 AND {must_change}"
    requested = 0
    for run, key in keys.items():
        requested += db.execute(query, (run, *key, place + requested)).rowcount
        db.execute("UPDATE runs SET wanted = 'run' WHERE status = 'running' AND id = ?", (run,))
    return requested


def fail(db: sqlite3.Connection, run: int, problem: str, code: str | None = None) -> None:
    """Mark a queued run that cannot be trained as failed, if it is still requested with this code."""
    change = "UPDATE runs SET status = 'failed', error = ?1, ended = ?2 WHERE status = 'queued' AND id = ?3"
    db.execute(f"{change} AND code = ifnull(?4, code)", (problem, time.time(), run, code))


def next_place(db: sqlite3.Connection) -> int:
    """Return the place at which a new request starts: that of the runs in training, or else of the next in the queue."""
    running = "SELECT max(place) FROM runs WHERE status = 'running'"
    waiting = "SELECT min(place) FROM runs WHERE status = 'queued'"
    return int(db.execute(f"SELECT coalesce(({running}), ({waiting}), 0)").fetchone()[0])


def describe_waiting(runs: int) -> str:
    """Return a sentence, without its full stop, saying that this many runs wait for other code."""
    return f"{pluralize(runs, 'run')} {'waits: it was' if runs == 1 else 'wait: they were'} {OTHER_CODE}"
