"""The paper's MNIST benchmarks: all 70,000 digits, in torchvision's layout under data_root()."""

import math
import os
import struct
from functools import cache, partial
from pathlib import Path

import numpy as np

from mgem_core.home import data_root
from mgem_core.streams import Dataset, _files
from mgem_core.streams._digits import SIDE, Digits, register_permutations_and_rotations

TRAIN, TEST = 60_000, 10_000
MD5 = {  # checksums of the unpacked files; torchvision has those of the packed files, from which these come
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}


def folder() -> Path:
    return data_root() / "MNIST" / "raw"


def files() -> dict[str, tuple[int, ...]]:
    """Return the shape of the content of each file: training images, test images, and the labels of both."""
    images = {"train-images-idx3-ubyte": (TRAIN, SIDE, SIDE), "t10k-images-idx3-ubyte": (TEST, SIDE, SIDE)}
    return {**images, "train-labels-idx1-ubyte": (TRAIN,), "t10k-labels-idx1-ubyte": (TEST,)}


def header(shape: tuple[int, ...]) -> bytes:
    """Return the header of an idx file of unsigned bytes: 0x800 + number of dimensions, then each dimension."""
    return struct.pack(f">{1 + len(shape)}i", 0x800 + len(shape), *shape)


def find_problem(thorough: bool = False) -> str:
    checks = {name: partial(_find_damage, shape) for name, shape in files().items()}
    sums = {name: _files.has_md5(md5) for name, md5 in MD5.items()}
    return _files.find_problem(folder(), checks) or (_files.find_problem(folder(), sums) if thorough else "")


def _find_damage(shape: tuple[int, ...], path: Path) -> str:
    expected = header(shape)
    expected_size = len(expected) + math.prod(shape)
    with path.open("rb") as file:
        has_header, size = file.read(len(expected)) == expected, os.fstat(file.fileno()).st_size
        labels = file.read(expected_size) if len(shape) == 1 else b""
    if size != expected_size:
        return f"it has {size} bytes, not {expected_size}"
    if not has_header:
        return f"it does not begin with the header of {shape[0]} digits"
    return f"it has the label {max(labels)}, but labels must be from 0 to 9" if labels and max(labels) > 9 else ""


def fetch() -> None:
    from torchvision.datasets import MNIST

    places = {f"MNIST/raw/{name}": folder() / name for name in files()}
    _files.download("MNIST", lambda root: MNIST(root, download=True), places)


@cache
def read_files(raw: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read images [70000, 784] uint8 and labels [70000], the training images first; once per process."""
    train, test, *labels = (
        np.fromfile(raw / name, np.uint8, offset=len(header(shape))).reshape(shape[0], -1)
        for name, shape in files().items()
    )
    return np.concatenate([train, test]), np.concatenate(labels).ravel().astype(np.int64)


def load_digits() -> Digits:
    """Load MNIST with its own training and test images."""
    return Digits(*read_files(folder()), np.arange(TRAIN), np.arange(TRAIN, TRAIN + TEST))


DATASET = Dataset("mnist", "MNIST", folder, find_problem, fetch, "12 MB to download, 55 MB on disk")
_PAPER = {"network": "mlp", "tasks": 20, "iterations": 500, "batch_size": 10, "memory": 256, "probe_every": 25}
# Chosen on held-out images with seed 0, at the paper's scale (docs/reproduction.md has the accuracies, also for each of the
# two benchmarks alone). Of the rates that were tried, the default, 0.1, is best for GEM and independent.
_RATES = {"single": 0.003, "ewc": 0.01, "mer": 0.03}

register_permutations_and_rotations(
    "mnist",
    "",
    load_digits,
    train_per_task=TRAIN,
    test_per_task=TEST,
    defaults=_PAPER,
    learning_rates=_RATES,
    dataset=DATASET,
)
