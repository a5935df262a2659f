"""Checks of the store, its checkpoints and its runner. They only read, also while runs train."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from mgem_core.doctor.check import Check
from mgem_core.home import store_path
from mgem_core.runner.status import current_problem, read_status
from mgem_core.store import StoreUnavailableError
from mgem_core.store.health import StoreHealth, find_lock_holder, read_health
from mgem_core.text import pluralize

CHECK_SECONDS = 20.0  # of reading the file: meanwhile the log of a runner cannot shrink
LOCKED_SECONDS = 2.0
LARGE = 100e6  # bytes
FILE = re.compile(r"[0-9]+\.pt(\.partial|\.set-aside)?")
RESUMABLE = ("queued", "running", "failed", "cancelled")  # runs that continue from their checkpoint


def check_store() -> Iterator[Check]:
    path = store_path()
    if not path.exists():
        yield Check("store", f"there is no {path} yet; the first sweep creates it")
        return
    if path.is_dir():
        yield Check("store", f"{path} is a folder, but it should be the file with all runs", "move it away", True)
        return
    checkpoints = _list_checkpoints(path.parent / "checkpoints")  # first, because runs that end meanwhile delete theirs
    try:
        health = read_health(path, CHECK_SECONDS)
    except StoreUnavailableError as error:
        remedy = "allow this user to read and write it and its folder, or end the process that locks it"
        yield Check("store", str(error).removesuffix("."), remedy, True)
        return
    counts = health.counts()
    sizes = {name: getattr(health, name) for name in ("used_bytes", "free_bytes", "log_bytes")}
    details = {"path": str(path), "schema": health.schema, "sweeps": health.sweeps, "runs": counts, **sizes}
    yield _describe_file(path, health, {**details, "is_checked": health.is_checked, "damage": health.damage})
    yield checkpoints if isinstance(checkpoints, Check) else _describe_checkpoints(health, checkpoints)
    yield _describe_runner(path, counts)


def _describe_file(path: Path, health: StoreHealth, details: dict[str, object]) -> Check:
    if health.damage:
        remedy = "end the runner and the dashboard, then restore a backup of it or move it away"
        return Check("store", f"{path} is damaged ({health.damage})", remedy, True, details)
    size = f"{(health.used_bytes + health.free_bytes) / 1e6:.1f} MB"
    finding = f"{path}: {pluralize(health.sweeps, 'sweep')}, {pluralize(len(health.statuses), 'run')}, {size}"
    if not health.is_checked:
        finding = f"{finding}; no damage found in {CHECK_SECONDS:.0f} s, in which not all of it could be checked"
        return Check("store", finding, "end other programs that use the disk, and try again", details=details)
    if health.free_bytes > max(LARGE, health.used_bytes):
        advice = f"{health.free_bytes / 1e6:.0f} MB of it are empty: delete a sweep on the page Runs, which returns them"
        return Check("store", f"{finding}, not damaged", advice, details=details)
    return Check("store", f"{finding}, not damaged", details=details)


def _describe_checkpoints(health: StoreHealth, files: list[Path]) -> Check:
    """Find checkpoints from which no run will continue: of deleted or finished runs, set aside, or half written."""
    orphans = [file for file in files if _status_of(file, health) not in RESUMABLE and file.exists()]
    total, size = _size(files), _size(orphans)
    details = {"files": len(files), "bytes": total, "orphans": [str(file) for file in orphans], "orphan_bytes": size}
    finding = f"{pluralize(len(files), 'file')}, {total / 1e6:.1f} MB"
    if not orphans:
        return Check("checkpoints", finding, details=details)
    which = f"{pluralize(len(orphans), 'file')} ({size / 1e6:.1f} MB), such as {orphans[0]}"
    finding = f"{finding}, of which no run needs {which}"
    return Check("checkpoints", finding, "delete these files; mgem doctor --json lists them", details=details)


def _status_of(file: Path, health: StoreHealth) -> str:
    """Return the status of the run that can continue from a file, or an empty string."""
    run = file.name.removesuffix(".pt")
    is_partial = file.name.endswith(".pt.partial")
    if is_partial and health.counts()["running"]:
        return "running"  # a runner may be writing it
    return health.statuses.get(int(run), "") if run.isdecimal() else ""


def _describe_runner(path: Path, counts: dict[str, int]) -> Check:
    status, waiting = read_status(), f"{counts['running']} running, {counts['queued']} queued"
    holder = find_lock_holder(path, LOCKED_SECONDS)
    if holder is not None:
        finding = f"process {holder or 'unknown'} has locked {path} for more than {LOCKED_SECONDS:.0f} s"
        remedy = "wait for this process, or end it; no run can be stored meanwhile"
        return Check("runner", finding, remedy, True, {"lock_holder": holder})
    if problem := current_problem():
        return Check("runner", problem, "solve this; the runner goes on by itself", True, {"problem": problem})
    is_alive = status is not None and is_running(status.process)
    details = {"process": status.process if status and is_alive else None, **counts}
    if status and is_alive:
        return Check("runner", f"process {status.process} trains on {status.pool or 'workers'}; {waiting}", details=details)
    advice = "continue them with: mgem work" if counts["running"] + counts["queued"] else ""
    state = "no runner is at work" if hasattr(os, "getuid") else "whether a runner is at work is not known"
    return Check("runner", f"{state}; {waiting}", advice, details=details)


def is_running(process: int) -> bool:
    """Return whether there is a process with this id; False on Windows, where asking could end it."""
    if process <= 0 or not hasattr(os, "getuid"):
        return False
    try:
        os.kill(process, 0)
    except OverflowError:
        return False
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


def _list_checkpoints(folder: Path) -> list[Path] | Check:
    """Return the files in the folder, or the check that it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if FILE.fullmatch(path.name)) if folder.is_dir() else []
    except OSError as error:
        remedy = "allow this user to use this folder: runs cannot continue from their checkpoints"
        return Check("checkpoints", f"{folder} cannot be read ({error.strerror})", remedy, True)


def _size(files: list[Path]) -> int:
    total = 0
    for file in files:
        try:
            total += file.stat().st_size
        except FileNotFoundError:  # the runner has deleted it meanwhile
            continue
    return total
