"""The runner as a process: at most one per store, which a lock ensures, started on demand."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

from mgem_core.errors import UsageError
from mgem_core.home import file_identity, home, store_path
from mgem_core.runner import Pool
from mgem_core.runner.runner import Runner
from mgem_core.store import Store

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


def ensure_runner(*options: str) -> subprocess.Popen[bytes] | None:
    """Start a runner unless there is one. It has its own session, so that it outlives the process that started it."""
    lock = acquire_lock(0)
    if lock is None:
        return None
    lock.release()
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


def work(open_pool: Callable[[], Pool], idle_seconds: float) -> None:
    """Be the runner, unless there is one already."""
    while (outcome := _work_on_store(open_pool, idle_seconds)) == "replaced" and home().exists():
        replaced = f"{store_path()} was deleted or replaced"
        print(f"mgem: {replaced}; continuing with the store that is there now.", file=sys.stderr, flush=True)
    if outcome == "outdated":
        print("mgem: the code was edited; starting again with the new code.", file=sys.stderr, flush=True)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _work_on_store(open_pool: Callable[[], Pool], idle_seconds: float) -> str:
    lock = acquire_lock(1.0)  # ensure_runner in other processes holds it for a moment
    if lock is None:
        return "taken"
    identity = file_identity(Path(lock.lock_file))
    try:
        store = Store(store_path(), LOCK_SECONDS)
        pool = open_pool()
        try:
            return Runner(store, pool, lambda: file_identity(Path(lock.lock_file)) == identity).work(idle_seconds)
        finally:
            pool.close()
            store.close()
    finally:
        lock.release()


def default_workers() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
