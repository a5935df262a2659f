"""Queries on the store, as named methods that return plain data."""

import io
import json
import sqlite3
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgem_core.config.sweeps import SEED, configuration_of
from mgem_core.events import Snapped, number
from mgem_core.learners import shares_network
from mgem_core.metrics import forgetting
from mgem_core.restriction import gram_factors
from mgem_core.store.database import Database
from mgem_core.store.run_filter import BENCHMARK, RunFilter, run_condition

STATUSES = ("queued", "running", "finished", "failed", "diverged", "cancelled")
ENDED = ("finished", "failed", "diverged", "cancelled")
TASKS, ITERATIONS = (f"json_extract(config, '$.{name}')" for name in ("tasks", "iterations"))
COMPUTED = {  # columns of a run that are computed from those of the table
    # The fraction of its steps that a run has taken. Most runs of a large sweep have taken none or all, and reading their
    # configs would take most of the time.
    "progress": "CASE WHEN status = 'finished' THEN 1.0 WHEN task = 0 AND step = 0 THEN 0.0 "
    f"ELSE ifnull((task + 1.0 * step / {ITERATIONS}) / {TASKS}, 0.0) END",
    # The number of tasks that a run has learned, even if some rows of R are missing.
    "learned": f"CASE status WHEN 'finished' THEN max(task, ifnull({TASKS}, 0)) ELSE task END",
    **{name: f"json_extract(config, '$.{name}')" for name in ("benchmark", "method", "strength", "seed", "tasks")},
}
Row = dict[str, Any]
# Task, step, packed factors [L, M (M + 1) / 2] and sizes [S, K] of a snapshot; see `gram_factors` and `Snapped`.
PackedRow = tuple[int, int, NDArray[np.float32], NDArray[np.int64]]


