"""Write the events of a run into the store: one function per kind of event."""

import io
import json
import sqlite3
import sys
import time
from dataclasses import asdict
from typing import Any

import numpy as np

from mgem_core.events import Event, Finished, Snapped, Started, TaskLearned, number
from mgem_core.restriction import gram_factors

METRICS = ("acc", "fwd", "bwd", "validation_acc", "seconds", "seconds_per_step")


def record_event(db: sqlite3.Connection, run: int, event: Event) -> None:
    if isinstance(event, Started):
        _record_start(db, run, event)
    elif isinstance(event, Finished):
        _record_result(db, run, event)
    elif isinstance(event, Snapped):
        db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", (run, event.task, event.step, packed(event)))
    else:
        step = 0 if isinstance(event, TaskLearned) else event.step
        data = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in asdict(event).items()}
        values = (run, event.task, step, type(event).__name__, json.dumps(data))
        db.execute("INSERT OR REPLACE INTO events (run, task, step, kind, data) VALUES (?, ?, ?, ?, ?)", values)
        at = (event.task + 1, 0) if isinstance(event, TaskLearned) else (event.task, event.step)
        db.execute("UPDATE runs SET task = ?, step = ? WHERE id = ?", (*at, run))


def _record_start(db: sqlite3.Connection, run: int, event: Started) -> None:
    """Delete the events after the checkpoint, because the run yields them again."""
    position = {"run": run, "task": event.task, "step": event.step}
    for table, is_before in _BEFORE.items():
        db.execute(f"DELETE FROM {table} WHERE run = :run AND NOT ({is_before})", position)
    change = "task = :task, step = :step, resumed_task = :task, resumed_step = :step, task_names = :task_names"
    known = "key = ifnull(:key, key), notice = ifnull(:notice, notice)"
    names = json.dumps(event.tasks)
    values = {**position, "task_names": names, "key": event.key or None, "notice": event.notice or None}
    db.execute(f"UPDATE runs SET {change}, {known} WHERE id = :run", values)


def _record_result(db: sqlite3.Connection, run: int, event: Finished) -> None:
    """Store a result; the run fails instead if the store lacks an event that led to it."""
    learned = int((~np.isnan(event.R).all(axis=1)).sum())
    stored = count_events(db, run, learned, sys.maxsize)
    if event.events is not None and stored != event.events:
        error = f"the store lacks some of the {event.events} events of this run; resume it to train it again."
        result: dict[str, Any] = {"status": "failed", "error": error}
    else:
        result = {
            **{"status": event.status, "error": event.message or None, "fingerprint": event.fingerprint},
            **{name: number(getattr(event, name)) for name in METRICS},
            "matrix": json.dumps([[number(value) for value in row] for row in event.R]),
        }
    columns = ", ".join(f"{name} = ?" for name in (*result, "ended"))
    db.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*result.values(), time.time(), run))


_BEFORE = {  # which rows of each table precede step :step of task :task
    "events": "task < :task OR (task = :task AND step <= :step AND kind != 'TaskLearned')",
    "snapshots": "task < :task OR (task = :task AND step <= :step)",
}


def count_events(db: sqlite3.Connection, run: int, task: int, step: int) -> int:
    """Return how many events of a run precede that step of that task; 0 if a row of R is missing."""
    values = {"run": run, "task": task, "step": step}
    counts = [f"(SELECT count(*) FROM {table} WHERE run = :run AND ({is_before}))" for table, is_before in _BEFORE.items()]
    rows_of_R = "(SELECT count(*) FROM events WHERE run = :run AND kind = 'TaskLearned' AND task < :task)"
    count, rows = db.execute(f"SELECT {' + '.join(counts)}, {rows_of_R}", values).fetchone()
    return int(count) if rows == task else 0


def packed(event: Snapped) -> bytes:
    """Return the bytes in which a snapshot is stored."""
    file = io.BytesIO()
    np.savez_compressed(file, factor=gram_factors.pack(event.gram), sizes=event.sizes)
    return file.getvalue()
