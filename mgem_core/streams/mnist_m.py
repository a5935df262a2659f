"""MNIST-M (Ganin et al. 2016): MNIST's digits on patches of photographs. A domain of digit_five.py."""

from __future__ import annotations

from pathlib import Path

from mgem_core.home import data_root
from mgem_core.streams import Dataset, _npz
from mgem_core.streams._domains import Parts

NAME = "mnist_m.npz"


def folder() -> Path:
    return data_root() / "digit-five"


def read() -> Parts:
    return _npz.read(folder() / NAME)


DATASET = Dataset(
    "mnist-m",
    "MNIST-M",
    folder,
    lambda thorough: _npz.find_problem(folder() / NAME, thorough),
    None,
    "14 MB for 5,000 + 1,000 images",
    by_hand=f"it has no download, so put a file {NAME} there with {_npz.CONTENT}, or leave out the domain",
    version=lambda: _npz.version(folder() / NAME),
)
