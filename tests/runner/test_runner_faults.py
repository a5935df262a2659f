"""Faults around a runner: they store no wrong number, fail no run, and are reported."""

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from secrets import token_hex

import numpy as np
import pytest
from chaos import until
from inline_pool import InlinePool

from mgem_core import RunConfig, UsageError
from mgem_core.analysis import frames
from mgem_core.cli import main
from mgem_core.config import keys
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Finished, Started, Stepped, TaskLearned
from mgem_core.runner import Ended, local, runner
from mgem_core.runner.local import LocalPool
from mgem_core.runner.runner import Runner
from mgem_core.runner.status import SIZE, RunnerStatus, current_problem, read_status
from mgem_core.runner.work import WantedRunner, acquire_lock, reason_to_wait, refusal
from mgem_core.runner.worker import train
from mgem_core.store import Store, StoreUnavailableError
from mgem_core.training.checkpoints import MAGIC, read_header

SPEC = SweepSpec(base={"tasks": 4, "iterations": 5, "batch_size": 5, "memory": 10, "probe_every": 2})


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    monkeypatch.setattr(runner, "RETRY", 0.01)
    return tmp_path


def new_store(home):
    return Store(home / "runs.db", lock_seconds=0.1)


def one_run(store):
    return store.run_records()[0]


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """R, weights, probes and rows of an uninterrupted run."""
    store = Store(tmp_path_factory.mktemp("undisturbed") / "runs.db")
    store.submit(SPEC)
    assert Runner(store, InlinePool()).work(0) == "idle"
    return everything(store)


def everything(store):
    run = one_run(store)
    probes = frames.series(store, 1, "Probed").to_dict("records")
    return run["status"], run["matrix"], run["fingerprint"], probes, frames.matrix(store, 1).to_dict("records")


def do_rounds_until(one: Runner, condition):
    until(lambda: one.do_round() is None or condition())


def copy_store(home, name):
    with sqlite3.connect(home / "runs.db") as live, sqlite3.connect(home / name) as copy:
        live.backup(copy)


def restore_store(home, name):
    for ending in ("", "-wal", "-shm"):
        (home / f"runs.db{ending}").unlink(missing_ok=True)
    shutil.copy(home / name, home / "runs.db")


@pytest.mark.parametrize("tasks_before", [0, 1, 2])
def test_checkpoint_ahead_of_the_store_is_not_resumed(home, expected, tasks_before):
    """After a power cut or a restored copy, the store can be older than the checkpoint."""
    store = new_store(home)
    store.submit(SPEC)
    one = Runner(store, InlinePool())
    do_rounds_until(one, lambda: one_run(store)["task"] == tasks_before)
    copy_store(home, "older.db")
    do_rounds_until(one, lambda: store.checkpoint(1).exists() and read_header(store.checkpoint(1).read_bytes()).task == 3)
    store.close()
    restore_store(home, "older.db")

    store, pool = new_store(home), InlinePool()
    assert Runner(store, pool).work(0) == "idle"
    assert everything(store) == expected
    assert pool.states == [None]
    assert one_run(store)["notice"].startswith(
        "The run started again from the beginning: its checkpoint does not fit the store"
    )


def test_events_after_the_checkpoint_are_removed(home, expected):
    store = new_store(home)
    store.submit(SPEC)
    one = Runner(store, InlinePool(1))
    do_rounds_until(one, lambda: one_run(store)["task"] == 2 and one_run(store)["step"] == 3)
    older = store.checkpoint(1).read_bytes()
    do_rounds_until(one, lambda: one_run(store)["task"] == 3)
    store.checkpoint(1).write_bytes(older)
    pool = InlinePool()
    assert Runner(store, pool).work(0) == "idle"
    assert pool.states == [older]
    assert everything(store) == expected
    assert (one_run(store)["resumed_task"], one_run(store)["notice"]) == (2, None)


def test_commits_survive_a_power_cut(home):
    assert new_store(home).database.rows("PRAGMA synchronous")[0][0] == 2  # FULL


def test_result_with_missing_events_fails(home):
    store = new_store(home)
    store.submit(SweepSpec(base={"tasks": 2}))
    store.claim()
    R = np.full((2, 2), 50.0)
    store.record([(1, Started("GEM", ("a", "b"), 5, 1, 0, 0)), (1, TaskLearned(1, R[1], 1.0))])
    store.record([(1, Finished("finished", "", R, 50.0, 50.0, 0.0, 1.0, 0.1, "x", events=2))])
    run = one_run(store)
    assert (run["status"], run["acc"], run["matrix"]) == ("failed", None, None)
    assert run["error"] == "the store lacks some of the 2 events of this run; resume it to train it again."


