"""Two benchmarks that can be made from any set of MNIST digits: permutations and rotations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mgem_core.randomness import rng
from mgem_core.streams import Benchmark, register

if TYPE_CHECKING:
    from mgem_core.streams._stream import Stream, Task

SIDE = 28  # pixels
SHAPE = (1, SIDE, SIDE)
CLASSES = 10


class Digits(NamedTuple):
    images: np.ndarray  # [N, 784] uint8
    labels: np.ndarray  # [N]
    train: np.ndarray  # indices of the images to train on
    test: np.ndarray  # indices of the images to test on


TaskMaker = Callable[[Digits, int, int], "list[Task]"]  # (digits, number of tasks, seed) → the tasks


def register_permutations_and_rotations(name: str, title: str, load: Callable[[], Digits], **description: Any) -> None:
    """Register the benchmarks `name`-permutations and `name`-rotations; `title` describes the set of digits.

    `load` must be defined in the file that calls this function, so that its code is part of the keys of runs.
    """
    for kind, make_tasks in (("permutations", _permutations), ("rotations", _rotations)):
        register(
            Benchmark(
                name=f"{name}-{kind}",
                title=f"MNIST {kind.capitalize()}{title}",
                shape=SHAPE,
                classes=CLASSES,
                classes_per_task=CLASSES,
                max_tasks=100,
                open=partial(_open, load, make_tasks),
                module=load.__module__,
                **description,
            )
        )


def make_stream(digits: Digits, tasks: list[Task]) -> Stream:
    from mgem_core.streams._stream import Stream

    return Stream(digits.images, digits.labels, SHAPE, CLASSES, tasks)


def _open(load: Callable[[], Digits], make_tasks: TaskMaker, tasks: int, seed: int) -> Stream:
    digits = load()
    return make_stream(digits, make_tasks(digits, tasks, seed))


def _permutations(digits: Digits, tasks: int, seed: int) -> list[Task]:
    """Return tasks that show the same images, each with its own permutation of the pixels."""
    from mgem_core.streams._stream import Task
    from mgem_core.streams._views import permuted

    views = [permuted(rng(seed, "permutation", t).permutation(SIDE * SIDE)) for t in range(tasks)]
    return [Task(f"permutation {t + 1}", digits.train, digits.test, view) for t, view in enumerate(views)]


def _rotations(digits: Digits, tasks: int, seed: int) -> list[Task]:
    """Return tasks that rotate the images; task t draws its angle from the t-th of equal intervals of a half turn."""
    from mgem_core.streams._stream import Task
    from mgem_core.streams._views import rotated

    angles = [180 * (t + rng(seed, "rotation", t).random()) / tasks for t in range(tasks)]
    return [Task(f"{angle:.0f}°", digits.train, digits.test, rotated(angle, SIDE)) for angle in angles]
