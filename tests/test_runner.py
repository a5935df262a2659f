"""Sweeps with real runners and real workers: what dies, what is cancelled, what finds no room."""

import json
import multiprocessing
import os
import resource
import signal
import sqlite3
import sys
import threading
import time
from pathlib import Path

import chaos
import numpy as np
import pytest
from chaos import until

from mgem_core.config import UsageError
from mgem_core.events import Finished
from mgem_core.runner import Ended, local, worker
from mgem_core.runner.local import LocalPool
from mgem_core.runner.work import Runner
from mgem_core.runner.worker import explained
from mgem_core.store import Store
from mgem_core.sweeps import SweepSpec

SHORT = {"tasks": 2, "iterations": 20, "memory": 20, "probe_every": 0}
LONG = {"method": "single", "tasks": 1, "iterations": 1_000_000, "probe_every": 0}


@pytest.fixture
def home(tmp_path):
    """A home whose processes are gone when the test is over."""
    yield tmp_path
    for process in chaos.processes(tmp_path):
        os.kill(process, signal.SIGKILL)


def one_run(store: Store) -> sqlite3.Row:
    return store.rows("SELECT * FROM runs")[0]


def worker_of(home: Path) -> int | None:
    runner = (home / "runner.lock").read_text()
    return next(iter(chaos.workers(int(runner))), None) if runner else None


@pytest.mark.slow
def test_a_long_run_is_cancelled_soon_and_its_worker_stays(home):
    store = Store(home / "runs.db")
    sweep = store.submit(SweepSpec(base=LONG))
    chaos.mgem(home, "work", "--workers", "1", "--idle", "2")
    until(lambda: one_run(store)["step"] > 0)
    worker = worker_of(home)
    assert chaos.mgem(home, "cancel", f"s{sweep}").wait() == 0
    until(lambda: one_run(store)["status"] == "cancelled", 10)
    assert worker_of(home) == worker
    assert not chaos.wait_for_quiet(home)


@pytest.mark.slow
def test_a_run_whose_worker_dies_three_times_fails_with_the_reason(home):
    store = Store(home / "runs.db")
    store.submit(SweepSpec(base=LONG))
    chaos.mgem(home, "work", "--workers", "1", "--idle", "1")
    for attempt in (1, 2, 3):
        until(lambda n=attempt: one_run(store)["attempts"] == n and one_run(store)["status"] == "running")
        os.kill(until(lambda: worker_of(home)), signal.SIGKILL)
        until(lambda n=attempt: one_run(store)["status"] != "running" or one_run(store)["attempts"] > n)
    until(lambda: one_run(store)["status"] == "failed")
    assert one_run(store)["error"] == "its worker process was ended by signal 9, 3 times."
    assert not chaos.wait_for_quiet(home)


@pytest.mark.slow
def test_what_cannot_run_fails_with_one_sentence_and_the_rest_goes_on(home):
    command = chaos.mgem(home, "sweep", *flags(SHORT), "--device", "cpu,cuda:7", "--workers", "1", "--idle", "1", "--json")
    told = json.loads(command.communicate(timeout=90)[0])
    assert command.returncode == 1
    errors = {run["device"]: (run["status"], run["error"]) for run in told["runs"]}
    assert errors["cpu"] == ("finished", None)
    assert errors["cuda:7"][0] == "failed"
    assert errors["cuda:7"][1].startswith("device is 'cuda:7', but this machine has")


@pytest.mark.slow
def test_two_commands_at_once_share_a_store_and_a_runner(home):
    grids = (["--strengths", "0,0.1,0.2"], ["--strengths", "0.2,0.3,0.4"])
    commands = [
        chaos.mgem(home, "sweep", *flags(SHORT), *grid, "--seeds", "0,1", "--idle", "2", "--json") for grid in grids
    ]
    told = [json.loads(command.communicate(timeout=120)[0]) for command in commands]
    assert [command.returncode for command in commands] == [0, 0]
    assert [one["counts"]["finished"] for one in told] == [6, 6]
    assert len(Store(home / "runs.db").rows("SELECT 1 FROM runs")) == 10  # strength 0.2 is common to both
    log = (home / "runner.log").read_text()
    assert "locked" not in log
    assert "Traceback" not in log
    assert not chaos.wait_for_quiet(home)


