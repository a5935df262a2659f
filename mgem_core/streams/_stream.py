"""A stream: base images held once as uint8, and tasks that are views of them, made for a batch when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mgem_core.randomness import rng

View = Callable[[Tensor], Tensor]  # pixels [N, P] as float in 0…1 → what this task shows of them [N, P]


@dataclass(frozen=True)
class Task:
    name: str
    train: NDArray[np.int64]  # indices into the stream's images
    test: NDArray[np.int64]
    view: View | None = None
    classes: tuple[int, ...] | None = None  # the logits that count, where the task descriptor selects them


@dataclass(frozen=True)
class Batch:
    """x [N, channels, height, width] float, y [N], and the logits that count (bool [classes], or None for all)."""

    x: Tensor
    y: Tensor
    mask: Tensor | None


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


def permutations(train: np.ndarray, test: np.ndarray, side: int, tasks: int, seed: int) -> list[Task]:
    """Every task shows the same images under a pixel permutation of its own."""
    views = [permuted(rng(seed, "permutation", t).permutation(side * side)) for t in range(tasks)]
    return [Task(f"permutation {t + 1}", train, test, view) for t, view in enumerate(views)]


def rotations(train: np.ndarray, test: np.ndarray, side: int, tasks: int, seed: int) -> list[Task]:
    """Task t turns the same images by an angle drawn in its own share of 0–180°."""
    angles = [180 * (t + rng(seed, "rotation", t).random()) / tasks for t in range(tasks)]
    return [Task(f"{angle:.0f}°", train, test, rotated(angle, side)) for angle in angles]


def permuted(permutation: np.ndarray) -> View:
    """Show pixel permutation[i] at place i."""
    index = torch.from_numpy(permutation)
    return lambda x: x.index_select(1, index.to(x.device))


def rotated(degrees: float, side: int) -> View:
    """Turn side × side images anticlockwise about their centre: each pixel is a bilinear mean of four, outside is black."""
    index, weight = _rotation(degrees, side)

    def view(x: Tensor) -> Tensor:
        corners = zip(index.to(x.device), weight.to(x.device), strict=True)
        return torch.stack([x.index_select(1, i).mul_(w) for i, w in corners]).sum(0)

    return view


def _rotation(degrees: float, side: int) -> tuple[Tensor, Tensor]:
    """For every target pixel its four source pixels, index [4, side²], and what each contributes, weight [4, side²]."""
    angle, centre = np.deg2rad(degrees), (side - 1) / 2
    rows, columns = np.mgrid[:side, :side] - centre
    source_row = np.cos(angle) * rows + np.sin(angle) * columns + centre
    source_column = -np.sin(angle) * rows + np.cos(angle) * columns + centre
    index, weight = [], []
    for down in (0, 1):
        for right in (0, 1):
            row, column = np.floor(source_row).astype(int) + down, np.floor(source_column).astype(int) + right
            share = (1 - np.abs(source_row - row)) * (1 - np.abs(source_column - column))
            inside = (row >= 0) & (row < side) & (column >= 0) & (column < side)
            index.append(np.where(inside, row * side + column, 0).ravel())
            weight.append(np.where(inside, share, 0.0).ravel())
    return torch.from_numpy(np.stack(index)), torch.from_numpy(np.stack(weight)).float()
