"""Checks of the installation and of this computer: versions, kind of device, free disk and file descriptors."""

import os
import platform
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType

from mgem_core.config.keys import expected_device
from mgem_core.doctor.check import Check
from mgem_core.fingerprints import library_version
from mgem_core.home import home
from mgem_core.runner.work import default_workers
from mgem_core.text import pluralize
from mgem_core.version import VERSION

resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows, which has no such limits
    resource = None

LIBRARIES = ("torch", "torchvision", "numpy", "quadprog", "mlxtend", "pandas", "pydantic", "plotly", "streamlit")
FULL, LOW = 100e6, 2e9  # bytes: below the first, checkpoints of larger networks do not fit
FEW_INODES = 1000
FEW_DESCRIPTORS = 1024  # browsers need about ten each; the dashboard raises its own limit up to the hard one
NVIDIA = Path("/proc/driver/nvidia/version")  # exists if the driver of NVIDIA's GPUs is loaded (Linux)


def check_versions() -> Iterator[Check]:
    versions = {"mgem": VERSION, "python": platform.python_version()}
    missing = []
    for name in LIBRARIES:
        try:
            versions[name] = library_version(name)
        except PackageNotFoundError:
            missing.append(name)
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    if missing:
        remedy = "install the tool again: pip install mgem-explorer, or make run in its source folder"
        yield Check("versions", f"not installed: {', '.join(missing)} (found: {listed})", remedy, True, versions)
    else:
        yield Check("versions", listed, details=versions)


def check_device() -> Iterator[Check]:
    """Name the device that runs use, as the dashboard determines it, without torch."""
    kind, workers = expected_device("auto"), default_workers()
    details = {"device": kind, "workers": workers, "system": platform.system(), "architecture": platform.machine()}
    finding = f"runs use {'a GPU (cuda)' if kind == 'cuda' else 'the CPU'}; {pluralize(workers, 'worker')}, one per core"
    advice = ""
    if kind == "cpu" and NVIDIA.exists():
        advice = "there is a driver of NVIDIA: to use its GPU, install a build of torch for CUDA (pytorch.org)"
    yield Check("device", finding, advice, details=details)


def check_disk() -> Iterator[Check]:
    folder = existing_parent(home())
    usage = shutil.disk_usage(folder)
    inodes = _free_inodes(folder)
    finding = f"{_gigabytes(usage.free)} of {_gigabytes(usage.total)} free for {home()}"
    details = {"free_bytes": usage.free, "total_bytes": usage.total, "free_inodes": inodes}
    remedy = "free some space, or set MGEM_HOME to a folder on another disk"
    if usage.free < FULL:
        yield Check("disk", f"the disk is almost full: {finding}", f"{remedy}; on a full disk, runs wait", True, details)
    elif inodes is not None and inodes < FEW_INODES:
        yield Check("disk", f"the disk has room for {inodes} more files only", f"delete files, or {remedy}", True, details)
    else:
        yield Check("disk", finding, remedy if usage.free < LOW else "", details=details)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def existing_parent(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    path = path.absolute()
    return next((one for one in (path, *path.parents) if one.exists()), path)


def _free_inodes(folder: Path) -> int | None:
    """Return how many more files the disk can hold; None if it has no such limit."""
    if not hasattr(os, "statvfs"):
        return None
    status = os.statvfs(folder)
    return status.f_favail if status.f_files else None


def check_descriptors() -> Iterator[Check]:
    if resource is None:
        yield Check("descriptors", "this system has no limit of file descriptors")
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    details = {"soft": None if soft == unlimited else soft, "hard": None if hard == unlimited else hard}
    finding = f"a process may open {_count(details['soft'])} files, and raise this to {_count(details['hard'])}"
    is_low = hard != unlimited and hard < FEW_DESCRIPTORS
    advice = f"the dashboard refuses pages when few are left: raise the hard limit to {FEW_DESCRIPTORS} or more"
    yield Check("descriptors", finding, advice if is_low else "", details=details)


def _count(limit: int | None) -> str:
    return "any number of" if limit is None else f"{limit:,}"
