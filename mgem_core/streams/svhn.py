"""SVHN (Netzer et al. 2011): photographed house numbers. A domain of digit_five.py.

Uses the files that torchvision downloads, or, if there are none, a sample of the images in digit-five/svhn.npz.
"""

from functools import cache
from pathlib import Path

import numpy as np

from mgem_core.home import data_root
from mgem_core.streams import Dataset, _files, _npz
from mgem_core.streams._domains import Images, Parts

MD5 = {"train_32x32.mat": "e26dedcc434d2e4c54c9b2d4a06d8373", "test_32x32.mat": "eb5a983be6a315427106f1b164d9cef3"}


def sample() -> Path:
    return data_root() / "digit-five" / "svhn.npz"


def has_only_sample() -> bool:
    return _files.is_there(sample()) and not any(_files.is_there(data_root() / name) for name in MD5)


def folder() -> Path:
    return sample().parent if has_only_sample() else data_root()


def find_problem(thorough: bool = False) -> str:
    if has_only_sample():
        return _npz.find_problem(sample(), thorough)
    checks = {name: _files.has_md5(md5) if thorough else _files.exists for name, md5 in MD5.items()}
    return _files.find_problem(data_root(), checks)


def fetch() -> None:
    from torchvision.datasets import SVHN

    files = {name: data_root() / name for name in MD5}
    _files.download("svhn", lambda root: [SVHN(root, split, download=True) for split in ("train", "test")], files)


def read() -> Parts:
    if has_only_sample():
        return _npz.read(sample())
    train, test = (_read_file(data_root() / name) for name in MD5)
    return train, test


@cache
def _read_file(path: Path) -> Images:
    from scipy.io import loadmat

    content = loadmat(path)  # X [32, 32, 3, N], and y, where 10 is the digit 0
    return Images(content["X"].transpose(3, 0, 1, 2), content["y"].ravel().astype(np.int64) % 10)


DATASET = Dataset(
    "svhn",
    "SVHN",
    folder,
    find_problem,
    fetch,
    "246 MB to download and on disk",
    version=lambda: _npz.version(sample()) if has_only_sample() else "whole",
    sample_size=lambda: _npz.size(sample()) if has_only_sample() else "",
)
