"""A stream: base images stored once as uint8, and tasks, which are views of them that are made batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

View = Callable[[Tensor], Tensor]  # pixels [N, P], float from 0 to 1 → the pixels that a task shows [N, P]


@dataclass(frozen=True)
class Task:
    name: str
    train: NDArray[np.int64]  # indices into the stream's images
    test: NDArray[np.int64]
    view: View | None = None
    classes: tuple[int, ...] | None = None  # the logits that count, where the task descriptor selects them


@dataclass(frozen=True)
class Batch:
    """x [N, channels, height, width] float, y [N], and the logits that count (bool [classes]; None: all of them)."""

    x: Tensor
    y: Tensor
    mask: Tensor | None  # or one for each sample, bool [N, classes]

    def singles(self) -> list[Batch]:
        """A batch for each sample."""
        one_each = zip(self.x.split(1), self.y.split(1), strict=True)
        if self.mask is None or self.mask.ndim == 1:
            return [Batch(x, y, self.mask) for x, y in one_each]
        return [Batch(x, y, mask) for (x, y), mask in zip(one_each, self.mask.split(1), strict=True)]


class Stream:
    def __init__(
        self, images: np.ndarray, labels: np.ndarray, shape: tuple[int, int, int], classes: int, tasks: list[Task]
    ):
        """images [N, P] uint8, labels [N]; shape is (channels, height, width) with P numbers in all."""
        self.images, self.labels = torch.from_numpy(images), torch.from_numpy(labels)
        self.shape, self.classes, self.tasks = shape, classes, tasks

    def to(self, device: torch.device) -> Stream:
        self.images, self.labels = self.images.to(device), self.labels.to(device)
        return self

    def batch(self, task: int, indices: np.ndarray) -> Batch:
        """The images `indices` as task `task` shows them."""
        view, chosen = self.tasks[task].view, torch.as_tensor(indices, device=self.images.device)
        x = self.images[chosen].float().div_(255)
        x = view(x) if view else x
        return Batch(x.view(-1, *self.shape), self.labels[chosen], self.mask(task))

    def mask(self, task: int) -> Tensor | None:
        classes = self.tasks[task].classes
        if classes is None:
            return None
        mask = torch.zeros(self.classes, dtype=torch.bool, device=self.images.device)
        mask[list(classes)] = True
        return mask
