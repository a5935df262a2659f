"""Sweeps with real runners and workers: dying processes, cancelled runs, full disks."""

import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import chaos
import numpy as np
import pytest
from chaos import until

import mgem_core
from mgem_core.config import RunConfig
from mgem_core.config.sweeps import SweepSpec
from mgem_core.errors import UsageError
from mgem_core.runner import Ended, local
from mgem_core.runner.local import LocalPool
from mgem_core.runner.runner import Runner
from mgem_core.runner.status import current_problem
from mgem_core.runner.worker import explain_error
from mgem_core.store import Store

SHORT = {"tasks": 2, "iterations": 20, "memory": 20, "probe_every": 0}
LONG = {"method": "single", "tasks": 1, "iterations": 1_000_000, "probe_every": 0}


def flags(fields: dict[str, object]) -> list[str]:
    return [part for name, value in fields.items() for part in (f"--{name.replace('_', '-')}", str(value))]


@pytest.fixture
def home(tmp_path):
    """A home whose processes have ended after the test."""
    yield tmp_path
    for process in chaos.processes(tmp_path):
        os.kill(process, signal.SIGKILL)


def one_run(store: Store) -> dict[str, Any]:
    return store.run_records()[0]


def worker_of(home: Path) -> int | None:
    return next(iter(chaos.workers(chaos.runner_of(home))), None)


@pytest.mark.slow
def test_cancelling_a_long_run_keeps_its_worker(home):
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
def test_run_fails_after_its_worker_died_three_times(home):
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
def test_impossible_run_fails_and_the_others_continue(home):
    options = flags({**SHORT, "device": "cpu,cuda:7,cuda:128", "workers": 1, "idle": 1})
    command = chaos.mgem(home, "sweep", *options, "--json")
    document = json.loads(command.communicate(timeout=90)[0])
    assert command.returncode == 1
    runs = {run["config"]["device"]: run for run in document["runs"]}
    assert (runs["cpu"]["status"], runs["cpu"]["error"]) == ("finished", None)
    for device in ("cuda:7", "cuda:128"):
        assert runs[device]["status"] == "failed"
        assert runs[device]["error"].startswith(f"device is '{device}', but this machine has 0 CUDA devices")
        assert runs[device]["traceback"] is None


@pytest.mark.slow
def test_concurrent_commands_share_store_and_runner(home):
    grids = (["--strengths", "0,0.1,0.2"], ["--strengths", "0.2,0.3,0.4"])
    commands = [
        chaos.mgem(home, "sweep", *flags(SHORT), *grid, "--seeds", "0,1", "--idle", "2", "--json") for grid in grids
    ]
    documents = [json.loads(command.communicate(timeout=120)[0]) for command in commands]
    assert [command.returncode for command in commands] == [0, 0]
    assert [one["counts"]["finished"] for one in documents] == [6, 6]
    assert len(Store(home / "runs.db").database.rows("SELECT 1 FROM runs")) == 10  # both have strength 0.2
    log = (home / "runner.log").read_text()
    assert "locked" not in log
    assert "Traceback" not in log
    assert not chaos.wait_for_quiet(home)


def limit_files(process: int, size: int) -> None:
    """Limit the size of the files that a process writes, to simulate a full disk."""
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("room", "what"), [(300_000, "1.pt could not be written"), (20_000, "runs.db could not be written")]
)
def test_runs_continue_after_a_full_disk_was_reported(home, room, what, monkeypatch):
    """A checkpoint takes 360 kB, the events before it less; the first events take more than 20 kB in the log."""
    monkeypatch.setenv("MGEM_HOME", str(home))
    store = Store(home / "runs.db")
    runner = chaos.mgem(home, "work", "--workers", "1", "--idle", "20")
    until(lambda: worker_of(home))
    until(
        lambda: store.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] == 0
    )  # the log is empty, so later writes have this much space
    limit_files(runner.pid, room)
    store.submit(SweepSpec(base={**SHORT, "iterations": 200}, grid={"seed": [0, 1]}))
    problem = until(current_problem)
    assert what in problem
    limit_files(runner.pid, resource.RLIM_INFINITY)
    until(lambda: store.counts()["finished"] == 2)
    assert [run["error"] for run in store.run_records()] == [None, None]
    assert current_problem() == ""
    assert store.database.rows("PRAGMA integrity_check")[0][0] == "ok"
    assert not chaos.wait_for_quiet(home)


def fill(file: Path) -> None:
    """Write to a file until the disk is full."""
    with suppress(OSError), file.open("wb", buffering=0) as full:
        while full.write(bytes(4096)):
            pass


