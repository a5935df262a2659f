"""Queries about the runs of a sweep that are training, have ended recently, or are still to train."""

from typing import NamedTuple

from mgem_core.store.reader import COMPUTED, ENDED, ITERATIONS, TASKS, Reader
from mgem_core.store.run_filter import run_condition

PROGRESS = COMPUTED["progress"]
RESUMED = f"(ifnull(resumed_task, 0) + 1.0 * ifnull(resumed_step, 0) / {ITERATIONS}) / {TASKS}"  # progress at the start
LAST_STEPS = "SELECT data FROM events WHERE run = runs.id AND kind = 'Stepped' ORDER BY task DESC, step DESC LIMIT 1"
COLUMNS = (  # of RecentRun
    "config",
    "started",
    "CASE status WHEN 'running' THEN NULL ELSE ended END",
    f"max(0.0, ifnull({PROGRESS} - {RESUMED}, 0.0))",
    f"ifnull({PROGRESS} * {TASKS} * {ITERATIONS}, 0.0)",
    f"CASE status WHEN 'running' THEN json_extract(({LAST_STEPS}), '$.seconds_per_step') ELSE seconds_per_step END",
)


class RecentRun(NamedTuple):
    """A run that is training or ended recently."""

    config: str  # as JSON
    started: float  # start of the last attempt
    ended: float | None  # None: it is training
    trained: float  # share of its steps that were taken in this attempt
    steps: float  # number of steps taken in all attempts
    seconds_per_step: float | None  # mean; while it trains, of the last steps


def recent_runs(store: Reader, sweep: int, since: float, most: int) -> list[RecentRun]:
    """Return the runs of a sweep that are training and those that ended last: at most this many, since that time."""
    condition, values = run_condition(sweep=sweep)
    is_recent = f"(status = 'running' OR status IN {ENDED} AND ended >= ?) AND started IS NOT NULL"
    order = "status = 'running' DESC, ended DESC"
    query = f"SELECT {', '.join(COLUMNS)} FROM runs WHERE {condition} AND {is_recent} ORDER BY {order} LIMIT ?"
    return [RecentRun(*row) for row in store.database.rows(query, *values, since, most)]


def remaining_runs(store: Reader, sweep: int) -> list[tuple[str, float]]:
    """Return the config (as JSON) of each queued or running run of a sweep, and the share that is still to train."""
    condition, values = run_condition(sweep=sweep)
    query = f"SELECT config, 1 - {PROGRESS} FROM runs WHERE status IN ('queued', 'running') AND {condition}"
    return [(row[0], row[1]) for row in store.database.rows(query, *values)]
