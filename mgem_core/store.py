"""Sweeps, runs and what they told, in one SQLite file. The runner writes results; all others read, and leave requests."""

import io
import itertools
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from mgem_core.config import RunConfig, UsageError, explain
from mgem_core.events import Event, Finished, Snapped, Started, TaskLearned, number
from mgem_core.sweeps import SweepSpec, run_key

STATUSES = ("queued", "running", "finished", "failed", "diverged", "cancelled")
ENDED = ("finished", "failed", "diverged", "cancelled")

MIGRATIONS = [  # one script per schema version; a released one never changes
    """
    CREATE TABLE sweeps (id INTEGER PRIMARY KEY, name TEXT NOT NULL, spec TEXT NOT NULL, created REAL NOT NULL);
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL, label TEXT NOT NULL, config TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'queued', wanted TEXT NOT NULL DEFAULT 'run', attempts INTEGER NOT NULL DEFAULT 0,
        task INTEGER NOT NULL DEFAULT 0, step INTEGER NOT NULL DEFAULT 0,
        acc REAL, fwd REAL, bwd REAL, matrix TEXT, seconds REAL, seconds_per_step REAL, fingerprint TEXT, error TEXT,
        created REAL NOT NULL, started REAL, ended REAL
    );
    CREATE INDEX runs_by_key ON runs (key);
    CREATE INDEX runs_by_status ON runs (status);
    CREATE TABLE members (
        sweep INTEGER NOT NULL REFERENCES sweeps ON DELETE CASCADE,
        run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
        PRIMARY KEY (sweep, run)
    ) WITHOUT ROWID;
    CREATE INDEX members_by_run ON members (run);
    CREATE TABLE events (
        run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, task INTEGER NOT NULL, step INTEGER NOT NULL,
        kind TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run, kind, task, step)
    ) WITHOUT ROWID;
    CREATE TABLE snapshots (
        run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, task INTEGER NOT NULL, step INTEGER NOT NULL,
        data BLOB NOT NULL, PRIMARY KEY (run, task, step)
    );
    """,
    # The number of a deleted sweep or run is never given again: links and notes name them.
    """
    CREATE TABLE new_sweeps (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, spec TEXT NOT NULL, created REAL NOT NULL
    );
    CREATE TABLE new_runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, label TEXT NOT NULL, config TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'queued', wanted TEXT NOT NULL DEFAULT 'run', attempts INTEGER NOT NULL DEFAULT 0,
        task INTEGER NOT NULL DEFAULT 0, step INTEGER NOT NULL DEFAULT 0,
        acc REAL, fwd REAL, bwd REAL, matrix TEXT, seconds REAL, seconds_per_step REAL, fingerprint TEXT, error TEXT,
        created REAL NOT NULL, started REAL, ended REAL
    );
    INSERT INTO new_sweeps SELECT * FROM sweeps;
    INSERT INTO new_runs SELECT * FROM runs;
    DROP TABLE sweeps;
    DROP TABLE runs;
    ALTER TABLE new_sweeps RENAME TO sweeps;
    ALTER TABLE new_runs RENAME TO runs;
    CREATE INDEX runs_by_key ON runs (key);
    CREATE INDEX runs_by_status ON runs (status);
    """,
]

_opened = itertools.count()  # a number for every store that this process opens


