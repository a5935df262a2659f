"""The runner: exactly one per store. It hands out queued runs, writes what they tell, and ends itself when idle."""

import fcntl
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from mgem_core.events import Finished
from mgem_core.home import home, replace_file
from mgem_core.runner import Ended, Pool
from mgem_core.store import Store

ATTEMPTS = 3
TICK = 0.2  # seconds


def store_path() -> Path:
    return home() / "runs.db"


def locked() -> IO[str] | None:
    """The runner's lock, or None while another runner lives; the system takes it from the dead."""
    home().mkdir(parents=True, exist_ok=True)
    file = (home() / "runner.lock").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
    except BlockingIOError:
        file.close()
        return None


def ensure_runner(*options: str) -> subprocess.Popen[bytes] | None:
    """Start a runner of its own session unless one is there; it outlives whoever asked for it."""
    lock = locked()
    if lock is None:
        return None
    lock.close()
    with (home() / "runner.log").open("a") as log:
        command = [sys.executable, "-m", "mgem_core", "work", *options]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)


def refusal(runner: subprocess.Popen[bytes] | None) -> str:
    """Why a runner that was started could not be one, in its own words; empty while it is well."""
    if runner is None or runner.poll() not in (1, 2):
        return ""
    return (home() / "runner.log").read_text().splitlines()[-1].removeprefix("mgem: ")


class Runner:
    def __init__(self, store: Store, pool: Pool):
        self.store, self.pool = store, pool
        self.active: set[int] = set()
        self.ends: dict[int, Ended] = {}  # not yet in the store
        (store.path.parent / "checkpoints").mkdir(exist_ok=True)

    def work(self, idle_seconds: float) -> None:
        """Until nothing has been queued or running for a while."""
        self.store.requeue_interrupted()
        busy = time.monotonic()
        while time.monotonic() - busy < idle_seconds:
            try:
                self._tick()
            except sqlite3.OperationalError as error:  # no room, most likely: nothing more is begun until there is
                self._give_up(list(self.active), f"the store could not be written: {error}.")
                time.sleep(1)
            if self.active or self.ends or self.store.waiting():  # its workers may not be ready yet
                busy = time.monotonic()

    def _tick(self) -> None:
        for run, end in list(self.ends.items()):
            self._settle(run, end)
            del self.ends[run]
        for run in self.store.unwanted():
            self.pool.cancel(run)
        while self.pool.free() > 0 and (claimed := self.store.claim()):
            run, config = claimed
            self.active.add(run)
            checkpoint = self.store.checkpoint(run)
            self.pool.start(run, config, checkpoint.read_bytes() if checkpoint.exists() else None)
        told = [(run, what) for run, what in self.pool.poll(TICK) if run in self.active]  # not of runs given up
        self.store.record([(run, what) for run, what in told if not isinstance(what, Ended | bytes)])
        self.ends |= {run: what for run, what in told if isinstance(what, Ended)}
        self.active -= set(self.ends)
        finished = {run for run, what in told if isinstance(what, Finished)}
        for run, what in told:  # after what was told before it: nothing is lost if this process dies in between
            if isinstance(what, bytes) and run not in finished:
                self._keep(run, what)
        for run in finished:
            self.store.checkpoint(run).unlink(missing_ok=True)

    def _keep(self, run: int, state: bytes) -> None:
        try:
            replace_file(self.store.checkpoint(run), state)
        except OSError as error:
            self._give_up([run], f"its checkpoint could not be written: {error.strerror}.")

    def _settle(self, run: int, end: Ended) -> None:
        if end.how == "cancelled" or (end.how == "lost" and self.store.attempts(run) < ATTEMPTS):
            self.store.put_back(run, failed=end.how == "lost")  # somebody may have changed his mind meanwhile
        elif end.how == "lost":
            self.store.end(run, "failed", f"{end.reason}, {ATTEMPTS} times.")
        elif end.how == "failed":
            self.store.end(run, "failed", end.reason)

    def _give_up(self, runs: list[int], reason: str) -> None:
        for run in runs:
            self.pool.cancel(run)
            self.ends[run] = Ended("failed", reason)
            self.active.discard(run)


def work(open_pool: Callable[[], Pool], idle_seconds: float) -> None:
    """Be the runner, if there is none; a second one leaves at once."""
    lock = locked()
    if lock is None:
        return
    lock.truncate(0)
    lock.write(str(os.getpid()))  # for people who look; the lock is what counts
    lock.flush()
    pool = open_pool()
    try:
        Runner(Store(store_path()), pool).work(idle_seconds)
    finally:
        pool.close()
        lock.close()


def default_workers() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
