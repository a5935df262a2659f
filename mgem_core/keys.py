"""The key of a run: equal exactly for runs that would give the same numbers. Results and checkpoints carry it.

It names the config (only the fields that matter to the run), the code that decides the numbers, the versions of the
libraries that compute them and of data that comes in several, and the kind of device. Of the code, it takes what Python
runs: comments, docstrings and formatting do not change it, nor do methods, benchmarks and networks that the run neither
uses nor imports.
"""

import ctypes
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata

from mgem_core.config import RunConfig
from mgem_core.fingerprints import part_at_start, part_on_disk, shared_parts
from mgem_core.learners import METHODS
from mgem_core.networks import NETWORKS
from mgem_core.streams import BENCHMARKS


def run_key(config: RunConfig, device: str) -> str:
    """The key of a run that this process trains on a device of that kind ("cpu", "cuda", "mps")."""
    return _key(config, device, part_at_start)


def expected_keys(configs: Sequence[RunConfig]) -> list[str]:
    """The keys that runs would get from a process that starts now, with the code on disk."""
    part = cache(part_on_disk)  # each part is read once for all configs
    return [_key(config, expected_device(config.device), part) for config in configs]


def _key(config: RunConfig, device: str, part: Callable[[str], str]) -> str:
    canonical = config.canonical()
    fields = {name: getattr(canonical, name) for name in canonical.relevant_fields()}
    if device != "cuda":  # elsewhere there is one precision only
        fields.pop("precision", None)
    data = [dataset.version() for dataset in config.benchmark_info.datasets(config.domain_names)]
    packages = (*NETWORKS[config.network].packages, *config.benchmark_info.packages)
    decisive = {
        "config": {**fields, "modules": canonical.module_of, "device": device},
        "code": code_version(config, part),
        "data": data,
        "libraries": [part(name) for name in ("torch", "numpy", "quadprog", *packages)],
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:24]


def code_version(config: RunConfig, part: Callable[[str], str]) -> str:
    """A fingerprint of the code of the core, and of the files of this method, this benchmark and this network."""
    names = [*_shared_parts(), *parts_of_run(config)]
    return hashlib.sha256("".join(map(part, names)).encode()).hexdigest()[:12]


def parts_of_run(config: RunConfig) -> list[str]:
    """The files of this method (and of the methods that it derives from), this benchmark and this network."""
    classes = METHODS[config.method].learner.__mro__
    modules = [one.__module__ for one in classes if one.__module__.startswith("mgem_core.")]
    benchmark = BENCHMARKS[config.benchmark]
    modules += [benchmark.module or benchmark.open.__module__, NETWORKS[config.network].build.__module__]
    return ["/".join(module.split(".")[-2:]) for module in modules]


@cache
def _shared_parts() -> list[str]:
    return shared_parts()


def expected_device(wanted: str) -> str:
    """The kind of device that a run will be trained on, determined without torch, which the dashboard never imports."""
    if wanted == "auto":
        return "cuda" if _has_cuda() else "cpu"
    return wanted.partition(":")[0]


@cache
def _has_cuda() -> bool:
    """Does NVIDIA's driver find a GPU, and can this build of torch use it?"""
    if metadata.version("torch").endswith("+cpu"):
        return False
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
