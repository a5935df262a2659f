"""Read how a store is, without writing to its folder and without making its writers wait."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from mgem_core.store.database import check_schema, explained
from mgem_core.store.reader import STATUSES

LOCK_SECONDS = 2.0  # seconds to wait for a process that locks out readers
OPERATIONS = 100_000  # of SQLite, between two looks at the clock
WRITE_LOCK = "120 120"  # the byte of the index of the log that a writer locks (SQLite's "WAL-index locks")


@dataclass(frozen=True)
class StoreHealth:
    schema: int  # 0: an empty file
    sweeps: int
    statuses: dict[int, str]  # of each run
    used_bytes: int
    free_bytes: int  # that compacting would free
    log_bytes: int  # changes that are not in the file itself yet
    damage: str  # the first problem that SQLite found; empty if there is none
    is_checked: bool  # False: the time was up before all of the file was checked

    def counts(self) -> dict[str, int]:
        """Return the number of runs with each status."""
        found = list(self.statuses.values())
        return {status: found.count(status) for status in STATUSES}


def read_health(path: Path, seconds: float) -> StoreHealth:
    """Check an existing store for damage, for up to `seconds`.

    To read a file that no process has open, SQLite would create a log and its index. Such a file is opened as unchanging
    instead, and read again if it has changed meanwhile.

    Raises:
        UsageError: it cannot be read, is damaged beyond reading, or is no store.
    """
    with explained(path, "read"):
        if not _log(path).exists():
            before = _state(path)
            try:
                health = _read(path, "immutable=1", seconds)
                if _state(path) == before:
                    return health
            except sqlite3.DatabaseError:
                if _state(path) == before:
                    raise
        return _read(path, "mode=ro", seconds)


def find_lock_holder(path: Path, seconds: float) -> int | None:
    """Return the process that has locked the store for writing all the time; None if none has, or it is not known.

    A usual transaction takes milliseconds. The list of locks is that of the Linux kernel.
    """
    holders, start = _lock_holders(path), monotonic()
    while holders and monotonic() - start < seconds:
        sleep(0.1)
        holders &= _lock_holders(path)
    return next(iter(holders), None)


def _lock_holders(path: Path) -> set[int]:
    try:
        file = path.with_name(f"{path.name}-shm").stat().st_ino
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return set()
    locked = [line.split() for line in lines if line.endswith(f":{file} {WRITE_LOCK}")]
    return {int(fields[4]) for fields in locked if fields[3] == "WRITE"}


def _read(path: Path, mode: str, seconds: float) -> StoreHealth:
    address = f"{path.absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(address, uri=True, timeout=LOCK_SECONDS, isolation_level=None)
    try:
        schema = check_schema(connection, path)
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        statuses, sweeps = {}, 0
        if schema:
            statuses = dict(connection.execute("SELECT id, status FROM runs").fetchall())
            sweeps = connection.execute("SELECT count(*) FROM sweeps").fetchone()[0]
        damage = _find_damage(connection, seconds)
    finally:
        connection.close()
    log = _log(path).stat().st_size if _log(path).exists() else 0
    whole = damage is not None
    return StoreHealth(schema, sweeps, statuses, (pages - free) * size, free * size, log, damage or "", whole)


def _find_damage(connection: sqlite3.Connection, seconds: float) -> str | None:
    """Return the first problem, an empty string if there is none, or None if the time was up."""
    end = monotonic() + seconds
    connection.set_progress_handler(lambda: monotonic() > end, OPERATIONS)
    try:
        found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return None
        raise
    return "" if found == "ok" else " ".join(found.split())


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _state(path: Path) -> tuple[int, int, bool]:
    """Return what changes when another process opens the file or writes to it."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size, _log(path).exists()
