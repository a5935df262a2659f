"""Split CIFAR100, the paper's benchmark for convolutions, from the files of torchvision's layout under data_root()."""

from __future__ import annotations

import pickle
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mgem_core.home import data_root
from mgem_core.streams import Benchmark, Dataset, _files, register

if TYPE_CHECKING:
    from mgem_core.streams._stream import Stream

SHAPE, CLASSES = (3, 32, 32), 100
TRAIN_PER_CLASS, TEST_PER_CLASS = 500, 100
SIZES = {"train": 155_249_918, "test": 31_049_707}
MD5 = {"train": "16019d7e3df5f24257cddd939b257f8d", "test": "f0ef6b0ae62326f3e7ffdfab6717acfc"}  # from torchvision


def folder() -> Path:
    return data_root() / "cifar-100-python"


def find_problem(thorough: bool = False) -> str:
    sizes = {name: _files.has_size(size) for name, size in SIZES.items()}
    sums = {name: _files.has_md5(md5) for name, md5 in MD5.items()}
    return _files.find_problem(folder(), sizes) or (_files.find_problem(folder(), sums) if thorough else "")


def fetch() -> None:
    from torchvision.datasets import CIFAR100

    files = {f"cifar-100-python/{name}": folder() / name for name in (*MD5, "meta")}  # only torchvision needs meta
    _files.download("cifar-100-python", lambda root: CIFAR100(root, download=True), files)


@cache
def read_files(folder: Path) -> tuple[np.ndarray, np.ndarray, int]:
    """Read images [60000, 3072] uint8, labels [60000], and the number of training images, which come first.

    Unpickling can run any code, so the file must have passed its check.
    """
    train, test = (pickle.loads((folder / name).read_bytes(), encoding="latin1") for name in MD5)
    images = np.concatenate([train["data"], test["data"]])
    labels = np.concatenate([train["fine_labels"], test["fine_labels"]]).astype(np.int64)
    return images, labels, len(train["data"])


def open_stream(per_task: int, tasks: int, seed: int) -> Stream:
    """Return a stream whose tasks distinguish `per_task` classes each, in CIFAR's order, as in GEM's code."""
    from mgem_core.streams._stream import Stream, Task

    images, labels, train = read_files(folder())

    def task_of(classes: tuple[int, ...]) -> Task:
        indices = np.flatnonzero(np.isin(labels, classes))
        name = f"classes {classes[0]}–{classes[-1]}"
        return Task(name, indices[indices < train], indices[indices >= train], classes=classes)

    starts = range(0, tasks * per_task, per_task)
    return Stream(images, labels, SHAPE, CLASSES, [task_of(tuple(range(i, i + per_task))) for i in starts])


_DATASET = Dataset("cifar100", "CIFAR-100", folder, find_problem, fetch, "169 MB to download, 186 MB on disk")
_PAPER = {"network": "conv5", "tasks": 20, "iterations": 100, "batch_size": 25, "memory": 64}
# Chosen on held-out images with seed 0, 2 tasks × 100 steps. Accuracy at 0.003 / 0.01 / 0.03 / 0.1: single 57.0 / 53.4 /
# 50.8 / 47.8, GEM at strength 0.3 61.4 / 64.8 / 51.2 / 54.0. Other methods use GEM's rate and were not searched.
_RATES = {"single": 0.003, **dict.fromkeys(("gem", "agem", "er", "ewc", "mer", "independent"), 0.01)}

for _name, _per_task in (("split-cifar100", 5), ("split-cifar100-10", 10)):
    _tasks = CLASSES // _per_task
    register(
        Benchmark(
            name=_name,
            title=f"Split CIFAR100 ({_tasks} × {_per_task} classes)",
            shape=SHAPE,
            classes=CLASSES,
            train_per_task=_per_task * TRAIN_PER_CLASS,
            test_per_task=_per_task * TEST_PER_CLASS,
            classes_per_task=_per_task,
            max_tasks=_tasks,
            defaults={**_PAPER, "tasks": _tasks},
            open=partial(open_stream, _per_task),
            module=__name__,
            learning_rates=_RATES,
            dataset=_DATASET,
        )
    )
