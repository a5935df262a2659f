"""The key of a run: equal exactly for runs that would give the same numbers. Results and checkpoints carry it.

It names the config (only the fields that matter to the method), the code that decides the numbers, the versions of the
libraries that compute them, and the kind of device. Of the code, it takes what Python runs: comments, docstrings and
formatting do not change it, nor do other methods, other benchmarks and other networks.
"""

import ast
import ctypes
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path

from mgem_core.config import RunConfig
from mgem_core.learners import METHODS
from mgem_core.networks import NETWORKS
from mgem_core.streams import BENCHMARKS

ROOT = Path(__file__).parent
LIBRARIES = ("torch", "numpy", "quadprog")
CORE = (
    *("partition", "gradients", "dual", "direction", "engine", "checkpoints", "metrics", "randomness"),
    *("networks/__init__", "networks/_layer", "networks/_initialised"),
    *("learners/__init__", "learners/_learner", "learners/_reservoir", "streams/__init__", "streams/_stream"),
)


def run_key(config: RunConfig, device: str) -> str:
    """The key of a run that this process trains on a device of that kind ("cpu", "cuda", "mps")."""
    return _key(config, device, _part_at_start)


def expected_keys(configs: Sequence[RunConfig]) -> list[str]:
    """The keys that runs will have if they are trained now, by a process that starts now."""
    part = cache(_part_now)  # looked up once for all of them
    return [_key(config, expected_device(config.device), part) for config in configs]


def _key(config: RunConfig, device: str, part: Callable[[str], str]) -> str:
    canonical = config.canonical()
    fields = {name: getattr(canonical, name) for name in canonical.relevant_fields()}
    decisive = {
        "config": {**fields, "modules": canonical.module_of, "device": device},
        "code": code_version(config, part),
        "libraries": [part(name) for name in (*LIBRARIES, *NETWORKS[config.network].packages)],
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:24]


def code_version(config: RunConfig, part: Callable[[str], str]) -> str:
    """A fingerprint of the core's code and of this method's, this benchmark's and this network's own."""
    own = {
        "learners": METHODS[config.method].learner,
        "streams": BENCHMARKS[config.benchmark].open,
        "networks": NETWORKS[config.network].build,
    }
    names = (*CORE, *(f"{folder}/{of.__module__.rpartition('.')[2]}" for folder, of in own.items()))
    return hashlib.sha256("".join(map(part, names)).encode()).hexdigest()[:12]


def remember_code() -> None:
    """Note the code and libraries of now, when the process loads them: what changes later is not what it runs."""
    for name in _parts():
        _part_at_start(name)


def code_has_changed() -> bool:
    """Is the code on disk, or an installed library, other than what this process runs? Comments do not count."""
    return any(_part_now(name) != _part_at_start(name) for name in _parts())


def _parts() -> list[str]:
    """Everything that decides the numbers of some run: files of code, and libraries."""
    own = [file for folder in ("learners", "streams", "networks") for file in ROOT.glob(f"{folder}/[a-z]*.py")]
    return [*CORE, *(f"{file.parent.name}/{file.stem}" for file in own), *_libraries()]


def _libraries() -> list[str]:
    return [*LIBRARIES, *(package for network in NETWORKS.values() for package in network.packages)]


@cache
def _part_at_start(name: str) -> str:
    return _part_now(name)


def _part_now(name: str) -> str:
    """A library's version, or a fingerprint of the code in a file."""
    if name in _libraries():
        return metadata.version(name)
    file = ROOT / f"{name}.py"
    try:
        status = file.stat()
        return _code(file, status.st_mtime_ns, status.st_size)
    except (OSError, SyntaxError):  # it is being edited, or was deleted
        return ""


@lru_cache(maxsize=1000)
def _code(file: Path, changed: int, size: int) -> str:
    """The code in a file, as it was at that time, without comments, docstrings and formatting."""
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def expected_device(wanted: str) -> str:
    """The kind of device that a run will be trained on, found out without torch, which the dashboard never imports."""
    if wanted == "auto":
        return "cuda" if _has_cuda() else "cpu"
    return wanted.partition(":")[0]


@cache
def _has_cuda() -> bool:
    """Does NVIDIA's driver find a GPU that this build of torch could use?"""
    if metadata.version("torch").endswith("+cpu"):
        return False
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
