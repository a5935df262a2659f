"""Sweeps, runs and what they told, in one SQLite file. The runner writes results; all others read, and leave requests."""

import io
import itertools
import json
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from mgem_core.config import RunConfig, explain
from mgem_core.errors import UsageError
from mgem_core.events import Event, Finished, Snapped, Started, TaskLearned, number
from mgem_core.home import aside_of, file_identity
from mgem_core.keys import expected_keys
from mgem_core.sweeps import SweepSpec, configuration_of

STATUSES = ("queued", "running", "finished", "failed", "diverged", "cancelled")
ENDED = ("finished", "failed", "diverged", "cancelled")
TABLES = {"sweeps", "runs", "members", "events", "snapshots"}
CIRCUMSTANCES = {  # errors of SQLite that are nobody's fault here, and may pass
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
}

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
    # Where a run's last attempt began, why one had to begin at the beginning, and where the code of a failed one stood.
    """
    ALTER TABLE runs ADD COLUMN resumed_task INTEGER;
    ALTER TABLE runs ADD COLUMN resumed_step INTEGER;
    ALTER TABLE runs ADD COLUMN notice TEXT;
    ALTER TABLE runs ADD COLUMN traceback TEXT;
    """,
]

_opened = itertools.count()  # a number for every store that this process opens


class StoreUnavailableError(UsageError):
    """The store cannot be read or written now, said in one sentence; it may be possible again later."""