def limit_files(process: int, size: int) -> None:
    """A limit on the size of the files a process writes stands for a full disk."""
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.mark.slow
@pytest.mark.parametrize(("room", "what"), [(200_000, "its checkpoint"), (20_000, "the store")])
def test_without_room_runs_fail_with_that_reason_and_go_on_when_there_is_some(home, room, what):
    """A checkpoint takes 360 kB; the first events of a run take more than 20 kB in the store's log."""
    store = Store(home / "runs.db")
    sweep = store.submit(SweepSpec(base={**SHORT, "iterations": 200}, grid={"seed": [0, 1]}))
    runner = chaos.mgem(home, "work", "--workers", "1", "--idle", "3")
    until(lambda: (home / "runner.lock").exists() and worker_of(home))
    limit_files(runner.pid, (home / "runs.db-wal").stat().st_size + room)
    time.sleep(10)  # a store that is full cannot even be told so
    assert runner.poll() is None or what == "its checkpoint"
    assert len(store.rows("SELECT id FROM runs")) == 2
    if runner.poll() is None:
        limit_files(runner.pid, resource.RLIM_INFINITY)
    until(lambda: store.counts()["queued"] + store.counts()["running"] == 0)
    errors = [row["error"] for row in store.rows("SELECT error FROM runs WHERE status = 'failed'")]
    assert errors
    assert all(f"{what} could not be written" in error for error in errors), errors
    assert not chaos.wait_for_quiet(home)

    assert chaos.mgem(home, "resume", f"s{sweep}", "--idle", "1").wait() == 0
    until(lambda: store.counts()["finished"] == 2, 120)
    assert store.rows("PRAGMA integrity_check")[0][0] == "ok"
    assert not chaos.wait_for_quiet(home)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return chaos.undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.slow
@pytest.mark.parametrize("victim", chaos.VICTIMS)
def test_killed_four_times_a_sweep_gives_the_same_numbers_and_leaves_no_orphans(home, victim, expected):
    assert chaos.disturbed(home, victim, kills=4, seed=0) >= 3
    assert chaos.results(home) == expected
    assert len(expected) == 12
    assert {status for _, status, _, _ in expected} == {"finished"}
    assert not chaos.wait_for_quiet(home)


@pytest.mark.slow
def test_a_ray_cluster_that_loses_a_node_gives_the_same_numbers(home, expected):
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "node_ip_address": "127.0.0.2"}  # loopback; Ray takes 127.0.0.1 for another
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        second = cluster.add_node(**node)
        command = chaos.mgem(home, "sweep", *chaos.GRID, "--ray", cluster.address, "--idle", "2", "--json")
        store = until(lambda: (home / "runs.db").exists()) and Store(home / "runs.db")
        until(lambda: store.counts()["finished"] >= 3, 120)
        assert store.counts()["running"] == 2
        cluster.remove_node(second, allow_graceful=False)
        told = json.loads(command.communicate(timeout=240)[0])
        assert told["counts"]["finished"] == 12
        assert chaos.results(home) == expected
        assert not chaos.wait_for_quiet(home)
    finally:
        cluster.shutdown()


@pytest.mark.slow
def test_a_ray_cluster_that_is_not_there_is_one_sentence(home):
    command = chaos.mgem(home, "sweep", *flags(SHORT), "--ray", "127.0.0.1:1")
    assert command.wait(timeout=60) == 2
    assert "ray is '127.0.0.1:1', but no Ray cluster answers there" in (home / "runner.log").read_text()
    assert not chaos.wait_for_quiet(home)


@pytest.fixture(params=["forkserver", "spawn"])
def start_method(request, monkeypatch):
    """How workers start on Linux, and elsewhere."""
    monkeypatch.setattr(local, "CONTEXT", multiprocessing.get_context(request.param))


@pytest.mark.usefixtures("start_method")
def test_workers_that_do_not_start_are_given_up_with_one_sentence(monkeypatch):
    monkeypatch.setattr(worker, "main", sys.exit)  # with its pipe for a reason: code 1
    pool = LocalPool(2)
    with pytest.raises(UsageError, match="its worker process ended with code 1, 3 times in a row"):
        until(lambda: pool.poll(0.1))
    pool.close()