def test_equal_event_count_without_all_rows_is_incomplete(home):
    """Slow attempts yield more Stepped events, so an equal number of events does not mean that no row of R is missing."""
    store = new_store(home)
    store.submit(SPEC)
    store.claim()
    steps = [(1, Stepped(0, step, 1.0, 0.0, 0.1, 0)) for step in (1, 2, 3)]
    store.record([(1, Started("GEM", ("a",) * 4, 5, 1, 0, 0)), *steps])
    assert store.count_events(1, 0, 5) == 3
    assert store.count_events(1, 1, 0) == 0


@pytest.mark.parametrize("fault", ["a folder", "a huge task", "a header without end"])
def test_unreadable_checkpoint_does_not_stop_other_runs(home, fault):
    store = new_store(home)
    store.submit(SweepSpec(base=SPEC.base, grid={"seed": [0, 1]}))
    path = store.checkpoint(1)
    path.parent.mkdir()
    if fault == "a folder":
        path.mkdir()
    else:
        header = json.dumps({"key": "", "config": "", "task": 2**70, "step": 0, "events": 0})
        checked = (header if fault == "a huge task" else "[" * 100_000).encode() + b"\n"
        path.write_bytes(MAGIC + hashlib.sha256(checked).digest() + checked)
    assert Runner(store, InlinePool()).work(0) == "idle"
    assert [run["status"] for run in store.run_records()] == ["finished"] * 2


def test_checkpoint_folder_error_is_reported(home):
    store = new_store(home)
    store.submit(SPEC)
    (home / "checkpoints").touch()
    with pytest.raises(StoreUnavailableError, match=r"the folder .*checkpoints cannot be created: File exists"):
        Runner(store, InlinePool()).do_round()


def test_new_run_ignores_a_stale_checkpoint_without_notice(home):
    """A checkpoint with the number of the run belongs to a run of an older store."""
    store = new_store(home)
    store.submit(SPEC)
    store.checkpoint(1).parent.mkdir()
    store.checkpoint(1).write_bytes(b"of another time")
    assert Runner(store, InlinePool()).work(0) == "idle"
    assert one_run(store)["notice"] is None