class Store:
    def __init__(self, path: Path):
        """Open the file, made or migrated as needed; a damaged or newer one is refused and left as it is."""
        self.path = path
        self._number = next(_opened)
        path.parent.mkdir(parents=True, exist_ok=True)
        before = _identity(path)  # should the file be replaced while it is opened, is_current() says no
        self.db = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        self._file = before or _identity(path)
        self.db.row_factory = sqlite3.Row
        try:
            version = self.db.execute("PRAGMA user_version").fetchone()[0]
            if version > len(MIGRATIONS):
                raise UsageError(
                    f"{path} was written by a newer version of mgem (schema {version}); update mgem to use it."
                )
            for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = OFF"):
                self.db.execute(f"PRAGMA {pragma}")
            if version < len(MIGRATIONS):
                self._migrate()  # without foreign keys: a table that is made anew keeps what refers to it
            self.db.execute("PRAGMA foreign_keys = ON")
        except sqlite3.DatabaseError as error:
            self.db.close()
            if isinstance(error, sqlite3.OperationalError) and "not a database" not in str(error):
                raise
            raise UsageError(f"{path} is damaged or no store of mgem ({error}); move it away to start a new one.") from None

    def _migrate(self) -> None:
        with self.writing() as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]  # another process may have been faster
            for number, script in enumerate(MIGRATIONS[version:], version + 1):
                for statement in script.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number}")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it happens, or nothing."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield self.db
            self.db.execute("COMMIT")
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise

    # Requests: anybody

    def submit(self, spec: SweepSpec, name: str = "", again: bool = False) -> int:
        """A new sweep; its runs are queued but those known already, which it shares. `again` runs them all anew."""
        configs = spec.runs()
        now = time.time()
        with self.writing() as db:
            values = (name, spec.model_dump_json(), now)
            sweep = db.execute("INSERT INTO sweeps (name, spec, created) VALUES (?, ?, ?)", values).lastrowid
            assert sweep is not None
            if not name:
                db.execute("UPDATE sweeps SET name = 'sweep ' || id WHERE id = ?", (sweep,))
            for config in configs:
                run = self._known(db, run_key(config)) if not again else None
                run = self._new_run(db, config, now) if run is None else run
                db.execute("INSERT OR IGNORE INTO members VALUES (?, ?)", (sweep, run))
        return sweep

    def _known(self, db: sqlite3.Connection, key: str) -> int | None:
        """A run with this key that has its result or will have it; one that failed or was cancelled is queued again."""
        order = "ORDER BY status = 'finished' DESC, id DESC LIMIT 1"
        row = db.execute(f"SELECT id, status FROM runs WHERE key = ? {order}", (key,)).fetchone()
        if row is None:
            return None
        self._queue_again(db, [row["id"]])
        return int(row["id"])

    def _new_run(self, db: sqlite3.Connection, config: RunConfig, now: float) -> int:
        values = (run_key(config), config.label, config.model_dump_json(), now)
        return int(db.execute("INSERT INTO runs (key, label, config, created) VALUES (?, ?, ?, ?)", values).lastrowid or 0)

    def cancel(self, runs: Sequence[int]) -> None:
        with self.writing() as db:
            marks = _marks(runs)
            db.execute(f"UPDATE runs SET wanted = 'cancel' WHERE status = 'running' AND id IN ({marks})", runs)
            db.execute(
                f"UPDATE runs SET status = 'cancelled', ended = ? WHERE status = 'queued' AND id IN ({marks})",
                (time.time(), *runs),
            )

    def resume(self, runs: Sequence[int]) -> int:
        """Queue again what failed or was cancelled, from its last checkpoint; how many that were."""
        with self.writing() as db:
            return self._queue_again(db, runs)

    def _queue_again(self, db: sqlite3.Connection, runs: Sequence[int]) -> int:
        db.execute(f"UPDATE runs SET wanted = 'run' WHERE status = 'running' AND id IN ({_marks(runs)})", runs)
        return db.execute(
            "UPDATE runs SET status = 'queued', wanted = 'run', attempts = 0, error = NULL, ended = NULL "
            f"WHERE status IN ('failed', 'cancelled') AND id IN ({_marks(runs)})",
            runs,
        ).rowcount

    def delete(self, runs: Sequence[int]) -> None:
        """Forget ended runs and all they told, and sweeps left without runs."""
        with self.writing() as db:
            self._delete_runs(db, f"id IN ({_marks(runs)})", *runs)
            db.execute("DELETE FROM sweeps WHERE id NOT IN (SELECT sweep FROM members)")

    def forget_sweep(self, sweep: int) -> None:
        """Forget a sweep and its own ended runs, not those of other sweeps; it stays while a run of its own goes on."""
        mine = "SELECT run FROM members WHERE sweep = ?1 EXCEPT SELECT run FROM members WHERE sweep != ?1"
        with self.writing() as db:
            self._delete_runs(db, f"id IN ({mine})", sweep)
            db.execute(f"DELETE FROM sweeps WHERE id = ?1 AND NOT EXISTS ({mine})", (sweep,))

    def _delete_runs(self, db: sqlite3.Connection, which: str, *values: int) -> None:
        """Those that have ended, with their checkpoints."""
        for row in db.execute(f"DELETE FROM runs WHERE status IN {ENDED} AND {which} RETURNING id", values).fetchall():
            self.checkpoint(row["id"]).unlink(missing_ok=True)

    def checkpoint(self, run: int) -> Path:
        return self.path.parent / "checkpoints" / f"{run}.pt"

    def rename(self, sweep: int, name: str) -> None:
        with self.writing() as db:
            db.execute("UPDATE sweeps SET name = ? WHERE id = ?", (name, sweep))

    def compact(self) -> None:
        """Give the room of deleted runs back to the disk."""
        self.db.execute("VACUUM")
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # Results: the runner alone

    def requeue_interrupted(self) -> None:
        """A runner that starts is the only one: what is still marked as running was interrupted."""
        with self.writing() as db:
            unwanted = "status = 'running' AND wanted = 'cancel'"
            db.execute(f"UPDATE runs SET status = 'cancelled', ended = ? WHERE {unwanted}", (time.time(),))
            db.execute("UPDATE runs SET status = 'queued', attempts = attempts - 1 WHERE status = 'running'")

    def claim(self) -> tuple[int, RunConfig] | None:
        """The next queued run, now marked as running."""
        if not self.waiting():
            return None
        with self.writing() as db:
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
            key = run_key(config)  # made anew: the code may have changed since the run was queued
            db.execute(f"UPDATE runs SET {change} WHERE id = ?", (time.time(), key, row["id"]))
        return row["id"], config

    def put_back(self, run: int, failed: bool) -> None:
        """Queue a claimed run again, to go on from its checkpoint, unless somebody asked to cancel it.

        An attempt that has not failed does not count.
        """
        with self.writing() as db:
            unwanted = "status = 'running' AND wanted = 'cancel' AND id = ?"
            db.execute(f"UPDATE runs SET status = 'cancelled', ended = ? WHERE {unwanted}", (time.time(), run))
            change = f"status = 'queued', attempts = attempts - {0 if failed else 1}"
            db.execute(f"UPDATE runs SET {change} WHERE status = 'running' AND id = ?", (run,))

    def record(self, told: Iterable[tuple[int, Event]]) -> None:
        """What running runs told, all in one transaction."""
        with self.writing() as db:
            for run, event in told:
                _record(db, run, event)

    def end(self, run: int, status: str, error: str) -> None:
        with self.writing() as db:
            change = "UPDATE runs SET status = ?, error = ?, ended = ? WHERE status = 'running' AND id = ?"
            db.execute(change, (status, error or None, time.time(), run))

    # Reading

    def waiting(self) -> bool:
        """Is some run queued?"""
        return bool(self.rows("SELECT 1 FROM runs WHERE status = 'queued' LIMIT 1"))

    def unwanted(self) -> list[int]:
        """Running runs that somebody asked to cancel."""
        return self._ids("SELECT id FROM runs WHERE status = 'running' AND wanted = 'cancel'")

    def counts(self, sweep: int | None = None) -> dict[str, int]:
        """Number of runs with each status, of one sweep or of all."""
        where = "" if sweep is None else "WHERE id IN (SELECT run FROM members WHERE sweep = ?)"
        rows = self.db.execute(
            f"SELECT status, count(*) FROM runs {where} GROUP BY status", [] if sweep is None else [sweep]
        )
        return {**dict.fromkeys(STATUSES, 0), **{row[0]: row[1] for row in rows}}

    def runs_of(self, sweep: int) -> list[int]:
        return self._ids("SELECT run FROM members WHERE sweep = ? ORDER BY run", sweep)

    def attempts(self, run: int) -> int:
        return int(self.db.execute("SELECT attempts FROM runs WHERE id = ?", (run,)).fetchone()[0])

    def version(self) -> tuple[int, int, int]:
        """Another one whenever the store may have changed, and for every Store that this process opens."""
        return self._number, self.db.execute("PRAGMA data_version").fetchone()[0], self.db.total_changes

    def is_current(self) -> bool:
        """Is the file at the path still the one that was opened? It is not once that was deleted or replaced."""
        return _identity(self.path) == self._file

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        return self.db.execute(query, values).fetchall()

    def snapshots(self, run: int) -> list[Snapped]:
        return [_unpacked(row) for row in self.rows("SELECT * FROM snapshots WHERE run = ? ORDER BY task, step", run)]

    def _ids(self, query: str, *values: Any) -> list[int]:
        return [row[0] for row in self.rows(query, *values)]

    def close(self) -> None:
        self.db.close()


