"""Open, check and migrate the SQLite file of the store, and explain its errors in one sentence."""

import itertools
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from mgem_core.config.sweeps import configuration_of
from mgem_core.errors import UsageError
from mgem_core.home import file_identity
from mgem_core.store.schema import MIGRATIONS, TABLES

CIRCUMSTANCES = {  # errors of SQLite that come from the disk or from other processes, and may pass
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
}

_numbers = itertools.count()  # one number per database that this process opens


class StoreUnavailableError(UsageError):
    """The store cannot be read or written at the moment; the message says why in one sentence."""


class Database:
    """Two connections that threads share, one to read and one to write, so that readers never wait for a slow writer."""

    def __init__(self, path: Path, lock_seconds: float):
        """Open the file, and create or migrate it if needed. While another process writes, wait up to `lock_seconds`.

        A file that is damaged, newer than this version, or of another program is refused and not changed.
        """
        self.path = path
        self._number = next(_numbers)
        identity = file_identity(path)  # if the file is replaced while it is being opened, is_current() returns False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                problem = "is a folder, but it should be the file with all runs"
                raise UsageError(f"{path} {problem}; move it away to start a new store.")
            self._writer, self._reader = _connect(path, lock_seconds), _connect(path, lock_seconds)
        except (OSError, sqlite3.OperationalError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            remedy = "set MGEM_HOME to a folder that can be written"
            raise StoreUnavailableError(f"{path} cannot be opened ({reason}); {remedy}.") from None
        self._writing, self._reading = threading.RLock(), threading.Lock()
        try:
            with self.explained("opened"):
                self._prepare(lock_seconds)
        except UsageError:
            self.close()
            raise
        self._identity = identity or file_identity(path)

    def close(self) -> None:
        self._writer.close()
        self._reader.close()

    def _prepare(self, lock_seconds: float) -> None:
        """Check that this is a store before anything is written into it."""
        version = check_schema(self._writer, self.path)
        self._use_write_ahead_log(lock_seconds)
        # FULL: commits survive a power cut, so no checkpoint can be ahead of the store.
        for pragma in ("synchronous = FULL", "foreign_keys = OFF"):
            self._writer.execute(f"PRAGMA {pragma}")
        if version < len(MIGRATIONS):
            self._migrate()  # without foreign keys: rows that refer to a recreated table are kept
        self._writer.execute("PRAGMA foreign_keys = ON")

    def _use_write_ahead_log(self, lock_seconds: float) -> None:
        """Switch a new file to WAL. SQLite does not wait for its lock here, as it does elsewhere, but fails at once."""
        end = time.monotonic() + lock_seconds
        while True:
            try:
                self._writer.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
            time.sleep(0.01)

    def _migrate(self) -> None:
        with self.transaction() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]  # another process may have been faster
            for number, script in enumerate(MIGRATIONS[version:], version + 1):
                for statement in script.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")

    def explained(self, action: str) -> AbstractContextManager[None]:
        return explained(self.path, action)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Make all changes of a block, or none if it fails."""
        with self._writing, self.explained("written"):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        with self.reading() as connection:
            return connection.execute(query, values).fetchall()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._reading, self.explained("read"):
            yield self._reader

    def value(self, query: str, *values: Any) -> Any:
        """Return the first column of the first row."""
        return self.rows(query, *values)[0][0]

    def compact(self) -> None:
        """Return the space of deleted rows to the disk."""
        with self._writing, self.explained("compacted"):
            self._writer.execute("VACUUM")
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def size(self) -> tuple[int, int]:
        """Return the bytes in use, and the bytes that `compact` would free."""
        pages, free, page_size = (self.value(f"PRAGMA {name}") for name in ("page_count", "freelist_count", "page_size"))
        return (pages - free) * page_size, free * page_size

    def version(self) -> tuple[int, int]:
        """Return a value that changes whenever the database may have changed; it differs between databases."""
        return self._number, self.value("PRAGMA data_version")

    def is_current(self) -> bool:
        """Return whether the file at the path is still the one that was opened, not deleted or replaced."""
        return file_identity(self.path) == self._identity


def check_schema(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema version, 0 for an empty file; raise UsageError if this version of mgem cannot use the file."""
    # In one query: another process may be creating the store.
    both = "SELECT (SELECT user_version FROM pragma_user_version), group_concat(name) FROM sqlite_master"
    version, names = connection.execute(f"{both} WHERE type = 'table'").fetchone()
    tables = set((names or "").split(",")) - {""}
    if version > len(MIGRATIONS):
        raise UsageError(f"{path} was written by a newer version of mgem (schema {version}); update mgem to use it.")
    if (version or tables) and not tables >= TABLES:
        remedy = "move it away, or set MGEM_HOME to another folder"
        raise UsageError(f"{path} is a database of another program; {remedy}.")
    if tables and not version:
        problem = "has the tables of a store but no schema version, as after restoring a dump"
        remedy = "restore a copy of the file itself, or move it away to start a new store"
        raise UsageError(f"{path} {problem}; {remedy}.")
    return int(version)


@contextmanager
def explained(path: Path, action: str) -> Iterator[None]:
    """Turn errors caused by the disk, other processes or a damaged file into one sentence; others stay as they are."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in CIRCUMSTANCES:
            raise StoreUnavailableError(f"{path} could not be {action}: {error}.") from None
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            remedy = "move it away to start a new store"
            raise UsageError(f"{path} is damaged or not a store of mgem ({error}); {remedy}.") from None
        raise


def _connect(path: Path, lock_seconds: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=lock_seconds, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.create_function("configuration", 1, configuration_of, deterministic=True)
    return connection
