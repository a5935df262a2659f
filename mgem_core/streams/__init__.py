"""The benchmarks. A new one is one new file here that calls `register` with a description.

Importing a file must not import torch, because the dashboard works without it: benchmarks import it inside functions.
Files whose names begin with an underscore are shared by the others and register nothing.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mgem_core.text import without_surrogates

if TYPE_CHECKING:
    import numpy as np

    from mgem_core.streams._stream import Stream

NOT_UTF8 = "its name is not UTF-8"
REMEDIES = {"Permission denied": "allow this user to read it", NOT_UTF8: "rename it"}  # of data that is here


@dataclass(frozen=True)
class Dataset:
    """Data that does not come with the installation."""

    name: str  # in `mgem data fetch NAME`
    title: str
    folder: Callable[[], Path]  # where it belongs
    # Why it cannot be used, as part of a sentence ("which is not in …"); empty if it can. It must answer at once, as the
    # dashboard asks again and again; called with True, it reads everything to find what was altered.
    problem: Callable[[bool], str]
    fetch: Callable[[], None] | None  # download it, completely or not at all; None: it has to be brought by hand
    size: str  # of all of it, in `mgem data list`
    by_hand: str = ""  # where there is no download: what to put where, as the end of a sentence
    version: Callable[[], str] = lambda: ""  # part of the keys of runs, where files of that name may differ
    sample_size: Callable[[], str] = lambda: ""  # where only a sample of it is here: how large that is
    # Which image cannot be read, as part of a sentence; empty if all can. It may take long, so nobody asks but
    # `mgem data list --images`.
    find_bad_image: Callable[[], str] = lambda: ""

    @property
    def remedy(self) -> str:
        """How to get it, as the end of a sentence."""
        return f"get it with: mgem data fetch {self.name}" if self.fetch else self.by_hand

    def remedy_for(self, problem: str) -> str:
        """How to solve this problem with it, as the end of a sentence."""
        return next((remedy for reason, remedy in REMEDIES.items() if problem.endswith(f"({reason})")), self.remedy)


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
    open: Callable[..., Stream]  # (tasks, seed) → the stream; where there are `domains`, (tasks, seed, the chosen ones)
    learning_rates: Mapping[str, float] = field(default_factory=dict)  # method → rate, measured; others get the default
    dataset: Dataset | None = None  # None: built in
    packages: tuple[str, ...] = ()  # installed packages that contain its data: their versions are part of the key
    module: str = ""  # the module whose code is part of the key; by default the one that defines `open`
    largest_task: int | None = None  # training images in the largest task; None: all are as large as the smallest
    # What the field `domains` of a run may name, and the data of each; None: built in. Empty: there is no such choice.
    domains: Mapping[str, Dataset | None] = field(default_factory=dict)
    sample: Callable[[str, int], tuple[str, np.ndarray]] | None = None  # (domain, count) → its title, so many of its images
    domain_root: Callable[[], Path] | None = None  # where the folder of any other domain belongs; None: there are no others

    def other_domains(self) -> list[str]:
        """The folders that someone put beside those of the domains from which the seed draws."""
        root = self.domain_root() if self.domain_root else None
        found: set[str] = set()
        with suppress(OSError):  # where nothing can be listed, nothing is offered
            found = {entry.name for entry in os.scandir(root) if entry.is_dir()} if root else set()
        return sorted(name for name in found - set(self.domains) if name in self.domains)

    def datasets(self, domains: Sequence[str] = ()) -> list[Dataset]:
        """The data that is not built in: of these domains, or of all."""
        all_parts = (self.dataset, *(self.domains[name] for name in domains or self.domains))
        return list({part.name: part for part in all_parts if part}.values())

    def missing(self, domains: Sequence[str] = (), thorough: bool = False) -> str:
        """Empty if the data is there; else one sentence: what is missing, where it should be, how to get it."""
        for dataset in self.datasets(domains):
            if problem := dataset.problem(thorough):
                return without_surrogates(f"{self.name} needs {dataset.title}, {problem}; {dataset.remedy_for(problem)}.")
        return ""


BENCHMARKS: dict[str, Benchmark] = {}


def register(benchmark: Benchmark) -> None:
    BENCHMARKS[benchmark.name] = benchmark


for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")

# In menus, built-in benchmarks come first, and those whose tasks are domains after the others.
for _benchmark in sorted(BENCHMARKS.values(), key=lambda benchmark: (bool(benchmark.datasets()), bool(benchmark.domains))):
    BENCHMARKS[_benchmark.name] = BENCHMARKS.pop(_benchmark.name)
