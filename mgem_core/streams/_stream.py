"""A stream: base images stored once as uint8, and tasks, which are views of them computed batch by batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mgem_core.randomness import rng

MADE_AT_ONCE = 1000  # images of a set that is cached
MOST_CACHED = 10_000  # images at most; a set of MNIST's 60,000 would take the place of six test sets
CACHE_BYTES = 400_000_000  # 12 test sets of MNIST; a run of 20 tasks then takes about 1.3 GB in total
View = Callable[[Tensor], Tensor]  # pixels [N, P], float from 0 to 1 → the pixels that a task shows [N, P]


@dataclass(frozen=True)
class Task:
    name: str
    train: NDArray[np.int64]  # indices into the stream's images
    test: NDArray[np.int64]
    view: View | None = None
    classes: tuple[int, ...] | None = None  # the logits of this task; None: all of them
    validation: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))  # images held out of `train`


@dataclass(frozen=True)
class Batch:
    """Images x [N, channels, height, width] float, labels y [N], and a mask of the task's logits (bool [classes])."""

    x: Tensor
    y: Tensor
    mask: Tensor | None  # None: all logits; or a mask per sample, bool [N, classes]

    def chunks(self, size: int) -> Iterator[Batch]:
        """Yield parts of up to `size` samples; the mask must be the same for all."""
        for x, y in zip(self.x.split(size), self.y.split(size), strict=True):
            yield Batch(x, y, self.mask)

    def singles(self) -> list[Batch]:
        """Return a batch for each sample."""
        one_each = zip(self.x.split(1), self.y.split(1), strict=True)
        if self.mask is None or self.mask.ndim == 1:
            return [Batch(x, y, self.mask) for x, y in one_each]
        return [Batch(x, y, mask) for (x, y), mask in zip(one_each, self.mask.split(1), strict=True)]


class Stream:
    def __init__(
        self, images: np.ndarray, labels: np.ndarray, shape: tuple[int, int, int], classes: int, tasks: list[Task]
    ):
        """Take images [N, P] uint8 and labels [N]; `shape` is (channels, height, width), whose product is P."""
        self.images, self.labels = torch.from_numpy(images), torch.from_numpy(labels)
        self.shape, self.classes, self.tasks = shape, classes, tasks
        self._masks: dict[int, Tensor | None] = {}
        self._cache: dict[tuple[int, str], Batch] = {}

    @property
    def device(self) -> torch.device:
        return self.images.device

    def to(self, device: torch.device) -> Stream:
        self.images, self.labels = self.images.to(device), self.labels.to(device)
        self._masks, self._cache = {}, {}
        return self

    def shuffle(self, seed: int) -> Stream:
        """Put the tasks in a random order, like the option `shuffle_tasks` of GEM's code."""
        self.tasks = [self.tasks[t] for t in rng(seed, "order of tasks").permutation(len(self.tasks))]
        return self

    def hold_out(self, share: float, seed: int) -> Stream:
        """Move this fraction of every task's training images to its validation set.

        Tasks with different views of the same images hold out the same ones, so that no task trains on them.
        """
        self.tasks = [_with_validation(task, share, seed) for task in self.tasks] if share else self.tasks
        return self

    def batch(self, task: int, indices: np.ndarray) -> Batch:
        """Return the images `indices` as task `task` shows them."""
        view, chosen = self.tasks[task].view, torch.as_tensor(indices, device=self.device)
        x = self.images[chosen].float().div_(255)
        x = view(x) if view else x
        return Batch(x.view(-1, *self.shape), self.labels[chosen], self.mask(task))

    def passes(self, task: int, part: str, indices: np.ndarray, size: int) -> Iterator[Batch]:
        """Yield batches of up to `size` images of one part of a task ("test", …), a set that is needed repeatedly.

        Sets are cached as floats while they fit in CACHE_BYTES. None is dropped for another: sets are needed in turn, so
        both would have to be computed again.
        """
        cached = self._cache.get((task, part)) or self._new_set(task, part, len(indices))
        for start in range(0, len(indices), size):
            chosen = slice(start, start + size)
            if cached is None:
                yield self.batch(task, indices[chosen])
                continue
            if (task, part) not in self._cache:
                made = self.batch(task, indices[chosen])
                cached.x[chosen], cached.y[chosen] = made.x, made.y
            yield Batch(cached.x[chosen], cached.y[chosen], cached.mask)
        if cached is not None:
            self._cache[task, part] = cached

    def sample(self, task: int, part: str, places: NDArray[np.int64]) -> Batch:
        """Return the images at these places of a part of a task. All images of a small part are cached for later calls."""
        indices = getattr(self.tasks[task], part)
        if (task, part) not in self._cache and len(indices) <= MOST_CACHED and self._new_set(task, part, len(indices)):
            for _ in self.passes(task, part, indices, MADE_AT_ONCE):
                pass
        if (cached := self._cache.get((task, part))) is None:
            return self.batch(task, indices[places])
        chosen = torch.as_tensor(places, device=self.device)
        return Batch(cached.x[chosen], cached.y[chosen], cached.mask)

    def _new_set(self, task: int, part: str, images: int) -> Batch | None:
        """Allocate an empty set of images; return None if it does not fit into the cache."""
        size = 4 * math.prod(self.shape)
        if sum(size * len(batch.y) for batch in self._cache.values()) + size * images > CACHE_BYTES:
            return None
        x = torch.empty(images, *self.shape, device=self.device)
        return Batch(x, self.labels.new_empty(images), self.mask(task))

    def mask(self, task: int) -> Tensor | None:
        if task not in self._masks:
            classes = self.tasks[task].classes
            if classes is None:
                self._masks[task] = None
            else:
                shown = np.isin(np.arange(self.classes), classes)
                self._masks[task] = torch.from_numpy(shown).to(self.device)
        return self._masks[task]


def _with_validation(task: Task, share: float, seed: int) -> Task:
    is_held_out = np.zeros(len(task.train), bool)
    is_held_out[rng(seed, "validation").permutation(len(task.train))[: round(share * len(task.train))]] = True
    return replace(task, train=task.train[~is_held_out], validation=task.train[is_held_out])
