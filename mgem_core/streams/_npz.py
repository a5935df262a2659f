"""Samples of datasets in .npz files: x_train and x_test [N, height, width, 3] uint8; y_train and y_test from 0 to 9."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from mgem_core.streams import _files
from mgem_core.streams._domains import Images, Parts
from mgem_core.streams._files import once_per_file

ARRAYS = ("x_train", "y_train", "x_test", "y_test")
FEWEST = 1000  # training images


@once_per_file
def read(path: Path) -> Parts:
    with np.load(path) as arrays:
        x, y, x_test, y_test = (arrays[name] for name in ARRAYS)
    return Images(x, y.astype(np.int64)), Images(x_test, y_test.astype(np.int64))


def size(path: Path) -> str:
    train, test = read(path)
    return f"a sample: {len(train.labels):,} images to train on, {len(test.labels):,} to test on"


def find_problem(path: Path, thorough: bool) -> str:
    return _files.find_problem(path.parent, {path.name: _find_damage if thorough else _files.exists})


@once_per_file
def _find_damage(path: Path) -> str:
    try:
        with np.load(path) as file:  # reading verifies a checksum
            arrays = {name: file[name] for name in ARRAYS}
    except KeyError as error:
        return f"it lacks an array: {error.args[0]}"
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError):
        return "it is truncated, or its checksum is wrong"
    for part in ("train", "test"):
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
        if x.dtype != np.uint8 or x.ndim != 4 or x.shape[3] != 3 or y.shape != x.shape[:1]:
            return f"x_{part} is not [N, height, width, 3] uint8 with a label for each image"
        if not np.isin(y, range(10)).all():
            return f"y_{part} has labels that are not from 0 to 9"
    return "" if len(arrays["y_train"]) >= FEWEST else f"it has fewer than {FEWEST:,} training images"


@once_per_file
def _checksums(path: Path) -> str:
    with zipfile.ZipFile(path) as file:
        sums = {info.filename: info.CRC for info in file.infolist()}
    return "-".join(f"{sums.get(f'{name}.npy', 0):08x}" for name in ARRAYS)


def version(path: Path) -> str:
    """Return a fingerprint of this sample of a dataset; empty if it cannot be read."""
    try:
        return _checksums(path)
    except (OSError, zipfile.BadZipFile):
        return ""