def test_workers_whose_origin_ends_again_and_again_are_given_up_with_one_sentence(monkeypatch):
    def start(self):
        raise EOFError  # what multiprocessing says then

    monkeypatch.setattr(local, "CONTEXT", multiprocessing.get_context("forkserver"))
    monkeypatch.setattr(multiprocessing.context.ForkServerProcess, "start", start)
    pool = LocalPool(2)
    with pytest.raises(UsageError, match="the process that workers are forked from ended, 3 times in a row"):
        until(lambda: pool.poll(0.1))


def test_a_worker_that_never_starts_is_given_up_and_nobody_waits_for_it(monkeypatch):
    monkeypatch.setattr(local, "CONTEXT", multiprocessing.get_context("forkserver"))
    monkeypatch.setattr(multiprocessing.context.ForkServerProcess, "start", lambda self: threading.Event().wait())
    monkeypatch.setattr(local, "STARTING", 0.3)
    pool = LocalPool(1)
    with pytest.raises(UsageError, match="its worker was silent for 0 s, 3 times in a row"):
        until(lambda: pool.poll(0.1))


@pytest.mark.parametrize(("how", "attempts"), [("cancelled", 0), ("lost", 1)])
def test_only_an_attempt_that_its_worker_did_not_survive_counts(tmp_path, how, attempts):
    store, pool = Store(tmp_path / "runs.db"), Scripted()
    store.submit(SweepSpec())
    runner = Runner(store, pool)
    runner._tick()
    pool.told = [(1, Ended(how))]
    runner._tick()
    pool.room = 0
    runner._tick()
    assert (one_run(store)["status"], one_run(store)["attempts"]) == ("queued", attempts)


@pytest.mark.usefixtures("start_method")
def test_workers_killed_while_they_start_are_replaced_again_and_again():
    pool = LocalPool(1)
    for _ in range(4):
        killed = pool.workers[0]
        os.kill(until(lambda one=killed: one.process.pid), signal.SIGKILL)
        until(lambda one=killed: pool.poll(0.1) or pool.workers[0] is not one)
    pool.close()


class Scripted:
    """A pool whose runs tell what the test says."""

    def __init__(self, room=1):
        self.room, self.started, self.told = room, [], []

    def free(self):
        return self.room

    def start(self, run, config, state):
        self.started.append(run)
        self.room -= 1

    def cancel(self, run):
        pass

    def poll(self, seconds):
        told, self.told = self.told, []
        return told


def test_a_pool_that_lost_a_node_gets_no_more_than_it_can_hold(tmp_path):
    store = Store(tmp_path / "runs.db")
    store.submit(SweepSpec(grid={"seed": list(range(5))}))
    Runner(store, Scripted(room=-1))._tick()
    assert store.counts()["queued"] == 5


def test_a_result_that_cannot_be_written_fails_its_run_with_that_reason(tmp_path, monkeypatch):
    store, pool = Store(tmp_path / "runs.db"), Scripted()
    store.submit(SweepSpec())
    runner = Runner(store, pool)
    runner._tick()
    monkeypatch.setattr(store, "requeue_interrupted", lambda: None)  # this runner is still the same
    R = np.zeros((5, 5))
    pool.told = [(1, Finished("finished", "", R, 0.0, 0.0, 0.0, 1.0, 0.1, "x")), (1, Ended("done"))]
    with monkeypatch.context() as full:

        def refuse(told):
            raise sqlite3.OperationalError("database or disk is full")

        full.setattr(store, "record", refuse)
        full.setattr(time, "sleep", lambda seconds: full.undo())  # there is room again
        runner.work(0.3)
    row = one_run(store)
    assert (row["status"], row["error"]) == ("failed", "the store could not be written: database or disk is full.")


def test_an_unknown_error_is_told_in_one_line_with_its_place():
    try:
        raise KeyError("x")
    except KeyError as error:
        told = explained(error)
    assert told.startswith("KeyError: 'x' (test_runner.py, line ")


def flags(fields: dict[str, object]) -> list[str]:
    return [part for name, value in fields.items() for part in (f"--{name.replace('_', '-')}", str(value))]
