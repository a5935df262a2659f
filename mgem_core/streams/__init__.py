"""Where tasks come from. A new benchmark is one new file here that calls `register` with plain data."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mgem_core.streams._stream import Stream


@dataclass(frozen=True)
class Benchmark:
    name: str
    title: str
    classes: int  # outputs of the network
    train_per_task: int  # training images in the smallest task
    classes_per_task: int
    max_tasks: int
    defaults: Mapping[str, Any]  # network, tasks, iterations, batch_size, memory
    open: Callable[[int, int], Stream]  # (tasks, seed) → the stream
    learning_rates: Mapping[str, float] = field(default_factory=dict)  # per method, found by measurement


BENCHMARKS: dict[str, Benchmark] = {}


def register(benchmark: Benchmark) -> None:
    BENCHMARKS[benchmark.name] = benchmark


for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")