class Store:
    def __init__(self, path: Path, lock_seconds: float = 30.0):
        """Open the file, made or migrated as needed; one that is damaged, newer or not ours is refused and left as it is.

        Another process that writes is waited for up to `lock_seconds`.
        """
        self.path = path
        self._number = next(_opened)
        before = file_identity(path)  # should the file be replaced while it is opened, is_current() says no
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                what = "is a folder, where the store of all runs should be"
                raise UsageError(f"{path} {what}; move it away to start a new one.")
            self.db = sqlite3.connect(path, timeout=lock_seconds, isolation_level=None, check_same_thread=False)
            self.db.row_factory = sqlite3.Row
            self.db.create_function("configuration", 1, configuration_of, deterministic=True)
        except (OSError, sqlite3.OperationalError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            remedy = "set MGEM_HOME to a folder that can be written"
            raise StoreUnavailableError(f"{path} cannot be opened ({reason}); {remedy}.") from None
        try:
            with self._available("opened"):
                self._prepare()
        except UsageError:
            self.db.close()
            raise
        self._file = before or file_identity(path)

    def _prepare(self) -> None:
        """Check that this is a store before anything is written into it."""
        # In one query: another process may be making the store.
        both = "SELECT (SELECT user_version FROM pragma_user_version), group_concat(name) FROM sqlite_master"
        version, names = self.db.execute(f"{both} WHERE type = 'table'").fetchone()
        tables = set((names or "").split(",")) - {""}
        if version > len(MIGRATIONS):
            raise UsageError(
                f"{self.path} was written by a newer version of mgem (schema {version}); update mgem to use it."
            )
        if (version or tables) and not tables >= TABLES:
            raise UsageError(f"{self.path} is a database of another program; move it away, or set MGEM_HOME elsewhere.")
        if tables and not version:
            lost = "has the tables of a store but no schema version, as after restoring a dump"
            raise UsageError(f"{self.path} {lost}; restore a copy of the file itself, or move it away to start a new one.")
        # FULL: what was committed survives a power cut, so that no checkpoint can be ahead of the store.
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = OFF"):
            self.db.execute(f"PRAGMA {pragma}")
        if version < len(MIGRATIONS):
            self._migrate()  # without foreign keys: a table that is made anew keeps what refers to it
        self.db.execute("PRAGMA foreign_keys = ON")

    def _migrate(self) -> None:
        with self.writing() as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]  # another process may have been faster
            for number, script in enumerate(MIGRATIONS[version:], version + 1):
                for statement in script.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number}")

    @contextmanager
    def _available(self, what: str) -> Iterator[None]:
        """Say in one sentence that the circumstances or the file do not allow it; errors of ours stay as they are."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in CIRCUMSTANCES:
                raise StoreUnavailableError(f"{self.path} could not be {what}: {error}.") from None
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                remedy = "move it away to start a new one"
                raise UsageError(f"{self.path} is damaged or no store of mgem ({error}); {remedy}.") from None
            raise

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it happens, or nothing."""
        with self._available("written"):
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
        keys = expected_keys(configs)
        now = time.time()
        with self.writing() as db:
            values = (name, spec.model_dump_json(), now)
            sweep = db.execute("INSERT INTO sweeps (name, spec, created) VALUES (?, ?, ?)", values).lastrowid
            assert sweep is not None
            if not name:
                db.execute("UPDATE sweeps SET name = 'sweep ' || id WHERE id = ?", (sweep,))
            for config, key in zip(configs, keys, strict=True):
                run = self._known(db, config, key) if not again else None
                run = self._new_run(db, config, key, now) if run is None else run
                db.execute("INSERT OR IGNORE INTO members VALUES (?, ?)", (sweep, run))
        return sweep

    def _known(self, db: sqlite3.Connection, config: RunConfig, key: str) -> int | None:
        """A run that has the same result or will have it; one that failed or was cancelled is queued again.

        A result may come from another device of the same kind; a run that has none yet must be asked for the same one.
        """
        which = "key = ? AND (status = 'finished' OR configuration(config) = configuration(?))"
        order = "ORDER BY status = 'finished' DESC, id DESC LIMIT 1"
        row = db.execute(f"SELECT id FROM runs WHERE {which} {order}", (key, config.stored())).fetchone()
        if row is None:
            return None
        self._queue_again(db, [row["id"]])
        return int(row["id"])

    def _new_run(self, db: sqlite3.Connection, config: RunConfig, key: str, now: float) -> int:
        values = (key, config.label, config.stored(), now)
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
            "UPDATE runs SET status = 'queued', wanted = 'run', attempts = 0, error = NULL, traceback = NULL, ended = NULL "
            f"WHERE status IN ('failed', 'cancelled') AND id IN ({_marks(runs)})",
            runs,
        ).rowcount

    def delete(self, runs: Sequence[int]) -> None:
        """Delete ended runs with their results, and sweeps left without runs."""
        with self.writing() as db:
            deleted = self._delete_runs(db, f"id IN ({_marks(runs)})", *runs)
            db.execute("DELETE FROM sweeps WHERE id NOT IN (SELECT sweep FROM members)")
        self._delete_checkpoints(deleted)

    def forget_sweep(self, sweep: int) -> None:
        """Forget a sweep and its own ended runs, not those of other sweeps; it stays while a run of its own goes on."""
        mine = "SELECT run FROM members WHERE sweep = ?1 EXCEPT SELECT run FROM members WHERE sweep != ?1"
        with self.writing() as db:
            deleted = self._delete_runs(db, f"id IN ({mine})", sweep)
            db.execute(f"DELETE FROM sweeps WHERE id = ?1 AND NOT EXISTS ({mine})", (sweep,))
        self._delete_checkpoints(deleted)

    def _delete_runs(self, db: sqlite3.Connection, which: str, *values: int) -> list[int]:
        """Those that have ended; which they were."""
        rows = db.execute(f"DELETE FROM runs WHERE status IN {ENDED} AND {which} RETURNING id", values).fetchall()
        return [row["id"] for row in rows]

    def _delete_checkpoints(self, runs: Sequence[int]) -> None:
        """Once nothing in the store refers to them; one that cannot be deleted does no harm."""
        for run in runs:
            with suppress(OSError):
                self.delete_checkpoint(run)

    def checkpoint(self, run: int) -> Path:
        return self.path.parent / "checkpoints" / f"{run}.pt"

    def delete_checkpoint(self, run: int) -> None:
        """The checkpoint of a run, and one that was set aside."""
        for path in (self.checkpoint(run), aside_of(self.checkpoint(run))):
            path.unlink(missing_ok=True)

    def rename(self, sweep: int, name: str) -> None:
        with self.writing() as db:
            db.execute("UPDATE sweeps SET name = ? WHERE id = ?", (name, sweep))

    def compact(self) -> None:
        """Give the room of deleted runs back to the disk."""
        with self._available("compacted"):
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
            (key,) = expected_keys([config])  # made anew: the code may have changed since the run was queued
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

    def record(self, events: Iterable[tuple[int, Event]]) -> None:
        """Events of running runs, all in one transaction."""
        with self.writing() as db:
            for run, event in events:
                _record(db, run, event)

    def events_until(self, run: int, task: int, step: int) -> int:
        """How many events of a run are here from before that step of that task was taken; none if a row of R is missing."""
        with self._available("read"):
            return _count_events(self.db, run, task, step)

    def note(self, run: int, notice: str) -> None:
        """Something that the user should know about a run that had begun before."""
        with self.writing() as db:
            db.execute("UPDATE runs SET notice = ? WHERE id = ? AND resumed_task IS NOT NULL", (notice, run))

    def end(self, run: int, status: str, error: str, traceback: str = "") -> None:
        with self.writing() as db:
            change = "status = ?, error = ?, traceback = ?, ended = ?"
            values = (status, error or None, traceback or None, time.time(), run)
            db.execute(f"UPDATE runs SET {change} WHERE status = 'running' AND id = ?", values)

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
        values = [] if sweep is None else [sweep]
        rows = self.rows(f"SELECT status, count(*) FROM runs {where} GROUP BY status", *values)
        return {**dict.fromkeys(STATUSES, 0), **{row[0]: row[1] for row in rows}}

    def runs_of(self, sweep: int) -> list[int]:
        return self._ids("SELECT run FROM members WHERE sweep = ? ORDER BY run", sweep)

    def attempts(self, run: int) -> int:
        return int(self.rows("SELECT attempts FROM runs WHERE id = ?", run)[0][0])

    def run_records(self, runs: Sequence[int] | None = None, sweep: int | None = None) -> list[dict[str, Any]]:
        """Everything about these runs, or those of a sweep, or all; their configs and matrices are plain data."""
        which, values = "1", []
        if runs is not None:
            which, values = f"id IN ({_marks(runs)})", list(runs)
        elif sweep is not None:
            which, values = "id IN (SELECT run FROM members WHERE sweep = ?)", [sweep]
        rows = map(dict, self.rows(f"SELECT * FROM runs WHERE {which} ORDER BY id", *values))
        return [
            {**row, "config": json.loads(row["config"]), "matrix": row["matrix"] and json.loads(row["matrix"])}
            for row in rows
        ]

    def version(self) -> tuple[int, int, int]:
        """Another one whenever the store may have changed, and for every Store that this process opens."""
        return self._number, self.rows("PRAGMA data_version")[0][0], self.db.total_changes

    def is_current(self) -> bool:
        """Is the file at the path still the one that was opened? It is not once that was deleted or replaced."""
        return file_identity(self.path) == self._file

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        with self._available("read"):
            return self.db.execute(query, values).fetchall()

    def snapshots(self, run: int) -> list[Snapped]:
        return [_unpacked(row) for row in self.rows("SELECT * FROM snapshots WHERE run = ? ORDER BY task, step", run)]

    def _ids(self, query: str, *values: Any) -> list[int]:
        return [row[0] for row in self.rows(query, *values)]

    def close(self) -> None:
        self.db.close()