def test_damaged_checkpoint_restarts_the_run(home, expected):
    store = new_store(home)
    store.submit(SPEC)
    one = Runner(store, InlinePool())
    do_rounds_until(one, lambda: store.checkpoint(1).exists())
    damaged = bytearray(store.checkpoint(1).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    store.checkpoint(1).write_bytes(damaged)
    assert Runner(store, InlinePool()).work(0) == "idle"
    assert everything(store) == expected
    assert "its checkpoint is damaged: its checksum is wrong" in one_run(store)["notice"]
    assert not list(store.checkpoint(1).parent.iterdir())  # both are useless once there is a result


def test_run_interrupted_under_other_code_restarts_when_resumed(home, expected, monkeypatch):
    store = new_store(home)
    store.submit(SPEC)
    one = Runner(store, InlinePool())
    do_rounds_until(one, lambda: store.checkpoint(1).exists())
    old_key, old = one_run(store)["key"], store.checkpoint(1).read_bytes()
    monkeypatch.setattr(keys, "code_version", lambda *run: "newer")
    assert Runner(store, InlinePool()).work(0) == "idle"
    assert store.requested_with_other_code() == [1]
    assert store.resume([1]) == 1
    one = Runner(store, InlinePool())
    do_rounds_until(one, lambda: one_run(store)["notice"])
    assert store.checkpoint(1).with_name("1.pt.set-aside").read_bytes() == old
    assert one.work(0) == "idle"
    assert everything(store) == expected
    run = one_run(store)
    assert run["key"] == keys.run_key(RunConfig.model_validate(run["config"]), "cpu") != old_key
    assert "its checkpoint was written by other code" in run["notice"]


def test_key_names_the_device_used_for_training(home, monkeypatch):
    store = new_store(home)
    monkeypatch.setattr(keys, "_has_cuda", lambda: True)  # the key expected at the time of the request
    store.submit(SPEC)
    expected_key = one_run(store)["key"]
    Runner(store, InlinePool()).work(0)
    config = RunConfig.model_validate(one_run(store)["config"])
    assert one_run(store)["key"] == keys.run_key(config, "cpu") != expected_key


class Unwritable:
    """A store that cannot be written for a while."""

    def __init__(self, store, times):
        self.store, self.times, self.seen = store, times, []

    def __getattr__(self, name):
        return getattr(self.store, name)

    def record(self, events):
        if self.times > 0:
            self.times -= 1
            self.seen.append(current_problem())
            raise StoreUnavailableError("runs.db could not be written: database or disk is full.")
        self.store.record(events)


def test_runs_wait_while_the_store_is_not_writable(home, expected):
    store = new_store(home)
    store.submit(SPEC)
    full = Unwritable(store, 5)
    assert Runner(full, InlinePool()).work(0) == "idle"
    problem = "runs.db could not be written: database or disk is full. No run can continue until this is fixed."
    assert full.seen == ["", *[problem] * 4]
    assert everything(store) == expected
    assert current_problem() == ""


def test_runs_continue_while_checkpoints_are_not_writable(home, expected, monkeypatch, capfd):
    def refuse(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(runner, "replace_file", refuse)
    store = new_store(home)
    store.submit(SPEC)
    assert Runner(store, InlinePool()).work(0) == "idle"
    assert everything(store) == expected
    assert "1.pt could not be written: No space left on device. Training continues without it." in capfd.readouterr().err


def test_runner_waits_for_a_locked_store_and_reports_it(home, expected):
    store = new_store(home)
    store.submit(SPEC)
    other = sqlite3.connect(home / "runs.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    one = Runner(store, InlinePool())
    with pytest.raises(StoreUnavailableError, match="could not be written: database is locked"):
        one.do_round()
    other.execute("ROLLBACK")
    assert one.work(0) == "idle"
    assert everything(store) == expected


def test_sql_error_does_not_fail_a_run(home, monkeypatch):
    store = new_store(home)
    store.submit(SPEC)
    one = Runner(store, InlinePool())
    one.do_round()
    monkeypatch.setattr(store, "runs_to_cancel", lambda: store.database.rows("SELECT no_such FROM runs"))
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        one.work(0)
    assert one_run(store)["status"] == "running"  # the next runner queues it again


def test_runner_leaves_a_replaced_store(home):
    store = new_store(home)
    store.submit(SPEC)
    one = Runner(store, InlinePool())
    one.do_round()
    (home / "runs.db").rename(home / "moved.db")
    assert one.work(60) == "replaced"
    new_store(home)
    assert one.work(60) == "replaced"


def test_runner_ends_when_its_lock_is_deleted(home):
    one = Runner(new_store(home), InlinePool(), is_alone=lambda: False)
    assert one.work(60) == "replaced"


def test_runner_with_edited_code_finishes_only_current_runs(home, monkeypatch):
    monkeypatch.setattr(runner, "ROUND", 0.0)  # notice the edit in the next round, however short a run is
    store = new_store(home)
    store.submit(SweepSpec(base=SPEC.base, grid={"seed": [0, 1]}))
    one = Runner(store, InlinePool())
    one.do_round()
    monkeypatch.setattr(runner, "code_has_changed", lambda: True)
    assert one.work(60) == "outdated"
    assert [run["status"] for run in store.run_records()] == ["finished", "queued"]


@pytest.mark.parametrize("idle", ["nan", "inf", "-1"])
def test_invalid_idle_time_is_rejected(idle, capsys):
    assert main(["work", "--idle", idle]) == 2
    assert f"idle is {float(idle)}; it must be a number of at least 0." in capsys.readouterr().err


def heartbeats_only(pipe):
    """Act as a worker that lives but never accepts a run, like a second process on the pipe of another."""
    while True:
        pipe.send([])
        time.sleep(0.05)


def test_worker_that_does_not_accept_a_run_is_replaced(monkeypatch):
    monkeypatch.setattr(local, "ACCEPTING", 0.3)
    monkeypatch.setattr(local, "worker_main", heartbeats_only)
    pool = LocalPool(1)
    try:
        until(lambda: pool.poll(0.1) or pool.free())
        deaf = pool.workers[0]
        pool.start(1, RunConfig(), b"x" * 10_000_000)  # more than fits into a pipe; the runner must not wait for it
        messages = until(lambda: pool.poll(0.1))
        assert messages == [(1, Ended("lost", "its worker did not accept it within 0 s"))]
        assert pool.workers[0] is not deaf
        assert not deaf.process.is_alive()
    finally:
        pool.close()


def test_suspended_runner_keeps_its_workers(monkeypatch):
    """When a laptop sleeps or a container is paused, workers send nothing, but the runner does not read either."""
    pool = LocalPool(1)
    try:
        until(lambda: pool.poll(0.1) or pool.free())
        one = pool.workers[0]
        pool.start(1, RunConfig(method="single", tasks=1, iterations=200_000, probe_every=0), None)
        until(lambda: pool.poll(0.1) and one.accepted)
        clock = time.monotonic
        monkeypatch.setattr(local.time, "monotonic", lambda: clock() + 1000)
        pool.poll(0.01)
        assert pool.workers[0] is one
        assert one.run == 1
    finally:
        monkeypatch.undo()
        pool.close()


def test_repeated_kills_during_start_are_reported_and_slowed_down():
    pool = LocalPool(1)
    try:
        for _ in range(local.STARTS):
            killed = pool.workers[0]
            os.kill(until(lambda one=killed: one.process.pid), signal.SIGKILL)
            until(lambda one=killed: pool.poll(0.1) or pool.workers[0] is not one)
        assert pool.problem.startswith("Workers are killed while they start")
        until(lambda: pool.poll(0.1) or pool.free())
        assert not pool.problem
    finally:
        pool.close()


def test_two_worker_starts_do_not_share_a_pipe(monkeypatch):
    """If the fork server dies after a fork, no second worker may use the pipe of the first."""
    pipes = []
    start = local.CONTEXT.Process.start

    def start_and_lose_the_origin(self):
        pipes.append(self._args[0].fileno())
        start(self)
        if len(pipes) == 1:
            self._popen = None  # as if there had been no answer
            multiprocessing.process._children.discard(self)
            raise EOFError

    monkeypatch.setattr(local.CONTEXT.Process, "start", start_and_lose_the_origin)
    made = []
    original = local.CONTEXT.Pipe
    monkeypatch.setattr(type(local.CONTEXT), "Pipe", lambda self: made.append(original()) or made[-1])
    pool = LocalPool(1)
    try:
        until(lambda: pool.poll(0.1) or pool.free())
        assert len(made) == 2
        pool.start(1, RunConfig(tasks=1, iterations=2, method="single"), None)
        messages = []
        until(lambda: messages.extend(pool.poll(0.1)) or any(isinstance(message, Ended) for _, message in messages))
        assert messages[-1] == (1, Ended("done"))
    finally:
        pool.close()


def test_run_of_a_silent_worker_continues_elsewhere(home, expected, monkeypatch):
    monkeypatch.setattr(local, "SILENT", 2.0)
    store = new_store(home)
    store.submit(SPEC)
    pool = LocalPool(1)
    try:
        one = Runner(store, pool)
        until(lambda: one.do_round() is None or pool.workers[0].run is not None)
        os.kill(pool.workers[0].process.pid, signal.SIGSTOP)
        assert one.work(0) == "idle"
    finally:
        pool.close()
    assert everything(store) == expected
    assert one_run(store)["attempts"] in (1, 2)  # one if the run had ended before its worker was stopped


def runner_with_status(store, pool=None):
    status = RunnerStatus(os.getpid(), token_hex(8), "this version", "1 worker")
    return Runner(store, pool or InlinePool(), status), status


def test_runner_asked_to_end_finishes_only_current_runs(home, monkeypatch):
    monkeypatch.setattr(runner, "TURN", 0.0)
    monkeypatch.setattr(runner, "ROUND", 0.0)  # notice the request in the next round, however short a run is
    store = new_store(home)
    store.submit(SweepSpec(base=SPEC.base, grid={"seed": [0, 1]}))
    one, status = runner_with_status(store)
    one.do_round()
    read_status().ask_to_end("that version")
    assert status.asking_version() == "that version"
    assert one.work(60) == "asked"
    assert [run["status"] for run in store.run_records()] == ["finished", "queued"]


def test_idle_runner_asked_to_end_ends_at_once(home):
    one, status = runner_with_status(new_store(home))
    status.ask_to_end("that version")
    assert one.work(60) == "asked"


@pytest.mark.parametrize(("turn", "second"), [(runner.TURN, "finished"), (0.0, "queued")])
def test_runner_completes_its_turn_before_it_ends(home, monkeypatch, turn, second):
    """Otherwise two versions that ask each other to end would train nothing at all.

    A turn begins with the first run, because workers can need longer to start than a turn lasts.
    """
    monkeypatch.setattr(runner, "TURN", turn)
    store = new_store(home)
    store.submit(SweepSpec(base=SPEC.base, grid={"seed": [0, 1]}))
    one, status = runner_with_status(store)
    status.ask_to_end("that version")
    assert one.work(60) == "asked"
    assert [run["status"] for run in store.run_records()] == ["finished", second]


def test_runner_gives_way_at_once_to_equal_code(home):
    """The other runner has another pool, but can train the same runs."""
    store = new_store(home)
    store.submit(SPEC)
    one, status = runner_with_status(store)
    status.ask_to_end("this version")
    assert one.work(60) == "asked"
    assert one_run(store)["status"] == "queued"


def test_request_to_end_is_for_one_runner(home):
    _, before = runner_with_status(new_store(home))
    before.ask_to_end("that version")
    _, after = runner_with_status(new_store(home))
    assert not after.asking_version()


def test_runner_of_another_version_or_pool_is_awaited(home):
    assert reason_to_wait(WantedRunner("this version")) == ""
    lock = acquire_lock(0)
    RunnerStatus(77, "id", "that version", "2 workers").write("")
    waiting = "Waiting for another version to finish: process 77 uses other code, libraries or data. "
    assert reason_to_wait(WantedRunner("this version")) == f"{waiting}Runs wait until its current runs have ended."
    assert reason_to_wait(WantedRunner("that version")) == ""
    assert reason_to_wait(WantedRunner("that version", "2 workers")) == ""
    other_pool = reason_to_wait(WantedRunner("that version", "Ray at 10.0.0.1:6379"))
    assert other_pool.startswith("Waiting for another runner to finish: process 77 trains on 2 workers.")
    lock.release()
    assert reason_to_wait(WantedRunner("this version")) == ""


def test_status_of_an_older_version_counts_as_another_version(home):
    lock = acquire_lock(0)
    (home / "runner.status").write_text('{"process": 5, "time": 1.0, "problem": ""}')
    waiting = reason_to_wait(WantedRunner("this version"))
    assert waiting.endswith("process 5 uses other code, libraries or data. Runs wait until it has ended.")
    read_status().ask_to_end("this version")  # an older version could not understand the request
    assert not (home / "runner.end").exists()
    lock.release()


def test_run_refused_by_worker_with_other_code_is_requeued(home):
    """The code was edited after the runner started and before its workers did."""

    class OtherCode(InlinePool):
        def start(self, run, config, state):
            super().start(run, config, state)
            edited = {**keys.versions_of_this_process(config), "restriction/dual": "edited"}
            self.training = train(config.model_dump_json(), state, versions=edited)

    store = new_store(home)
    store.submit(SPEC)
    assert Runner(store, OtherCode()).work(60) == "outdated"
    run = one_run(store)
    assert (run["status"], run["attempts"], run["task"]) == ("queued", 0, 0)


def test_differences_between_versions_are_named():
    ours = keys.versions_of_this_process(RunConfig())
    assert keys.difference_from(ours) == ""
    assert keys.difference_from({**ours, "learners/gem": "x"}) == "other code in mgem_core/learners/gem.py"
    installed = ours["torch"]
    assert keys.difference_from({**ours, "torch": "1.0"}) == f"torch {installed} instead of 1.0"
    assert keys.difference_from({"no-such-library": "1.0"}) == "no-such-library (not installed) instead of 1.0"


def test_status_file_has_constant_size(home):
    RunnerStatus(1).write("a" * 10_000)
    assert (home / "runner.status").stat().st_size == SIZE
    assert current_problem() == "a" * (SIZE // 8)
    RunnerStatus(1).write("disk full “ä”")
    assert (home / "runner.status").stat().st_size == SIZE
    assert current_problem() == "disk full “ä”"
    (home / "runner.status").write_bytes(b"\0" * SIZE)
    assert current_problem() == ""


def test_lock_is_released_when_its_owner_dies(home):
    code = "from mgem_core.runner.work import *; lock = acquire_lock(0); print(1, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        owner.stdout.readline()
        assert acquire_lock(0) is None
        owner.kill()
        owner.wait()
        until(lambda: acquire_lock(0))


@pytest.mark.parametrize("log", [None, "", "\n\n"])
def test_runner_failure_without_log_is_reported(home, log):
    if log is not None:
        (home / "runner.log").write_text(log)
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(2)"])
    process.wait()
    assert refusal(process) == "the runner ended with code 2, and runner.log is empty."


def test_stepped_events_are_unique(home):
    """The count of events relies on this."""
    store = new_store(home)
    store.submit(SPEC)
    store.claim()
    for _ in range(2):
        store.record([(1, Stepped(0, 3, 0.5, 0.0, 0.1, 0))])
    assert store.count_events(1, 0, 3) == 1
    assert store.count_events(1, 0, 2) == 0


def test_home_that_is_a_file_is_reported(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MGEM_HOME", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="cannot be used"):
        acquire_lock(0)
