"""The benchmarks. A new one is one new file here that calls `register` with a description.

Importing a file must not import torch, because the dashboard works without it: benchmarks import it inside functions.
Files whose names begin with an underscore are shared by the others and register nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mgem_core.streams._stream import Stream


@dataclass(frozen=True)
class Dataset:
    """Data that does not come with the installation; `mgem data fetch` downloads it."""

    name: str  # in `mgem data fetch NAME`
    title: str
    folder: Callable[[], Path]  # where it belongs
    problem: Callable[[], str]  # why it cannot be used, as part of a sentence ("which is not in …"); empty if it can
    fetch: Callable[[], None]  # download it, completely or not at all


@dataclass(frozen=True)
class Benchmark:
    name: str  # as the user writes it
    title: str  # in menus and reports
    shape: tuple[int, int, int]  # of an image: channels, height, width
    classes: int  # outputs of the network
    train_per_task: int  # training images in the smallest task
    test_per_task: int  # test images in the largest task; it only serves to estimate how long runs take
    classes_per_task: int  # different labels in each task
    max_tasks: int  # that a run may ask for
    defaults: Mapping[str, Any]  # of these five fields of a run, all needed: network, tasks, iterations, batch_size, memory
    open: Callable[[int, int], Stream]  # (tasks, seed) → the stream
    learning_rates: Mapping[str, float] = field(default_factory=dict)  # method → rate, measured; others get the default
    dataset: Dataset | None = None  # None: built in
    packages: tuple[str, ...] = ()  # installed packages that contain its data: their versions are part of the key
    module: str = ""  # the module whose code is part of the key; by default the one that defines `open`

    def missing(self) -> str:
        """Empty if the data is there; else one sentence: what is missing, where it should be, which command gets it."""
        if self.dataset is None or not (problem := self.dataset.problem()):
            return ""
        return f"{self.name} needs {self.dataset.title}, {problem}; get it with: mgem data fetch {self.dataset.name}."


BENCHMARKS: dict[str, Benchmark] = {}


def register(benchmark: Benchmark) -> None:
    BENCHMARKS[benchmark.name] = benchmark


for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")

for _benchmark in sorted(BENCHMARKS.values(), key=lambda benchmark: benchmark.dataset is not None):
    BENCHMARKS[_benchmark.name] = BENCHMARKS.pop(_benchmark.name)  # built-in benchmarks come first