@pytest.mark.slow
def test_waiting_command_reports_a_full_disk(home):
    """On a file system of 16 MB, the command reports the full disk, and the sweep ends once there is space."""
    disk = home / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", disk], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this machine does not allow mounting a file system")
    try:
        longer = flags({**SHORT, "iterations": 600, "probe_every": 20})
        command = chaos.mgem(disk, "sweep", *longer, "--seeds", "0,1", "--idle", "1", stderr=subprocess.PIPE)
        until(lambda: chaos.training_workers(chaos.runner_of(disk)))
        filler = disk / "filler"
        fill(filler)
        lines = []
        until(lambda: lines.append(command.stderr.readline()) or "could not be written" in lines[-1], 30)
        filler.unlink()
        assert command.wait(timeout=120) == 0, command.stderr.read()
        assert not chaos.wait_for_quiet(disk)
    finally:
        for process in chaos.processes(disk):
            os.kill(process, signal.SIGKILL)
        until(lambda: not subprocess.run(["umount", disk], stderr=subprocess.DEVNULL).returncode)


@pytest.mark.slow
def test_runner_continues_with_a_replaced_store(home):
    waiting = chaos.mgem(home, "sweep", *flags(LONG), "--workers", "1", "--idle", "20", stderr=subprocess.PIPE)
    until(lambda: (home / "runs.db").exists() and Store(home / "runs.db").counts()["running"] == 1)
    runner = chaos.runner_of(home)
    for file in home.glob("runs.db*"):
        file.unlink()
    assert waiting.wait(timeout=10) == 2
    assert "was deleted or replaced, and sweep s1 with it; launch the sweep again" in waiting.stderr.read()
    other = chaos.mgem(home, "sweep", *flags(SHORT), "--json")
    document = json.loads(other.communicate(timeout=60)[0])
    assert document["counts"]["finished"] == 1
    assert chaos.runner_of(home) == runner
    assert "was deleted or replaced; continuing with the new store" in (home / "runner.log").read_text()


@pytest.mark.slow
def test_zero_idle_time_still_trains_the_queue(home):
    Store(home / "runs.db").submit(SweepSpec(base=SHORT, grid={"seed": [0, 1, 2]}))
    assert chaos.mgem(home, "work", "--workers", "2", "--idle", "0").wait(timeout=60) == 0
    assert Store(home / "runs.db").counts()["finished"] == 3


@pytest.mark.slow
def test_suspended_worker_is_replaced_without_loss(home):
    """After a real minute of silence, the worker is replaced, and its run continues elsewhere."""
    chaos.mgem(home, "sweep", "--tasks", "3", "--iterations", "400", "--idle", "5", "--detach")
    stopped = until(lambda: next(iter(chaos.training_workers(chaos.runner_of(home))), None))
    os.kill(stopped, signal.SIGSTOP)
    store = Store(home / "runs.db")
    until(lambda: store.counts()["finished"] == 1, 120)
    assert one_run(store)["attempts"] == 2
    assert stopped not in chaos.workers(chaos.runner_of(home))
    assert not chaos.wait_for_quiet(home)


@pytest.mark.slow
def test_only_one_of_two_concurrent_runners_works(home):
    store = Store(home / "runs.db")
    store.submit(SweepSpec(base=SHORT, grid={"seed": list(range(6))}))
    runners = [chaos.mgem(home, "work", "--workers", "1", "--idle", "1") for _ in range(2)]
    assert [runner.wait(timeout=90) for runner in runners] == [0, 0]
    assert [run["status"] for run in store.run_records()] == ["finished"] * 6
    assert {run["attempts"] for run in store.run_records()} == {1}


