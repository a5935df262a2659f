"""Views: functions that turn base images into the images of a task."""

import numpy as np
import torch
from torch import Tensor

from mgem_core.streams._stream import View


def permuted(permutation: np.ndarray) -> View:
    """Return a view that shows pixel permutation[i] at position i."""
    index = torch.from_numpy(permutation)

    def view(x: Tensor) -> Tensor:
        nonlocal index
        index = index.to(x.device)  # copied once
        return x.index_select(1, index)

    return view


def rotated(degrees: float, side: int) -> View:
    """Return a view that rotates side × side images anticlockwise, with bilinear interpolation and a black outside."""
    index, weight = _bilinear_rotation(degrees, side)

    def view(x: Tensor) -> Tensor:
        nonlocal index, weight
        index, weight = index.to(x.device), weight.to(x.device)  # copied once
        corners = zip(index, weight, strict=True)
        return torch.stack([x.index_select(1, i).mul_(w) for i, w in corners]).sum(0)

    return view


def standardised(mean: float, deviation: float) -> View:
    """Return a view that maps pixels of this mean and standard deviation to mean 0 and standard deviation 1."""
    return lambda x: (x - mean) / deviation


def _bilinear_rotation(degrees: float, side: int) -> tuple[Tensor, Tensor]:
    """Return the four source pixels of every target pixel, index [4, side²], and their weights [4, side²]."""
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
