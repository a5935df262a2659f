"""The store, its checkpoints and its runner."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from filled_store import finish

from mgem_core.config.sweeps import SweepSpec
from mgem_core.doctor import stored
from mgem_core.doctor.stored import check_store, is_running
from mgem_core.runner.status import RunnerStatus
from mgem_core.store import Store, health
from mgem_core.store.health import StoreHealth


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Two runs: one that is queued, and one that has finished."""
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    made = Store(tmp_path / "runs.db")
    made.submit(SweepSpec(base={"tasks": 2}, grid={"seed": [0, 1]}))
    finish(made, made.claim()[0])
    yield made
    made.close()


def named():
    return {check.name: check for check in check_store()}


def test_no_store_yet_is_no_problem(tmp_path, monkeypatch):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path / "home"))
    assert [check.level for check in check_store()] == ["ok"]
    assert not (tmp_path / "home").exists()


def test_a_store_is_described(store):
    checks = named()
    assert checks["store"].level == "ok"
    assert "1 sweep, 2 runs" in checks["store"].finding
    assert (checks["store"].details["runs"]["finished"], checks["store"].details["is_checked"]) == (1, True)
    assert checks["checkpoints"].finding == "0 files, 0.0 MB"
    assert checks["runner"].advice == "continue them with: mgem work"


def test_damage_is_a_problem_and_an_unfinished_check_is_not(store, monkeypatch):
    for damage, is_checked, level in [("row 7 is missing", True, "broken"), ("", False, "advice")]:
        found = StoreHealth(6, 1, {}, 1, 0, 0, damage, is_checked)
        monkeypatch.setattr(stored, "read_health", lambda path, seconds, found=found: found)
        assert named()["store"].level == level


def test_mostly_empty_stores_can_be_compacted(store, monkeypatch):
    monkeypatch.setattr(stored, "read_health", lambda path, seconds: StoreHealth(6, 1, {}, 10**6, 10**9, 0, "", True))
    assert "1000 MB of it are empty" in named()["store"].advice


def test_a_folder_in_place_of_the_store_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    (tmp_path / "runs.db").mkdir()
    assert [check.level for check in check_store()] == ["broken"]


def test_checkpoints_that_no_run_needs_are_found(store):
    finished, waiting = 1, 2
    folder = store.checkpoint(waiting).parent
    folder.mkdir()
    needless = [f"{finished}.pt", f"{waiting}.pt.set-aside", "77.pt", f"{waiting}.pt.partial"]
    for name in [*needless, f"{waiting}.pt", "notes.txt"]:
        (folder / name).write_bytes(bytes(1000))
    check = named()["checkpoints"]
    assert check.level == "advice"
    assert {Path(name).name for name in check.details["orphans"]} == set(needless)
    assert (check.details["files"], check.details["orphan_bytes"]) == (5, 4000)
    store.claim()
    names = {Path(name).name for name in named()["checkpoints"].details["orphans"]}
    assert names == set(needless) - {f"{waiting}.pt.partial"}  # a runner may be writing it


def test_unreadable_checkpoints_do_not_hide_the_store(store, monkeypatch):
    store.checkpoint(1).parent.mkdir()

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    checks = named()
    assert (checks["store"].level, checks["checkpoints"].level) == ("ok", "broken")
    assert checks["checkpoints"].finding == f"{store.checkpoint(1).parent} cannot be read (Permission denied)"


def test_a_store_that_others_lock_out_is_a_problem(store, monkeypatch):
    """In SQLite's exclusive mode, even readers are locked out."""
    monkeypatch.setattr(health, "LOCK_SECONDS", 0.1)
    store.close()
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("DELETE FROM runs")
    (check,) = check_store()
    other.close()
    assert (check.level, "database is locked" in check.finding) == ("broken", True)


def test_a_runner_and_its_problem_are_shown(store):
    status = RunnerStatus(os.getpid(), pool="2 workers")
    status.write()
    assert named()["runner"].finding == f"process {os.getpid()} trains on 2 workers; 0 running, 1 queued"
    status.write("The disk is full.")
    check = named()["runner"]
    assert (check.level, check.finding) == ("broken", "The disk is full.")


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="reads the locks of the Linux kernel")
def test_a_locked_store_is_a_problem(store, monkeypatch):
    monkeypatch.setattr(stored, "LOCKED_SECONDS", 0.2)
    with store.database.transaction():
        check = named()["runner"]
    assert (check.level, check.details) == ("broken", {"lock_holder": os.getpid()})
    assert named()["runner"].level == "advice"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="on Windows, processes are not asked")
def test_running_processes_are_recognised():
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_running(other.pid)
    other.communicate(b"\n")
    assert not is_running(other.pid)
    assert not any(map(is_running, (0, -1, 2**70)))