@pytest.mark.slow
def test_runner_restarts_with_edited_code(home, monkeypatch):
    """The runner restarts with the new code, and trains the runs that are requested with it."""
    project = home / "project"
    shutil.copytree(Path(mgem_core.__file__).parent, project / "mgem_core", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(project)  # python -m looks here first
    store = Store(home / "runs.db")
    store.submit(SweepSpec(base=SHORT))
    runner = chaos.mgem(home, "work", "--workers", "1", "--idle", "20")
    until(lambda: store.counts()["finished"] == 1)
    evaluation = project / "mgem_core" / "training" / "evaluation.py"
    assert "100 * right / len(images)" in evaluation.read_text()
    evaluation.write_text(evaluation.read_text().replace("100 * right / len(images)", "50 * right / len(images)"))
    again = chaos.mgem(home, "sweep", *flags(SHORT), "--again", "--detach")  # in the folder of the edited code
    assert again.wait(timeout=60) == 0
    until(lambda: store.counts()["finished"] == 2)
    old, new = store.run_records()
    assert np.array(new["matrix"]).tolist() == (np.array(old["matrix"]) / 2).tolist()
    assert old["key"] != new["key"]
    runner.kill()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return chaos.undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.slow
@pytest.mark.parametrize("victim", chaos.VICTIMS)
def test_sweep_survives_kills_with_equal_numbers_and_no_orphans(home, victim, expected):
    assert chaos.disturbed(home, victim, kills=4, seed=0) >= 3
    assert chaos.results(home) == expected
    assert len(expected) == 12
    assert {status for _, status, *_ in expected} == {'"finished"'}
    assert not chaos.wait_for_quiet(home)


@pytest.fixture(params=["forkserver", "spawn"])
def start_method(request, monkeypatch):
    """Start workers as on Linux, and as on other systems."""
    monkeypatch.setattr(local, "CONTEXT", multiprocessing.get_context(request.param))


@pytest.mark.usefixtures("start_method")
def test_failing_worker_starts_are_reported(monkeypatch):
    monkeypatch.setattr(local, "worker_main", sys.exit)  # sys.exit(pipe) gives exit code 1
    pool = LocalPool(2)
    with pytest.raises(UsageError, match="its worker process ended with code 1, 3 times in a row"):
        until(lambda: pool.poll(0.1))
    pool.close()


def test_failing_fork_server_is_reported(monkeypatch):
    def start(self):
        raise EOFError  # the error of multiprocessing in this case

    monkeypatch.setattr(local, "CONTEXT", multiprocessing.get_context("forkserver"))
    monkeypatch.setattr(multiprocessing.context.ForkServerProcess, "start", start)
    pool = LocalPool(2)
    with pytest.raises(UsageError, match="the process that workers are forked from ended, 3 times in a row"):
        until(lambda: pool.poll(0.1))


def test_silent_worker_start_times_out(monkeypatch):
    monkeypatch.setattr(local, "CONTEXT", multiprocessing.get_context("forkserver"))
    monkeypatch.setattr(multiprocessing.context.ForkServerProcess, "start", lambda self: threading.Event().wait())
    monkeypatch.setattr(local, "STARTING", 0.3)
    pool = LocalPool(1)
    with pytest.raises(UsageError, match="its worker sent nothing for 0 s, 3 times in a row"):
        until(lambda: pool.poll(0.1))


@pytest.mark.parametrize(("how", "attempts"), [("cancelled", 0), ("lost", 1)])
def test_only_lost_workers_count_as_attempts(tmp_path, how, attempts):
    store, pool = Store(tmp_path / "runs.db"), Scripted()
    store.submit(SweepSpec())
    runner = Runner(store, pool)
    runner.do_round()
    pool.messages = [(1, Ended(how))]
    runner.do_round()
    pool.room = 0
    runner.do_round()
    assert (one_run(store)["status"], one_run(store)["attempts"]) == ("queued", attempts)


@pytest.mark.usefixtures("start_method")
def test_workers_killed_during_start_are_replaced():
    pool = LocalPool(1)
    for _ in range(4):
        killed = pool.workers[0]
        os.kill(until(lambda one=killed: one.process.pid), signal.SIGKILL)
        until(lambda one=killed: pool.poll(0.1) or pool.workers[0] is not one)
    pool.close()


@pytest.mark.slow
def test_killing_the_fork_server_during_a_start_does_not_hang():
    """Kill the fork server ten times while a worker starts; after each kill, a run is trained."""
    from multiprocessing.forkserver import _forkserver  # where multiprocessing stores its process

    config, moment = RunConfig(method="single", tasks=1, iterations=2, probe_every=0), random.Random(0)
    pool = LocalPool(1)
    try:
        for number in range(10):
            until(lambda: pool.poll(0.1) or pool.free())
            born = len(pool.workers)
            os.kill(pool.workers[0].process.pid, signal.SIGKILL)
            until(lambda: pool.poll(0.05) or not pool.workers[0].ready)  # the next fork server is starting
            time.sleep(moment.uniform(0, 0.03))  # the timing of the kill is what is tested
            with suppress(ProcessLookupError):
                os.kill(_forkserver._forkserver_pid, signal.SIGKILL)
            until(lambda: pool.poll(0.1) or pool.free())
            pool.start(number, config, None)
            messages = []
            until(lambda got=messages: got.extend(pool.poll(0.1)) or any(isinstance(one, Ended) for _, one in got))
            assert messages[-1][1] in (Ended("done"), Ended("cancelled"), Ended("lost", messages[-1][1].reason))
            assert len(pool.workers) == born
    finally:
        pool.close()


class Scripted:
    """A pool that returns the messages that the test sets."""

    problem = ""

    def __init__(self, room=1):
        self.room, self.started, self.messages = room, [], []

    def free(self):
        return self.room

    def start(self, run, config, state):
        self.started.append(run)
        self.room -= 1

    def cancel(self, run):
        pass

    def poll(self, seconds):
        messages, self.messages = self.messages, []
        return messages


def test_smaller_pool_gets_no_more_runs_than_it_can_hold(tmp_path):
    store = Store(tmp_path / "runs.db")
    store.submit(SweepSpec(grid={"seed": list(range(5))}))
    Runner(store, Scripted(room=-1)).do_round()
    assert store.counts()["queued"] == 5


def test_unexpected_error_is_one_line_with_its_location():
    try:
        raise KeyError("x")
    except KeyError as error:
        message = explain_error(error)
    assert message.startswith("KeyError: 'x' (test_runner.py, line ")
