"""All sweeps, runs and results, in one SQLite file. The runner writes results; all others read and make requests."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from mgem_core.config import RunConfig, explain
from mgem_core.config.keys import RunKey, expected_keys, keys_to_request
from mgem_core.config.sweeps import SweepSpec
from mgem_core.errors import UsageError
from mgem_core.events import Event
from mgem_core.home import aside_of
from mgem_core.store import queue
from mgem_core.store.database import Database
from mgem_core.store.reader import ENDED, Reader
from mgem_core.store.recording import count_events, record_event
from mgem_core.store.run_filter import run_condition

KeyedRun = tuple[RunConfig, RunKey]


class Store(Reader):
    def __init__(self, path: Path, lock_seconds: float = 30.0):
        """Open the store at this path, and create or migrate it if needed; see `Database`."""
        super().__init__(Database(path, lock_seconds))
        self.compact = self.database.compact

    # Requests, which any process may make

    def submit(
        self,
        spec: SweepSpec,
        name: str = "",
        again: bool = False,
        runs: Sequence[KeyedRun] | None = None,
        show: Callable[[Iterable[KeyedRun]], Iterable[KeyedRun]] = iter,
    ) -> int:
        """Add a sweep. Runs that exist already are shared, and the others queued; with `again`, all are queued as new runs.

        `runs` are the runs of the spec with their keys, if the caller has computed them. `show` can report progress: it
        receives an iterator over the runs and must yield each of them.
        """
        runs = _keyed_runs(spec) if runs is None else runs
        created = time.time()
        with self.database.transaction() as db:
            values = (name, spec.model_dump_json(), created)
            sweep = db.execute("INSERT INTO sweeps (name, spec, created) VALUES (?, ?, ?)", values).lastrowid
            assert sweep is not None
            if not name:
                db.execute("UPDATE sweeps SET name = 'sweep ' || id WHERE id = ?", (sweep,))
            self._add_runs(db, sweep, show(_in_order(runs)), created, again)
        return sweep

    def find_sweep(self, spec: SweepSpec, keys: Sequence[str] | None = None) -> int | None:
        """Return the newest sweep that has, or will have, exactly the results of these runs; None if there is none.

        `keys` are the keys of the runs, if the caller has computed them.
        """
        keys = sorted(set(expected_keys(spec.runs()) if keys is None else keys))
        are_the_runs = "count(*) = ?1 AND sum(key IN (SELECT value FROM json_each(?2))) = ?1"
        query = f"SELECT sweep FROM members JOIN runs ON id = run GROUP BY sweep HAVING {are_the_runs}"
        return next(iter(self._ids(f"{query} ORDER BY sweep DESC LIMIT 1", len(keys), json.dumps(keys))), None)

    def count_active(self, configs: Sequence[RunConfig]) -> int:
        """Count the configs that a queued or running run trains."""
        keys, is_active = json.dumps(expected_keys(configs)), "status IN ('queued', 'running')"
        query = f"SELECT DISTINCT key FROM runs WHERE {is_active} AND key IN (SELECT value FROM json_each(?))"
        return len(self.database.rows(query, keys))

    def without_result(self, configs: Sequence[RunConfig], keys: Sequence[str] | None = None) -> list[RunConfig]:
        """Return the configs that have no finished run yet; `keys` are their keys, if the caller has computed them."""
        keys = expected_keys(configs) if keys is None else keys
        query = "SELECT key FROM runs WHERE status = 'finished' AND key IN (SELECT value FROM json_each(?))"
        finished = {row["key"] for row in self.database.rows(query, json.dumps(keys))}
        return [config for config, key in zip(configs, keys, strict=True) if key not in finished]

    def extend(self, sweep: int, spec: SweepSpec) -> int:
        """Change the spec of a sweep, queue its runs without a result, and return how many were queued."""
        runs = _keyed_runs(spec)
        with self.database.transaction() as db:
            db.execute("UPDATE sweeps SET spec = ? WHERE id = ?", (spec.model_dump_json(), sweep))
            return self._add_runs(db, sweep, _in_order(runs), time.time())

    def _add_runs(
        self, db: sqlite3.Connection, sweep: int, runs: Iterable[KeyedRun], created: float, again: bool = False
    ) -> int:
        """Add runs to a sweep, queue those without a result, and return how many were queued."""
        place, new = queue.next_place(db), 0
        for config, key in runs:
            run = None if again else self._find_equal_run(db, config, key.key)
            if run is None:
                values = (*key, config.label, config.stored(), created, place + new)
                columns = "key, code, label, config, created, place"
                run = db.execute(f"INSERT INTO runs ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values).lastrowid
                new += 1
            else:
                new += queue.request(db, {run: key}, place + new)
            db.execute("INSERT OR IGNORE INTO members VALUES (?, ?)", (sweep, run))
        return new

    def _find_equal_run(self, db: sqlite3.Connection, config: RunConfig, key: str) -> int | None:
        """Find a run that has the same result, or will have it.

        A result may come from another device of the same kind. A run without a result must request the same device.
        """
        which = "key = ? AND (status = 'finished' OR configuration(config) = configuration(?))"
        order = "ORDER BY status = 'finished' DESC, id DESC LIMIT 1"
        row = db.execute(f"SELECT id FROM runs WHERE {which} {order}", (key, config.stored())).fetchone()
        return None if row is None else int(row["id"])

    def cancel(self, runs: Sequence[int]) -> None:
        condition, values = run_condition(runs)
        with self.database.transaction() as db:
            db.execute(f"UPDATE runs SET wanted = 'cancel' WHERE status = 'running' AND {condition}", values)
            change = "status = 'cancelled', ended = ?"
            db.execute(f"UPDATE runs SET {change} WHERE status = 'queued' AND {condition}", (time.time(), *values))

    def resume(self, runs: Sequence[int]) -> int:
        """Queue runs again that failed, were cancelled or wait for other code than the current one; return how many.

        A run continues from its last checkpoint, or from the beginning if the code has changed since.
        """
        others = set(self.requested_with_other_code(runs))
        known: dict[int, RunConfig] = {}
        problems: dict[int, str] = {}
        for run, status, config in self.run_values(["id", "status", "config"], runs):
            if status in ("failed", "cancelled") or run in others:
                try:
                    known[run] = RunConfig.model_validate_json(config)
                except ValidationError as error:
                    problems[run] = explain(error)
        keys, unreadable = _keys_of_runs(known)
        problems |= unreadable
        condition, values = run_condition(runs)
        with self.database.transaction() as db:
            db.execute(f"UPDATE runs SET wanted = 'run' WHERE status = 'running' AND {condition}", values)
            requested = queue.request(db, keys, queue.next_place(db))
            for run, problem in problems.items():
                queue.fail(db, run, problem)
            return requested

    def has_current_requests(self) -> bool:
        """Return whether runs are queued that a process started now would train."""
        return any(queue.requested_codes(self.database).values())

    def requested_with_other_code(self, runs: Sequence[int] | None = None, sweep: int | None = None) -> list[int]:
        """Return the queued runs that no process started now would train: among `runs`, in a sweep, or in the whole store.

        They were requested with other code, libraries or data, or for another kind of device.
        """
        codes = [code for code, is_current in queue.requested_codes(self.database).items() if not is_current]
        if not codes:
            return []
        condition, values = run_condition(runs, sweep)
        query = f"SELECT id FROM runs WHERE status = 'queued' AND code IN (SELECT value FROM json_each(?)) AND {condition}"
        return self._ids(f"{query} ORDER BY id", json.dumps(codes), *values)

    def delete(self, runs: Sequence[int]) -> None:
        """Delete ended runs with their results, and sweeps left without runs."""
        self._delete(*run_condition(runs), "id NOT IN (SELECT sweep FROM members)")

    def delete_sweep(self, sweep: int) -> None:
        """Delete a sweep and its ended runs that no other sweep shares; the sweep stays while one of these is active."""
        unshared = "SELECT run FROM members WHERE sweep = ?1 EXCEPT SELECT run FROM members WHERE sweep != ?1"
        self._delete(f"id IN ({unshared})", [sweep], f"id = ?1 AND NOT EXISTS ({unshared})", [sweep])

    def _delete(self, runs: str, run_values: Sequence[object], sweeps: str, sweep_values: Sequence[object] = ()) -> None:
        """Delete the ended runs, and then the sweeps, that meet these SQL conditions."""
        with self.database.transaction() as db:
            query = f"DELETE FROM runs WHERE status IN {ENDED} AND {runs} RETURNING id"
            deleted = db.execute(query, run_values).fetchall()
            db.execute(f"DELETE FROM sweeps WHERE {sweeps}", sweep_values)
        for row in deleted:
            with suppress(OSError):  # a checkpoint that cannot be deleted does no harm
                self.delete_checkpoint(row["id"])

    def checkpoint(self, run: int) -> Path:
        return self.path.parent / "checkpoints" / f"{run}.pt"

    def delete_checkpoint(self, run: int) -> None:
        """Delete the checkpoint of a run, and the one that was set aside."""
        for path in (self.checkpoint(run), aside_of(self.checkpoint(run))):
            path.unlink(missing_ok=True)

    def rename(self, sweep: int, name: str) -> None:
        with self.database.transaction() as db:
            db.execute("UPDATE sweeps SET name = ? WHERE id = ?", (name, sweep))

    # Results, which only the runner writes

    def requeue_interrupted(self) -> None:
        """Queue runs that are still marked as running. A runner calls this when it starts, so they were interrupted."""
        self._requeue(None, failed=False)

    def claim(self) -> tuple[int, RunConfig] | None:
        """Mark the next queued run that was requested with the code of this process as running, and return it.

        Runs whose data cannot be read fail, so that they do not block the others.
        """
        while (first := queue.next_run(self.database)) and first.config:
            with self.database.transaction() as db:
                if first.problem:
                    queue.fail(db, first.run, first.problem, first.code)
                    continue
                change = "status = 'running', wanted = 'run', attempts = attempts + 1, started = ?"
                query = f"UPDATE runs SET {change} WHERE status = 'queued' AND id = ? AND code = ?"
                values = (time.time(), first.run, first.code)
                is_claimed = db.execute(query, values).rowcount  # 0: it has been requested again since
            if is_claimed:
                return first.run, first.config
        return None

    def has_runs_to_claim(self) -> bool:
        """Return whether runs are queued that this process can train."""
        return queue.next_run(self.database) is not None

    def requeue(self, run: int, failed: bool) -> None:
        """Queue a claimed run again, to continue from its checkpoint, unless a user has cancelled it.

        Only failed attempts count towards the limit of attempts.
        """
        self._requeue([run], failed)

    def _requeue(self, runs: Sequence[int] | None, failed: bool) -> None:
        condition, values = run_condition(runs)
        are_running = f"status = 'running' AND {condition}"
        with self.database.transaction() as db:
            cancel = f"UPDATE runs SET status = 'cancelled', ended = ? WHERE {are_running} AND wanted = 'cancel'"
            db.execute(cancel, (time.time(), *values))
            change = f"status = 'queued', attempts = attempts - {0 if failed else 1}"
            db.execute(f"UPDATE runs SET {change} WHERE {are_running}", values)

    def record(self, events: Iterable[tuple[int, Event]]) -> None:
        """Store events of running runs in one transaction."""
        with self.database.transaction() as db:
            for run, event in events:
                record_event(db, run, event)

    def count_events(self, run: int, task: int, step: int) -> int:
        """Return how many events of a run precede that step of that task; 0 if a row of R is missing."""
        with self.database.reading() as connection:
            return count_events(connection, run, task, step)

    def set_notice(self, run: int, notice: str) -> None:
        """Store a message for the user about a run, if it had started before."""
        with self.database.transaction() as db:
            db.execute("UPDATE runs SET notice = ? WHERE id = ? AND resumed_task IS NOT NULL", (notice, run))

    def end(self, run: int, status: str, error: str, traceback: str = "") -> None:
        with self.database.transaction() as db:
            change = "status = ?, error = ?, traceback = ?, ended = ?"
            values = (status, error or None, traceback or None, time.time(), run)
            db.execute(f"UPDATE runs SET {change} WHERE status = 'running' AND id = ?", values)

    def runs_to_cancel(self) -> list[int]:
        """Return the running runs that a user has cancelled."""
        return self._ids("SELECT id FROM runs WHERE status = 'running' AND wanted = 'cancel'")

    def attempts(self, run: int) -> int:
        return int(self.database.value("SELECT attempts FROM runs WHERE id = ?", run))

    def close(self) -> None:
        self.database.close()


def _in_order(runs: Sequence[KeyedRun]) -> list[KeyedRun]:
    """Sort runs in the order of training: those that record snapshots for the lens first."""
    return sorted(runs, key=lambda run: not run[0].snap_every)


def _keyed_runs(spec: SweepSpec) -> list[KeyedRun]:
    """Return the runs of a sweep with their keys. Call this before the transaction, because it takes time."""
    configs = spec.runs()
    return list(zip(configs, keys_to_request(configs), strict=True))


def _keys_of_runs(configs: Mapping[int, RunConfig]) -> tuple[dict[int, RunKey], dict[int, str]]:
    """Return the keys of runs by id, and the error of each run whose data cannot be read."""
    try:
        return dict(zip(configs, keys_to_request(list(configs.values())), strict=True)), {}
    except UsageError as error:
        if len(configs) == 1:
            return {}, {run: str(error) for run in configs}
    parts = [_keys_of_runs({run: config}) for run, config in configs.items()]
    return {run: key for keys, _ in parts for run, key in keys.items()}, {r: p for _, ps in parts for r, p in ps.items()}
