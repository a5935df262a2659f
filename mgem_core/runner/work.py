"""The runner as a process: at most one per store, which a lock ensures, started on demand."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from mgem_core.config.keys import version_of_this_process, version_on_disk
from mgem_core.errors import UsageError
from mgem_core.home import file_identity, home, store_path
from mgem_core.runner import Pool
from mgem_core.runner.runner import Runner
from mgem_core.runner.status import RunnerStatus, new_status, read_status
from mgem_core.store import Store, StoreUnavailableError

GIVE_WAY = 2.0  # seconds for which a runner that was asked to end leaves the lock to the one that asked
LOCK_SECONDS = 4.0  # how long the runner waits for a locked store before it reports the problem and tries again


def acquire_lock(seconds: float) -> FileLock | None:
    """The runner's lock, or None while another runner has it. The operating system releases it when its owner dies."""
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
    """What a process needs of the runner: its own code and, if the user asked for it, a certain pool."""

    version: str
    pool: str = ""  # in words, as `RunnerStatus.pool`; empty: any

    def reason_to_replace(self, status: RunnerStatus) -> str:
        """Why a live runner cannot do the work, in one sentence; empty if it can."""
        until = "it has ended" if not status.identity else "its current runs have ended"
        if status.version != self.version:
            other = "other code, libraries or data"
            return f"Waiting for another version to finish: process {status.process} uses {other}. Runs wait until {until}."
        if self.pool not in ("", status.pool):
            other = f"trains on {status.pool}"
            return f"Waiting for another runner to finish: process {status.process} {other}. Runs wait until {until}."
        return ""


def wanted_runner(pool: str = "") -> WantedRunner:
    """The runner that this process would start now."""
    return WantedRunner(version_on_disk(), pool)


def reason_to_wait(wanted: WantedRunner) -> str:
    """Why the live runner does not train what this process requests, in one sentence; empty if it does, or none lives."""
    lock = acquire_lock(0)
    if lock is not None:
        lock.release()
        return ""
    status = read_status()
    return wanted.reason_to_replace(status) if status else ""


def ensure_runner(
    *options: str, wanted: WantedRunner | None = None, is_needed: Callable[[], bool] = lambda: True
) -> subprocess.Popen[bytes] | None:
    """Start a runner unless there is a suitable one. It has its own session, so that it outlives this process.

    One that is not suitable is asked to end by the new one, which waits for it, but only if `is_needed`.
    """
    lock = acquire_lock(0)
    if lock is not None:
        lock.release()
    elif not (reason_to_wait(wanted or wanted_runner()) and is_needed()):
        return None
    try:
        with (home() / "runner.log").open("a") as log:
            command = [sys.executable, "-m", "mgem_core", "work", *options]
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    except OSError as error:
        raise UsageError(f"{home() / 'runner.log'} cannot be written: {error.strerror}.") from None


def refusal(runner: subprocess.Popen[bytes] | None) -> str:
    """Why a runner that was started has failed: the last line of its log. Empty if it has not failed."""
    if runner is None or runner.poll() not in (1, 2):
        return ""
    try:
        lines = (home() / "runner.log").read_text(errors="replace").split("\n")
    except OSError:
        lines = []
    last = next((line for line in reversed(lines) if line.strip()), "")
    return last.removeprefix("mgem: ") or f"the runner ended with code {runner.returncode}, and runner.log is empty."


def work(open_pool: Callable[[], Pool], idle_seconds: float, pool: str, wanted: WantedRunner) -> None:
    """Be the runner on this pool, unless there is a suitable one already; take turns with one that is not suitable."""
    while True:
        outcome = _work_on_store(open_pool, idle_seconds, pool, wanted)
        if outcome == "replaced" and home().exists():
            replaced = f"{store_path()} was deleted or replaced"
            print(f"mgem: {replaced}; continuing with the store that is there now.", file=sys.stderr, flush=True)
        elif outcome == "idle" and _has_runs_to_claim():
            pass  # requested while this runner ended
        elif outcome == "asked" and _has_runs_to_claim():
            print("mgem: this runner gives way to another one.", file=sys.stderr, flush=True)
            time.sleep(GIVE_WAY)
            wanted = replace(wanted, pool="")  # the pool that was asked for last does the work; only versions take turns
        else:
            break
    if outcome == "outdated":
        print("mgem: the code was edited; starting again with the new code.", file=sys.stderr, flush=True)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _work_on_store(open_pool: Callable[[], Pool], idle_seconds: float, pool: str, wanted: WantedRunner) -> str:
    lock = _wait_for_lock(wanted)
    if lock is None:
        return "taken"
    identity = file_identity(Path(lock.lock_file))
    try:
        status = new_status(version_of_this_process(), pool)
        status.write("")  # before the pool opens, which takes time: others want to know who holds the lock
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
    """The runner's lock, once a live runner that is not suitable has ended; None if there is nothing to wait for."""
    shown, unknown = "", 0
    while (lock := acquire_lock(1.0)) is None:  # ensure_runner in other processes holds it for a moment
        status = read_status()
        if status is None and unknown < 5:  # it has the lock, but has not written its status yet
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
    """Are runs queued that this process can train? Also if the store cannot tell at the moment."""
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
