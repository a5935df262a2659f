"""All sweeps, runs and results, in one SQLite file. The runner writes results; everybody else reads and makes requests."""

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from mgem_core.config import RunConfig, explain
from mgem_core.events import Event
from mgem_core.home import aside_of
from mgem_core.keys import expected_keys
from mgem_core.store.database import Database
from mgem_core.store.reader import ENDED, Reader, run_condition
from mgem_core.store.recording import count_events, record_event
from mgem_core.sweeps import SweepSpec


class Store(Reader):
    def __init__(self, path: Path, lock_seconds: float = 30.0):
        """Open the store at this path, created or migrated as needed; see `Database`."""
        super().__init__(Database(path, lock_seconds))
        self.compact = self.database.compact

    # Requests: anybody

    def submit(self, spec: SweepSpec, name: str = "", again: bool = False) -> int:
        """A new sweep. Runs that are known already are shared, the others queued; `again` queues all of them anew."""
        runs = _keyed_runs(spec)
        with self.database.transaction() as db:
            values = (name, spec.model_dump_json(), time.time())
            sweep = db.execute("INSERT INTO sweeps (name, spec, created) VALUES (?, ?, ?)", values).lastrowid
            assert sweep is not None
            if not name:
                db.execute("UPDATE sweeps SET name = 'sweep ' || id WHERE id = ?", (sweep,))
            self._add_runs(db, sweep, runs, again)
        return sweep

    def find_sweep(self, spec: SweepSpec) -> int | None:
        """The newest sweep that has, or will have, the results of exactly these runs; None if there is none."""
        keys = sorted({key for _, key in _keyed_runs(spec)})
        are_the_runs = "count(*) = ?1 AND sum(key IN (SELECT value FROM json_each(?2))) = ?1"
        query = f"SELECT sweep FROM members JOIN runs ON id = run GROUP BY sweep HAVING {are_the_runs}"
        return next(iter(self._ids(f"{query} ORDER BY sweep DESC LIMIT 1", len(keys), json.dumps(keys))), None)

    def without_result(self, configs: Sequence[RunConfig]) -> list[RunConfig]:
        """Those of these runs that have not finished yet."""
        keys = expected_keys(configs)
        query = "SELECT key FROM runs WHERE status = 'finished' AND key IN (SELECT value FROM json_each(?))"
        finished = {row["key"] for row in self.database.rows(query, json.dumps(keys))}
        return [config for config, key in zip(configs, keys, strict=True) if key not in finished]

    def extend(self, sweep: int, spec: SweepSpec) -> int:
        """Change the spec of a sweep; queue those runs of it that are not known, and return their number."""
        runs = _keyed_runs(spec)
        with self.database.transaction() as db:
            db.execute("UPDATE sweeps SET spec = ? WHERE id = ?", (spec.model_dump_json(), sweep))
            return self._add_runs(db, sweep, runs)

    def _add_runs(
        self, db: sqlite3.Connection, sweep: int, runs: Sequence[tuple[RunConfig, str]], again: bool = False
    ) -> int:
        """Add the runs to a sweep; return the number of new ones."""
        now, new = time.time(), 0
        for config, key in runs:
            run = None if again else self._find_equal_run(db, config, key)
            new += run is None
            run = self._new_run(db, config, key, now) if run is None else run
            db.execute("INSERT OR IGNORE INTO members VALUES (?, ?)", (sweep, run))
        return new

    def _find_equal_run(self, db: sqlite3.Connection, config: RunConfig, key: str) -> int | None:
        """A run that has the same result or will have it; one that failed or was cancelled is queued again.

        A result may come from another device of the same kind; a run without a result must request the same device.
        """
        which = "key = ? AND (status = 'finished' OR configuration(config) = configuration(?))"
        order = "ORDER BY status = 'finished' DESC, id DESC LIMIT 1"
        row = db.execute(f"SELECT id FROM runs WHERE {which} {order}", (key, config.stored())).fetchone()
        if row is None:
            return None
        self._resume(db, [row["id"]])
        return int(row["id"])

    def _new_run(self, db: sqlite3.Connection, config: RunConfig, key: str, now: float) -> int:
        values = (key, config.label, config.stored(), now)
        return int(db.execute("INSERT INTO runs (key, label, config, created) VALUES (?, ?, ?, ?)", values).lastrowid or 0)

    def cancel(self, runs: Sequence[int]) -> None:
        its_id, values = run_condition(runs)
        with self.database.transaction() as db:
            db.execute(f"UPDATE runs SET wanted = 'cancel' WHERE status = 'running' AND {its_id}", values)
            change = "status = 'cancelled', ended = ?"
            db.execute(f"UPDATE runs SET {change} WHERE status = 'queued' AND {its_id}", (time.time(), *values))

    def resume(self, runs: Sequence[int]) -> int:
        """Queue the runs that failed or were cancelled again, from their last checkpoints; return their number."""
        with self.database.transaction() as db:
            return self._resume(db, runs)

    def _resume(self, db: sqlite3.Connection, runs: Sequence[int]) -> int:
        its_id, values = run_condition(runs)
        db.execute(f"UPDATE runs SET wanted = 'run' WHERE status = 'running' AND {its_id}", values)
        change = "status = 'queued', wanted = 'run', attempts = 0, error = NULL, traceback = NULL, ended = NULL"
        return db.execute(f"UPDATE runs SET {change} WHERE status IN ('failed', 'cancelled') AND {its_id}", values).rowcount

    def delete(self, runs: Sequence[int]) -> None:
        """Delete ended runs with their results, and sweeps left without runs."""
        with self.database.transaction() as db:
            deleted = self._delete_runs(db, *run_condition(runs))
            db.execute("DELETE FROM sweeps WHERE id NOT IN (SELECT sweep FROM members)")
        self._delete_checkpoints(deleted)

    def delete_sweep(self, sweep: int) -> None:
        """Delete a sweep and those of its ended runs that no other sweep shares; it stays while such a run is active."""
        unshared = "SELECT run FROM members WHERE sweep = ?1 EXCEPT SELECT run FROM members WHERE sweep != ?1"
        with self.database.transaction() as db:
            deleted = self._delete_runs(db, f"id IN ({unshared})", [sweep])
            db.execute(f"DELETE FROM sweeps WHERE id = ?1 AND NOT EXISTS ({unshared})", (sweep,))
        self._delete_checkpoints(deleted)

    def _delete_runs(self, db: sqlite3.Connection, condition: str, values: Sequence[object]) -> list[int]:
        """Delete those that have ended; return their ids."""
        rows = db.execute(f"DELETE FROM runs WHERE status IN {ENDED} AND {condition} RETURNING id", values).fetchall()
        return [row["id"] for row in rows]

    def _delete_checkpoints(self, runs: Sequence[int]) -> None:
        """Called once nothing in the store refers to them; one that cannot be deleted does no harm."""
        for run in runs:
            with suppress(OSError):
                self.delete_checkpoint(run)

    def checkpoint(self, run: int) -> Path:
        return self.path.parent / "checkpoints" / f"{run}.pt"

    def delete_checkpoint(self, run: int) -> None:
        """Delete the checkpoint of a run, and one that was set aside."""
        for path in (self.checkpoint(run), aside_of(self.checkpoint(run))):
            path.unlink(missing_ok=True)

    def rename(self, sweep: int, name: str) -> None:
        with self.database.transaction() as db:
            db.execute("UPDATE sweeps SET name = ? WHERE id = ?", (name, sweep))

    # Results: the runner alone

    def requeue_interrupted(self) -> None:
        """Called by a runner that starts: it is the only one, so runs still marked as running were interrupted."""
        with self.database.transaction() as db:
            to_cancel = "status = 'running' AND wanted = 'cancel'"
            db.execute(f"UPDATE runs SET status = 'cancelled', ended = ? WHERE {to_cancel}", (time.time(),))
            db.execute("UPDATE runs SET status = 'queued', attempts = attempts - 1 WHERE status = 'running'")

    def claim(self) -> tuple[int, RunConfig] | None:
        """Mark the next queued run as running and return it."""
        if not self.has_queued_runs():
            return None
        with self.database.transaction() as db:
            row = db.execute("SELECT id, config FROM runs WHERE status = 'queued' ORDER BY id LIMIT 1").fetchone()
            if row is None:
                return None
            try:
                config = RunConfig.model_validate_json(row["config"])
            except ValidationError as error:  # queued by another version
                change = "UPDATE runs SET status = 'failed', error = ?, ended = ? WHERE id = ?"
                db.execute(change, (explain(error), time.time(), row["id"]))
                return None
            change = "status = 'running', wanted = 'run', attempts = attempts + 1, started = ?, key = ?"
            (key,) = expected_keys([config])  # computed again: the code may have changed since the run was queued
            db.execute(f"UPDATE runs SET {change} WHERE id = ?", (time.time(), key, row["id"]))
        return row["id"], config

    def requeue(self, run: int, failed: bool) -> None:
        """Queue a claimed run again, to continue from its checkpoint, unless somebody asked to cancel it.

        An attempt that has not failed does not count.
        """
        with self.database.transaction() as db:
            to_cancel = "status = 'running' AND wanted = 'cancel' AND id = ?"
            db.execute(f"UPDATE runs SET status = 'cancelled', ended = ? WHERE {to_cancel}", (time.time(), run))
            change = f"status = 'queued', attempts = attempts - {0 if failed else 1}"
            db.execute(f"UPDATE runs SET {change} WHERE status = 'running' AND id = ?", (run,))

    def record(self, events: Iterable[tuple[int, Event]]) -> None:
        """Store events of running runs, all in one transaction."""
        with self.database.transaction() as db:
            for run, event in events:
                record_event(db, run, event)

    def count_events(self, run: int, task: int, step: int) -> int:
        """The number of events of a run that precede that step of that task; 0 if a row of R is missing."""
        with self.database.explained("read"):
            return count_events(self.database.connection, run, task, step)

    def set_notice(self, run: int, notice: str) -> None:
        """Tell the user something about a run that had begun before."""
        with self.database.transaction() as db:
            db.execute("UPDATE runs SET notice = ? WHERE id = ? AND resumed_task IS NOT NULL", (notice, run))

    def end(self, run: int, status: str, error: str, traceback: str = "") -> None:
        with self.database.transaction() as db:
            change = "status = ?, error = ?, traceback = ?, ended = ?"
            values = (status, error or None, traceback or None, time.time(), run)
            db.execute(f"UPDATE runs SET {change} WHERE status = 'running' AND id = ?", values)

    def runs_to_cancel(self) -> list[int]:
        """Running runs that somebody asked to cancel."""
        return self._ids("SELECT id FROM runs WHERE status = 'running' AND wanted = 'cancel'")

    def attempts(self, run: int) -> int:
        return int(self.database.value("SELECT attempts FROM runs WHERE id = ?", run))

    def close(self) -> None:
        self.database.connection.close()


def _keyed_runs(spec: SweepSpec) -> list[tuple[RunConfig, str]]:
    """The runs of a sweep with the keys that they will have; computed before the transaction, since it takes time."""
    configs = spec.runs()
    return list(zip(configs, expected_keys(configs), strict=True))