def _record(db: sqlite3.Connection, run: int, event: Event) -> None:
    if isinstance(event, Started):
        _record_start(db, run, event)
    elif isinstance(event, Finished):
        _record_result(db, run, event)
    elif isinstance(event, Snapped):
        db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", (run, event.task, event.step, _packed(event)))
    else:
        step = 0 if isinstance(event, TaskLearned) else event.step
        data = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in asdict(event).items()}
        values = (run, event.task, step, type(event).__name__, json.dumps(data))
        db.execute("INSERT OR REPLACE INTO events (run, task, step, kind, data) VALUES (?, ?, ?, ?, ?)", values)
        at = (event.task + 1, 0) if isinstance(event, TaskLearned) else (event.task, event.step)
        db.execute("UPDATE runs SET task = ?, step = ? WHERE id = ?", (*at, run))


def _record_start(db: sqlite3.Connection, run: int, event: Started) -> None:
    """Events from after its checkpoint go: the run yields them again."""
    position = {"run": run, "task": event.task, "step": event.step}
    for table, until in _UNTIL.items():
        db.execute(f"DELETE FROM {table} WHERE run = :run AND NOT ({until})", position)
    change = "task = :task, step = :step, resumed_task = :task, resumed_step = :step"
    known = "key = ifnull(:key, key), notice = ifnull(:notice, notice)"
    values = {**position, "key": event.key or None, "notice": event.notice or None}
    db.execute(f"UPDATE runs SET {change}, {known} WHERE id = :run", values)


def _record_result(db: sqlite3.Connection, run: int, event: Finished) -> None:
    """A result counts only if every event that led to it is here."""
    learned = int((~np.isnan(event.R).all(axis=1)).sum())
    stored = _count_events(db, run, learned, sys.maxsize)
    if event.events is not None and stored != event.events:
        error = f"the store lacks some of the {event.events} events of this run; resume it to train it again."
        result: dict[str, Any] = {"status": "failed", "error": error}
    else:
        result = {
            **{"status": event.status, "error": event.message or None, "fingerprint": event.fingerprint},
            **{name: number(getattr(event, name)) for name in ("acc", "fwd", "bwd", "seconds", "seconds_per_step")},
            "matrix": json.dumps([[number(value) for value in row] for row in event.R]),
        }
    columns = ", ".join(f"{name} = ?" for name in (*result, "ended"))
    db.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*result.values(), time.time(), run))


_UNTIL = {  # which rows of each table are from before step :step of task :task was taken
    "events": "task < :task OR (task = :task AND step <= :step AND kind != 'TaskLearned')",
    "snapshots": "task < :task OR (task = :task AND step <= :step)",
}


def _count_events(db: sqlite3.Connection, run: int, task: int, step: int) -> int:
    values = {"run": run, "task": task, "step": step}
    counts = [f"(SELECT count(*) FROM {table} WHERE run = :run AND ({until}))" for table, until in _UNTIL.items()]
    rows_of_R = "(SELECT count(*) FROM events WHERE run = :run AND kind = 'TaskLearned' AND task < :task)"
    count, rows = db.execute(f"SELECT {' + '.join(counts)}, {rows_of_R}", values).fetchone()
    return int(count) if rows == task else 0


def _packed(event: Snapped) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, gram=event.gram.astype(np.float32), sizes=event.sizes)
    return file.getvalue()


def _unpacked(row: sqlite3.Row) -> Snapped:
    arrays = np.load(io.BytesIO(row["data"]))
    return Snapped(row["task"], row["step"], arrays["gram"], arrays["sizes"])


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
