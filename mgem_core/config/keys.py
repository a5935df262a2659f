"""The key of a run: equal if and only if two runs would give the same numbers. Results and checkpoints are stored with it.

It covers the config (only the fields that matter to the run), the code that decides the numbers, the versions of the
libraries and of data that has several versions, and the kind of device. Comments, docstrings and formatting of the code do
not change the key, nor do methods, benchmarks and networks that the run neither uses nor imports.
"""

import ctypes
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import NamedTuple

from mgem_core.config import RunConfig
from mgem_core.fingerprints import is_code, is_shared, part_at_start, part_on_disk, parts, parts_at_start
from mgem_core.home import data_root
from mgem_core.learners import METHODS
from mgem_core.networks import NETWORKS
from mgem_core.streams import BENCHMARKS

LIBRARIES = ("torch", "numpy", "quadprog")  # used by every run; a benchmark or network may need others


class Installed(NamedTuple):
    """The code and the libraries that a process has."""

    names: list[str]  # names of the files of code, and of the libraries that every process has
    part: Callable[[str], str]  # name → fingerprint of the file, or version of the library


def installed_at_start() -> Installed:
    """Return the code and libraries that this process runs."""
    return Installed(parts_at_start(), part_at_start)


def installed_on_disk() -> Installed:
    """Return the code and libraries that a new process would run; each file is read once."""
    return Installed(parts(), cache(part_on_disk))


class RunKey(NamedTuple):
    key: str
    code: str  # everything in the key except the config: a runner trains only runs that were requested with its own code


def run_key(config: RunConfig, device: str) -> str:
    """Return the key of a run that this process trains on this kind of device ("cpu", "cuda", "mps")."""
    return _key(config, device, _code(config, device, installed_at_start()))


def expected_keys(configs: Sequence[RunConfig]) -> list[str]:
    """Return the keys that runs would get from a new process, with the code on disk."""
    return [one.key for one in keys_to_request(configs)]


def keys_to_request(configs: Iterable[RunConfig]) -> list[RunKey]:
    """Return the same keys as `expected_keys`, each with its code."""
    installed = installed_on_disk()
    known: dict[tuple[str, ...], str] = {}  # many configs share their code
    found = []
    for config in configs:
        device = expected_device(config.device)
        fields = (config.method, config.benchmark, config.network, config.domains, device)
        if fields not in known:
            known[fields] = _code(config, device, installed)
        found.append(RunKey(_key(config, device, known[fields]), known[fields]))
    return found


def code_of_this_process(config: RunConfig) -> str:
    """Return the code with which this process, or a worker that it starts, would train a run."""
    return _code(config, expected_device(config.device), installed_at_start())


def codes_on_disk() -> Callable[[RunConfig], str]:
    """Return a function: run → the code with which a new process would train it. Each file is read once."""
    installed = installed_on_disk()
    return lambda config: _code(config, expected_device(config.device), installed)


def _key(config: RunConfig, device: str, code: str) -> str:
    canonical = config.canonical()
    fields = {name: getattr(canonical, name) for name in canonical.relevant_fields()}
    if device != "cuda":  # other devices have only one precision
        fields.pop("precision", None)
    return _digest({"config": {**fields, "modules": canonical.module_of, "device": device}, "code": code})


def _code(config: RunConfig, device: str, installed: Installed) -> str:
    """Return a fingerprint of the code, the libraries, the versions of the data, and the kind of device of a run."""
    data = [dataset.version() for dataset in config.benchmark_info.datasets(config.domain_names)]
    libraries = [installed.part(name) for name in _libraries(config)]
    return _digest({"code": code_version(config, installed), "libraries": libraries, "data": data, "device": device})


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:24]


def _libraries(config: RunConfig) -> list[str]:
    return [*LIBRARIES, *NETWORKS[config.network].packages, *config.benchmark_info.packages]


def code_version(config: RunConfig, installed: Installed) -> str:
    """Return a fingerprint of the code of the core, and of the files of this method, benchmark and network."""
    return hashlib.sha256("".join(map(installed.part, _files(config, installed))).encode()).hexdigest()[:12]


def _files(config: RunConfig, installed: Installed) -> list[str]:
    return [*filter(is_shared, installed.names), *parts_of_run(config)]


def parts_of_run(config: RunConfig) -> list[str]:
    """Return the files of the method (and of the classes that it derives from), the benchmark and the network of a run."""
    classes = METHODS[config.method].learner.__mro__
    modules = [one.__module__ for one in classes if one.__module__.startswith("mgem_core.")]
    benchmark = BENCHMARKS[config.benchmark]
    modules += [benchmark.module or benchmark.open.__module__, NETWORKS[config.network].build.__module__]
    return ["/".join(module.split(".")[-2:]) for module in modules]


# Comparing processes


def version_on_disk() -> str:
    """Return a fingerprint of all code, libraries and folders that decide what a new process would train."""
    return _version(installed_on_disk())


def version_of_this_process() -> str:
    """Return what `version_on_disk` returns, but for the code and libraries that this process runs."""
    return _version(installed_at_start())


def _version(installed: Installed) -> str:
    return _digest([_all_parts(installed), expected_device("auto"), str(data_root().resolve())])


def _all_parts(installed: Installed) -> dict[str, str]:
    of_networks = {name for network in NETWORKS.values() for name in network.packages}
    of_benchmarks = {name for benchmark in BENCHMARKS.values() for name in benchmark.packages}
    return {name: installed.part(name) for name in (*installed.names, *sorted(of_networks | of_benchmarks))}


def versions_of_this_process(config: RunConfig | None = None) -> dict[str, str]:
    """Return the fingerprints of files and the versions of libraries that this process uses: for one run, or all."""
    installed = installed_at_start()
    if config is None:
        return _all_parts(installed)
    return {name: installed.part(name) for name in (*_files(config, installed), *_libraries(config))}


def difference_from(expected: Mapping[str, str]) -> str:
    """Return the first part in which this process differs from another one, as the end of a sentence; empty if none."""
    for name, value in expected.items():
        if (ours := part_at_start(name)) != value:
            versions = f"{name} {ours or '(not installed)'} instead of {value}"
            return f"other code in mgem_core/{name}.py" if is_code(name) else versions
    return ""


def expected_device(wanted: str) -> str:
    """Return the kind of device that a run will use, determined without torch, which the dashboard never imports."""
    if wanted == "auto":
        return "cuda" if _has_cuda() else "cpu"
    return wanted.partition(":")[0]


@cache
def _has_cuda() -> bool:
    """Return whether NVIDIA's driver finds a GPU and this build of torch can use it."""
    if metadata.version("torch").endswith("+cpu"):
        return False
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
