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
REMEDIES = {"Permission denied": "allow this user to read it", NOT_UTF8: "rename it"}  # for data that exists


@dataclass(frozen=True)
class Dataset:
    """A dataset that is not part of the installation."""

    name: str  # as in `mgem data fetch NAME`
    title: str
    folder: Callable[[], Path]  # where its files belong
    # Returns why the data cannot be used, as part of a sentence ("which is not in …"), or an empty string. It must be fast,
    # because the dashboard calls it often. Called with True, it reads all files to find any that were altered.
    problem: Callable[[bool], str]
    fetch: Callable[[], None] | None  # downloads all of it or nothing; None: the user has to provide the files
    size: str  # total size, as shown by `mgem data list`
    by_hand: str = ""  # if there is no download: which files to put where, as the end of a sentence
    version: Callable[[], str] = lambda: ""  # part of the keys of runs, if the files can differ
    sample_size: Callable[[], str] = lambda: ""  # size of the sample, if only a sample is there
    # Returns which image cannot be read, as part of a sentence, or an empty string. It is slow, so only
    # `mgem data list --images` calls it.
    find_bad_image: Callable[[], str] = lambda: ""

    @property
    def remedy(self) -> str:
        """Instruction how to get the data, as the end of a sentence."""
        return f"get it with: mgem data fetch {self.name}" if self.fetch else self.by_hand

    def remedy_for(self, problem: str) -> str:
        """Return how to solve a problem with the data, as the end of a sentence."""
        return next((remedy for reason, remedy in REMEDIES.items() if problem.endswith(f"({reason})")), self.remedy)


@dataclass(frozen=True)
class Benchmark:
    name: str  # the value of the field `benchmark`
    title: str  # in menus and reports
    shape: tuple[int, int, int]  # of an image: channels, height, width
    classes: int  # outputs of the network
    train_per_task: int  # training images in the smallest task
    test_per_task: int  # test images in the largest task; only used to estimate how long runs take
    classes_per_task: int  # different labels in each task
    max_tasks: int  # the most tasks that a run can have
    defaults: Mapping[str, Any]  # required for: network, tasks, iterations, batch_size, memory
    open: Callable[..., Stream]  # (tasks, seed) → the stream; with `domains`: (tasks, seed, chosen domains)
    learning_rates: Mapping[str, float] = field(default_factory=dict)  # method → measured rate; others use the default
    dataset: Dataset | None = None  # None: built in
    packages: tuple[str, ...] = ()  # installed packages that contain its data; their versions are part of the key
    module: str = ""  # the module whose code is part of the key; default: the one that defines `open`
    largest_task: int | None = None  # training images in the largest task; None: all tasks are equally large
    # The domains that the field `domains` can name, with the data of each (None: built in). Empty: there is no choice.
    domains: Mapping[str, Dataset | None] = field(default_factory=dict)
    sample: Callable[[str, int], tuple[str, np.ndarray]] | None = None  # (domain, count) → its title, `count` images
    domain_root: Callable[[], Path] | None = None  # folder for custom domains; None: there are none

    def other_domains(self) -> list[str]:
        """Return the custom domains: folders next to those of the domains from which the seed draws."""
        root = self.domain_root() if self.domain_root else None
        found: set[str] = set()
        with suppress(OSError):  # a folder that cannot be listed has no custom domains
            found = {entry.name for entry in os.scandir(root) if entry.is_dir()} if root else set()
        return sorted(name for name in found - set(self.domains) if name in self.domains)

    def datasets(self, domains: Sequence[str] = ()) -> list[Dataset]:
        """Return the datasets that are not built in, for these domains or for all."""
        all_parts = (self.dataset, *(self.domains[name] for name in domains or self.domains))
        return list({part.name: part for part in all_parts if part}.values())

    def missing(self, domains: Sequence[str] = (), thorough: bool = False) -> str:
        """Return one sentence on what data is missing, where it should be and how to get it; empty if none is missing."""
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