class Reader:
    def __init__(self, database: Database):
        self.database, self.path = database, database.path
        self.version, self.is_current, self.size = database.version, database.is_current, database.size

    # Runs

    def run_values(
        self, columns: Sequence[str], runs: Sequence[int] | None = None, sweep: int | None = None
    ) -> list[tuple[Any, ...]]:
        """Return columns (of the table or COMPUTED; `config` as JSON) of some runs, a sweep or all runs, ordered by id."""
        selected = ", ".join(COMPUTED.get(name, name) for name in columns)
        condition, values = run_condition(runs, sweep)
        return list(map(tuple, self.database.rows(f"SELECT {selected} FROM runs WHERE {condition} ORDER BY id", *values)))

    def run_records(self, runs: Sequence[int] | None = None, sweep: int | None = None) -> list[Row]:
        """Return everything about some runs, a sweep or all runs, by id; config, matrix and task_names are plain data.

        Forgetting is computed from the matrix, so that runs of older versions have it, too.
        """
        condition, values = run_condition(runs, sweep)
        computed = f"{COMPUTED['progress']} AS progress"
        rows = self.database.rows(f"SELECT *, {computed} FROM runs WHERE {condition} ORDER BY id", *values)
        stored_as_json = ("config", "matrix", "task_names")
        records = [{**row, **{name: row[name] and json.loads(row[name]) for name in stored_as_json}} for row in rows]
        return [{**record, "forgetting": forgetting_of(record)} for record in records]

    def task_names(self, runs: Sequence[int]) -> dict[int, list[str]]:
        """Map each run to the names of its tasks; empty if it never started or an older version did not store them."""
        return {run: json.loads(names or "[]") for run, names in self.run_values(["id", "task_names"], runs)}

    def find_runs(self, which: RunFilter, most: int) -> tuple[list[Row], int]:
        """Return the newest runs that the filter selects, up to `most`, and how many it selects in all."""
        condition, values = which.condition()
        computed = ", ".join(
            f"{COMPUTED[name]} AS {name}" for name in ("progress", "benchmark", "method", "strength", "seed")
        )
        columns = f"id, label, status, wanted, acc, fwd, bwd, seconds, created, {computed}"
        rows = self.database.rows(f"SELECT {columns} FROM runs WHERE {condition} ORDER BY id DESC LIMIT {most}", *values)
        total = len(rows)
        if total == most:
            total = self.database.value(f"SELECT count(*) FROM runs WHERE {condition}", *values)
        return list(map(dict, rows)), total

    def benchmarks(self, runs: Sequence[int] | None = None) -> list[str]:
        """Return the names of the benchmarks of these runs, or of all runs, in alphabetical order."""
        condition, values = run_condition(runs)
        query = f"SELECT DISTINCT {BENCHMARK} FROM runs WHERE {condition} ORDER BY 1"
        return [row[0] for row in self.database.rows(query, *values)]

    def counts(self, sweep: int | None = None) -> dict[str, int]:
        """Return the number of runs with each status, in one sweep or in all."""
        condition, values = run_condition(sweep=sweep)
        rows = self.database.rows(f"SELECT status, count(*) FROM runs WHERE {condition} GROUP BY status", *values)
        return {**dict.fromkeys(STATUSES, 0), **{row[0]: row[1] for row in rows}}

    def progress_by_status(self, sweep: int) -> tuple[dict[str, int], dict[str, float]]:
        """Count the runs of a sweep by status, and sum their progress."""
        condition, values = run_condition(sweep=sweep)
        query = f"SELECT status, count(*), sum({COMPUTED['progress']}) FROM runs WHERE {condition} GROUP BY status"
        rows = self.database.rows(query, *values)
        counts, done = ({**dict.fromkeys(STATUSES, 0), **{row[0]: row[i] for row in rows}} for i in (1, 2))
        return counts, done

    def recent_durations(self) -> list[tuple[str, float]]:
        """Return the config (as JSON) and seconds of the 200 runs that finished last."""
        query = "SELECT config, seconds FROM runs WHERE status = 'finished' AND seconds > 0 ORDER BY id DESC LIMIT 200"
        return [tuple(row) for row in self.database.rows(query)]

    # Sweeps

    def sweeps(self) -> list[Row]:
        """Return all sweeps, the newest first: id, name, created, `runs` (how many), and how many have each status."""
        counts = ", ".join(f"sum(status = '{status}') AS {status}" for status in STATUSES)
        query = (
            f"SELECT sweeps.id, name, sweeps.created, count(*) AS runs, {counts} FROM sweeps "
            "JOIN members ON sweep = sweeps.id JOIN runs ON runs.id = run GROUP BY sweeps.id ORDER BY sweeps.id DESC"
        )
        return list(map(dict, self.database.rows(query)))

    def sweep(self, sweep: int) -> Row | None:
        """Return its id, name, time of creation and spec (as plain data); None if there is no such sweep."""
        rows = self.database.rows("SELECT * FROM sweeps WHERE id = ?", sweep)
        return {**rows[0], "spec": json.loads(rows[0]["spec"])} if rows else None

    def run_ids(self, sweep: int) -> list[int]:
        return self._ids("SELECT run FROM members WHERE sweep = ? ORDER BY run", sweep)

    def sweeps_of(self, runs: Sequence[int]) -> dict[int, str]:
        """Return the id and name of each sweep to which any of these runs belongs."""
        query = (
            "SELECT DISTINCT id, name FROM sweeps JOIN members ON sweep = id "
            "WHERE run IN (SELECT value FROM json_each(?)) ORDER BY id"
        )
        return {row["id"]: row["name"] for row in self.database.rows(query, json.dumps(list(runs)))}

    def count_shared_runs(self, sweep: int) -> int:
        """Return how many runs of a sweep also belong to other sweeps."""
        its_runs = "SELECT run FROM members WHERE sweep = ?1"
        query = f"SELECT count(DISTINCT run) FROM members WHERE sweep != ?1 AND run IN ({its_runs})"
        return int(self.database.value(query, sweep))

    def best_accuracies(self, sweeps: Sequence[int]) -> dict[int, float]:
        """Map each of these sweeps to the ACC of its best configuration (mean over its finished seeds)."""
        query = (  # CROSS JOIN fixes the order of the joins; SQLite would look up every finished run in every sweep
            "SELECT sweep, config, acc, runs.created = sweeps.created FROM sweeps CROSS JOIN members ON sweep = sweeps.id "
            "CROSS JOIN runs ON runs.id = run WHERE sweeps.id IN (SELECT value FROM json_each(?)) "
            "AND status = 'finished' AND acc IS NOT NULL"
        )
        rows = self.database.rows(query, json.dumps(list(sweeps)))
        with_older_runs = {sweep for sweep, _, _, is_new in rows if not is_new}
        accuracies: dict[int, dict[str, list[float]]] = {}
        for sweep, config, acc, _ in rows:
            # Runs created with their sweep come from one version, which writes equal configurations as equal text.
            text, replaced = SEED.subn("", config, count=1)
            configuration = text if replaced and sweep not in with_older_runs else configuration_of(config)
            accuracies.setdefault(sweep, {}).setdefault(configuration, []).append(acc)
        return {sweep: max(map(fmean, by_configuration.values())) for sweep, by_configuration in accuracies.items()}

    # Events

    def events(self, runs: Sequence[int], kinds: Sequence[str]) -> Iterator[tuple[int, str, Row]]:
        """Yield run, kind and data of every event of these kinds ("Stepped", "Probed", "TaskLearned"), in order."""
        query = (
            "SELECT run, kind, data FROM events WHERE run IN (SELECT value FROM json_each(?)) "
            "AND kind IN (SELECT value FROM json_each(?)) ORDER BY run, task, step"
        )
        for run, kind, data in self.database.rows(query, json.dumps(list(runs)), json.dumps(list(kinds))):
            yield run, kind, json.loads(data)

    def has_events(self, runs: Sequence[int], kind: str, first_task: int = 0) -> bool:
        """Return whether any of these runs has an event of this kind, from task `first_task` on."""
        query = (
            "SELECT EXISTS (SELECT 1 FROM events WHERE kind = ? AND task >= ? AND run IN (SELECT value FROM json_each(?)))"
        )
        return bool(self.database.value(query, kind, first_task, json.dumps(list(runs))))

    def runs_with_snapshots(self, runs: Sequence[int] | None = None, first_task: int = 0) -> list[int]:
        """Return the runs with snapshots from task `first_task` on: among `runs`, or in the whole store."""
        condition, values = run_condition(runs)
        has_some = "EXISTS (SELECT 1 FROM snapshots WHERE run = runs.id AND task >= ?)"
        return self._ids(f"SELECT id FROM runs WHERE {condition} AND {has_some} ORDER BY id", *values, first_task)

    def runs_with_snapshots_outside_sweeps(self) -> list[int]:
        """Return the runs with snapshots that belong to no sweep."""
        condition = "NOT EXISTS (SELECT 1 FROM members WHERE run = runs.id)"
        has_some = "EXISTS (SELECT 1 FROM snapshots WHERE run = runs.id)"
        return self._ids(f"SELECT id FROM runs WHERE {condition} AND {has_some} ORDER BY id")

    def snapshots(self, run: int) -> list[Snapped]:
        query = "SELECT * FROM snapshots WHERE run = ? ORDER BY task, step"
        return list(map(_unpacked, self.database.rows(query, run)))

    def packed_snapshots(self, run: int, after: tuple[int, int] = (-1, -1)) -> list[PackedRow]:
        """Return the snapshots of a run after this task and step: task, step, packed factors and `sizes`, in order."""
        query = "SELECT * FROM snapshots WHERE run = ? AND (task, step) > (?, ?) ORDER BY task, step"
        return [(row["task"], row["step"], *_packed(row)) for row in self.database.rows(query, run, *after)]

    def _ids(self, query: str, *values: Any) -> list[int]:
        return [row[0] for row in self.database.rows(query, *values)]


def forgetting_of(run: Row) -> float | None:
    """Return the Forgetting of a run, given its `matrix` and `config` as plain data; None if it is unknown."""
    R, method = run["matrix"], run["config"].get("method", "")
    return number(forgetting(R, shares_network(method))) if R else None


def _packed(row: sqlite3.Row) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the packed factors and the sizes of a snapshot, as they were stored."""
    arrays = np.load(io.BytesIO(row["data"]))
    if "factor" in arrays:
        return arrays["factor"], arrays["sizes"]
    return gram_factors.pack(gram_factors.without_noise(arrays["gram"])), arrays["sizes"]


def _unpacked(row: sqlite3.Row) -> Snapped:
    arrays = np.load(io.BytesIO(row["data"]))
    # Older versions stored the Gram matrices themselves, in float32.
    gram = gram_factors.unpack(arrays["factor"]) if "factor" in arrays else gram_factors.without_noise(arrays["gram"])
    return Snapped(row["task"], row["step"], gram, arrays["sizes"])
