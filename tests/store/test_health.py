"""Reading how a store is: damage and locks are found, nothing is written, and writers do not wait."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from filled_store import filled_store

from mgem_core import UsageError
from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store, health
from mgem_core.store.health import find_lock_holder, read_health

needs_locks = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="reads the locks of the Linux kernel")
HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


def content(folder):
    """Return the bytes of every file in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_closed_store_is_read_without_creating_files(tmp_path):
    filled_store(tmp_path / "runs.db").close()
    before = content(tmp_path)
    found = read_health(tmp_path / "runs.db", 60)
    assert content(tmp_path) == before
    assert (found.sweeps, found.counts()["finished"], len(found.statuses)) == (1, 14, 14)
    assert (found.damage, found.is_checked) == ("", True)
    assert found.used_bytes + found.free_bytes == len(before["runs.db"])


def test_changes_in_the_log_are_counted(tmp_path):
    store = filled_store(tmp_path / "runs.db")
    store.submit(SweepSpec(grid={"seed": [7]}))
    found = read_health(tmp_path / "runs.db", 60)
    assert (found.sweeps, found.counts()["queued"]) == (2, 1)
    assert found.log_bytes > 0
    store.close()


def test_a_store_that_changes_meanwhile_is_read_again(tmp_path, monkeypatch):
    path, read, modes = tmp_path / "runs.db", health._read, []
    filled_store(path).close()

    def change(path, mode, seconds):
        modes.append(mode)
        found = read(path, mode, seconds)
        if len(modes) == 1:
            store = Store(path)
            store.submit(SweepSpec(grid={"seed": [7]}))
            store.close()
        return found

    monkeypatch.setattr(health, "_read", change)
    assert read_health(path, 60).sweeps == 2
    assert modes == ["immutable=1", "mode=ro"]


def test_a_store_can_be_written_while_it_is_checked(tmp_path, monkeypatch):
    store, check = filled_store(tmp_path / "runs.db"), health._find_damage

    def write(connection, seconds):
        store.submit(SweepSpec(grid={"seed": [7]}))
        return check(connection, seconds)

    monkeypatch.setattr(health, "_find_damage", write)
    assert read_health(tmp_path / "runs.db", 60).damage == ""
    assert len(store.sweeps()) == 2
    store.close()


def test_damage_is_found(tmp_path):
    path = tmp_path / "runs.db"
    filled_store(path).close()
    content = bytearray(path.read_bytes())
    content[-3000:-1000] = bytes(2000)  # in the last page
    path.write_bytes(content)
    assert read_health(path, 60).damage


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("CREATE TABLE other (x)", "is a database of another program"),
        ("PRAGMA user_version = 99", "was written by a newer version of mgem"),
    ],
)
def test_other_files_are_refused(script, sentence, tmp_path):
    path = tmp_path / "runs.db"
    connection = sqlite3.connect(path)
    connection.execute(script)
    connection.close()
    with pytest.raises(UsageError, match=sentence):
        read_health(path, 60)
    path.write_text("no database at all" * 100)
    with pytest.raises(UsageError, match="is damaged or not a store of mgem"):
        read_health(path, 60)


def test_a_check_ends_in_time(tmp_path, monkeypatch):
    filled_store(tmp_path / "runs.db").close()
    monkeypatch.setattr(health, "OPERATIONS", 1)
    found = read_health(tmp_path / "runs.db", 0)
    assert (found.is_checked, found.damage, found.sweeps) == (False, "", 1)


@needs_locks
def test_the_process_that_locks_the_store_is_named(tmp_path):
    store = filled_store(tmp_path / "runs.db")
    assert find_lock_holder(store.path, 0.3) is None
    command = [sys.executable, "-c", HOLD, str(store.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "locked\n"
        assert find_lock_holder(store.path, 0.3) == other.pid
        assert read_health(store.path, 60).damage == ""
        other.stdin.close()
        other.wait(timeout=60)
        assert find_lock_holder(store.path, 0.3) is None
    store.close()
