"""The key of a run: equal exactly for runs that would give the same numbers. Results and checkpoints carry it.

It names the config (only the fields that matter to the method), the code that decides the numbers, the versions of torch
and numpy, and the kind of device. Of the code, it takes what Python runs: comments, docstrings and formatting do not change
it, nor do other methods, other benchmarks and other networks.
"""

import ast
import ctypes
import hashlib
import json
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from mgem_core.config import RunConfig
from mgem_core.networks import NETWORKS
from mgem_core.streams import BENCHMARKS

ROOT = Path(__file__).parent
CORE = (
    *("partition", "gradients", "dual", "direction", "engine", "checkpoints", "metrics", "randomness"),
    *("networks/__init__", "networks/_layer", "networks/_initialised"),
    *("learners/__init__", "learners/_learner", "streams/__init__", "streams/_stream"),
)


def run_key(config: RunConfig, device: str | None = None) -> str:
    """The key of a run that is trained on a device of that kind ("cpu", "cuda", "mps"); by default, the expected one."""
    canonical = config.canonical()
    fields = {name: getattr(canonical, name) for name in canonical.relevant_fields()}
    decisive = {
        "config": {**fields, "modules": canonical.module_of, "device": device or expected_device(config.device)},
        "code": code_version(config.method, config.benchmark, config.network),
        **{name: version(name) for name in ("torch", "numpy", *NETWORKS[config.network].packages)},
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:24]


def code_version(method: str, benchmark: str, network: str) -> str:
    """A fingerprint of the core's code and of this method's, this benchmark's and this network's own."""
    stream = BENCHMARKS[benchmark].open.__module__.rpartition(".")[2]
    family = NETWORKS[network].build.__module__.rpartition(".")[2]
    names = (*CORE, f"learners/{method}", f"streams/{stream}", f"networks/{family}")
    return hashlib.sha256("".join(_code_at_start(name) for name in names).encode()).hexdigest()[:12]


def remember_code() -> None:
    """Read the code that decides numbers now: what is edited later is not what this process runs."""
    for name in _names():
        _code_at_start(name)
    _unchanged.add(_signature())


def code_has_changed() -> bool:
    """Is the code on disk other than what this process runs? Comments and docstrings do not count."""
    signature = _signature()
    if signature not in _unchanged:
        try:
            if any(_code(name) != _code_at_start(name) for name in _names()):
                return True
        except (OSError, SyntaxError):  # it is being edited
            return True
        _unchanged.add(signature)
    return False


_unchanged: set[str] = set()  # states of the files whose code is what this process runs


def _names() -> list[str]:
    """Every file whose code decides the numbers of some run."""
    own = [file for folder in ("learners", "streams", "networks") for file in ROOT.glob(f"{folder}/[a-z]*.py")]
    return [*CORE, *(f"{file.parent.name}/{file.stem}" for file in own)]


def _signature() -> str:
    statuses = {name: (ROOT / f"{name}.py").stat() for name in _names() if (ROOT / f"{name}.py").exists()}
    return repr([(name, status.st_mtime_ns, status.st_size) for name, status in statuses.items()])


@cache
def _code_at_start(name: str) -> str:
    return _code(name)


def _code(name: str) -> str:
    """A fingerprint of the code in a file without comments, docstrings and formatting."""
    tree = ast.parse((ROOT / f"{name}.py").read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


@cache
def version(package: str) -> str:
    return metadata.version(package)


def expected_device(wanted: str) -> str:
    """The kind of device that a run will be trained on, found out without torch, which the dashboard never imports."""
    if wanted == "auto":
        return "cuda" if _has_cuda() else "cpu"
    return wanted.partition(":")[0]


@cache
def _has_cuda() -> bool:
    """Does NVIDIA's driver find a GPU?"""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