def _record(db: sqlite3.Connection, run: int, event: Event) -> None:
    if isinstance(event, Started):  # it goes on from a checkpoint: what it told after that, it tells again
        later = "run = ? AND (task > ? OR (task = ? AND step > ?))"
        for table in ("events", "snapshots"):
            db.execute(f"DELETE FROM {table} WHERE {later}", (run, event.task, event.task, event.step))
        db.execute("UPDATE runs SET task = ?, step = ? WHERE id = ?", (event.task, event.step, run))
    elif isinstance(event, Finished):
        result = {
            **{"status": event.status, "error": event.message or None, "fingerprint": event.fingerprint},
            **{name: number(getattr(event, name)) for name in ("acc", "fwd", "bwd", "seconds", "seconds_per_step")},
            **{"matrix": json.dumps([[number(value) for value in row] for row in event.R]), "ended": time.time()},
        }
        columns = ", ".join(f"{name} = ?" for name in result)
        db.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*result.values(), run))
    elif isinstance(event, Snapped):
        db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", (run, event.task, event.step, _packed(event)))
    else:
        step = 0 if isinstance(event, TaskLearned) else event.step
        data = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in asdict(event).items()}
        values = (run, event.task, step, type(event).__name__, json.dumps(data))
        db.execute("INSERT OR REPLACE INTO events (run, task, step, kind, data) VALUES (?, ?, ?, ?, ?)", values)
        at = (event.task + 1, 0) if isinstance(event, TaskLearned) else (event.task, event.step)
        db.execute("UPDATE runs SET task = ?, step = ? WHERE id = ?", (*at, run))


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from any other that takes its path later; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _packed(event: Snapped) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, gram=event.gram.astype(np.float32), sizes=event.sizes)
    return file.getvalue()


def _unpacked(row: sqlite3.Row) -> Snapped:
    arrays = np.load(io.BytesIO(row["data"]))
    return Snapped(row["task"], row["step"], arrays["gram"], arrays["sizes"])


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
