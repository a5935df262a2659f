"""The runner as a process, started on demand. A lock ensures that there is at most one per store."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from filelock import FileLock, Timeout

from mgem_core.config.keys import version_of_this_process, version_on_disk
from mgem_core.errors import UsageError
from mgem_core.home import file_identity, home, store_path
from mgem_core.runner import Pool
from mgem_core.runner.runner import Runner
from mgem_core.runner.status import RunnerStatus, read_status
from mgem_core.store import Store, StoreUnavailableError

GIVE_WAY = 2.0  # seconds for which a runner that was asked to end leaves the lock to the other one
LOCK_SECONDS = 4.0  # seconds for which the runner waits for a locked store before it reports the problem and tries again


def acquire_lock(seconds: float) -> FileLock | None:
    """Return the runner's lock, or None while another runner has it. The system releases it when its owner dies."""
    try:
        home().mkdir(parents=True, exist_ok=True)
        lock = FileLock(home() / "runner.lock")
        lock.acquire(timeout=seconds)
        return lock
    except Timeout:
        return None
    except OSError as error:
        remedy = "set MGEM_HOME to a folder that can be written"
        raise UsageError(f"{home()} cannot be used ({error.strerror}); {remedy}.") from None


@dataclass(frozen=True)
class WantedRunner:
    """The runner that a process needs: one with the same code and, if the user asked for one, a certain pool."""

    version: str
    pool: str = ""  # as in `RunnerStatus.pool`; empty if any will do

    def reason_to_replace(self, status: RunnerStatus) -> str:
        """Return one sentence on why a live runner cannot do the work; empty if it can."""
        until = "it has ended" if not status.identity else "its current runs have ended"
        if status.version != self.version:
            other = "other code, libraries or data"
            return f"Waiting for another version to finish: process {status.process} uses {other}. Runs wait until {until}."
        if self.pool not in ("", status.pool):
            other = f"trains on {status.pool}"
            return f"Waiting for another runner to finish: process {status.process} {other}. Runs wait until {until}."
        return ""


def wanted_runner(pool: str = "") -> WantedRunner:
    """Return the runner that this process would start now."""
    return WantedRunner(version_on_disk(), pool)


def reason_to_wait(wanted: WantedRunner) -> str:
    """Return one sentence on why the live runner does not train runs of this process; empty if it does or none exists."""
    lock = acquire_lock(0)
    if lock is not None:
        lock.release()
        return ""
    status = read_status()
    return wanted.reason_to_replace(status) if status else ""


def ensure_runner(
    *options: str, wanted: WantedRunner, is_needed: Callable[[], bool] = lambda: True
) -> subprocess.Popen[bytes] | None:
    """Start a runner unless there is a suitable one. It has its own session, so that it outlives this process.

    If `is_needed`, the new runner asks an unsuitable one to end, and waits for it.
    """
    lock = acquire_lock(0)
    if lock is not None:
        lock.release()
    elif not (reason_to_wait(wanted) and is_needed()):
        return None
    try:
        with (home() / "runner.log").open("a") as log:
            command = [sys.executable, "-m", "mgem_core", "work", *options]
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    except OSError as error:
        raise UsageError(f"{home() / 'runner.log'} cannot be written: {error.strerror}.") from None


def refusal(runner: subprocess.Popen[bytes] | None) -> str:
    """Return why a started runner has failed, from the last line of its log; empty if it has not failed."""
    if runner is None or runner.poll() not in (1, 2):
        return ""
    try:
        lines = (home() / "runner.log").read_text(errors="replace").split("\n")
    except OSError:
        lines = []
    last = next((line for line in reversed(lines) if line.strip()), "")
    return last.removeprefix("mgem: ") or f"the runner ended with code {runner.returncode}, and runner.log is empty."


def work(open_pool: Callable[[], Pool], idle_seconds: float, pool: str, wanted: WantedRunner) -> None:
    """Run the runner on this pool unless there is a suitable one; take turns with one of another version."""
    while True:
        outcome = _work_on_store(open_pool, idle_seconds, pool, wanted)
        if outcome == "replaced" and home().exists():
            replaced = f"{store_path()} was deleted or replaced"
            print(f"mgem: {replaced}; continuing with the new store.", file=sys.stderr, flush=True)
        elif outcome == "idle" and _has_runs_to_claim():
            pass  # runs were requested while this runner ended
        elif outcome == "asked" and _has_runs_to_claim():
            print("mgem: this runner ends, so that another one can start.", file=sys.stderr, flush=True)
            time.sleep(GIVE_WAY)
            wanted = replace(wanted, pool="")  # only versions take turns; the pool that was requested last does the work
        else:
            break
    if outcome == "outdated":
        print("mgem: the code was edited; restarting with the new code.", file=sys.stderr, flush=True)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _work_on_store(open_pool: Callable[[], Pool], idle_seconds: float, pool: str, wanted: WantedRunner) -> str:
    lock = _wait_for_lock(wanted)
    if lock is None:
        return "taken"
    identity = file_identity(Path(lock.lock_file))
    try:
        status = RunnerStatus(os.getpid(), token_hex(8), version_of_this_process(), pool)
        status.write()  # before the pool opens, which takes time, because other processes want to know who holds the lock
        store = Store(store_path(), LOCK_SECONDS)
        workers = open_pool()
        try:
            runner = Runner(store, workers, status, lambda: file_identity(Path(lock.lock_file)) == identity)
            return runner.work(idle_seconds)
        finally:
            workers.close()
            store.close()
    finally:
        lock.release()


def _wait_for_lock(wanted: WantedRunner) -> FileLock | None:
    """Return the lock once an unsuitable runner has ended; None if there is nothing to wait for."""
    shown, unknown = "", 0
    while (lock := acquire_lock(1.0)) is None:  # other processes hold it briefly in ensure_runner
        status = read_status()
        if status is None and unknown < 5:  # the other runner has the lock, but has not written its status yet
            unknown += 1
            continue
        reason = wanted.reason_to_replace(status) if status else ""
        if status is None or not reason or not _has_runs_to_claim():
            return None
        status.ask_to_end(wanted.version)
        if reason != shown:
            shown = reason
            print(f"mgem: {reason}", file=sys.stderr, flush=True)
    return lock


def _has_runs_to_claim() -> bool:
    """Return whether runs are queued that this process can train; True if the store cannot be read."""
    try:
        store = Store(store_path(), LOCK_SECONDS)
    except StoreUnavailableError:
        return True
    except UsageError:
        return False
    try:
        return store.has_runs_to_claim()
    except StoreUnavailableError:
        return True
    finally:
        store.close()


def default_workers() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
