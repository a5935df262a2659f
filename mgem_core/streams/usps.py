"""USPS: digits of 16 × 16 pixels from envelopes. A domain of digit_five.py, in torchvision's layout under data_root()."""

import bz2
from pathlib import Path

import numpy as np

from mgem_core.home import data_root
from mgem_core.streams import Dataset, _files
from mgem_core.streams._domains import Images, Parts

SIDE, CLASSES = 16, 10
IMAGES = {"usps.bz2": 7291, "usps.t.bz2": 2007}


@_files.once_per_file
def read_file(path: Path) -> Images:
    """Read lines of a label from 1 to 10 and 256 values from −1 to 1, as 1:value, 2:value, …"""
    words = bz2.decompress(path.read_bytes()).replace(b":", b" ").split()
    table = np.array(words, dtype=np.float32).reshape(-1, 1 + 2 * SIDE**2)
    pixels = (table[:, 2::2] + 1) / 2 * 255
    return Images(pixels.astype(np.uint8).reshape(-1, SIDE, SIDE), table[:, 0].astype(np.int64) - 1)


def read() -> Parts:
    train, test = (read_file(data_root() / name) for name in IMAGES)
    return train, test


def find_damage(path: Path) -> str:
    path.stat()  # raises if the file does not exist
    try:
        labels = read_file(path).labels
    except (OSError, EOFError, ValueError) as error:  # bz2 verifies a checksum
        if isinstance(error, OSError) and error.errno:  # the disk failed, not the file
            raise
        return "it is truncated, or its checksum is wrong"
    if not np.isin(labels, range(CLASSES)).all():
        return f"it has labels that are not from 1 to {CLASSES}"
    return "" if len(labels) == IMAGES[path.name] else f"it has {len(labels)} digits, not {IMAGES[path.name]}"


def fetch() -> None:
    from torchvision.datasets import USPS

    files = {name: data_root() / name for name in IMAGES}
    _files.download("usps", lambda root: [USPS(root, train, download=True) for train in (True, False)], files)


def find_problem(thorough: bool = False) -> str:
    return _files.find_problem(data_root(), dict.fromkeys(IMAGES, find_damage if thorough else _files.exists))


def version() -> str:
    """Return a fingerprint of the files: files other than torchvision's are accepted if they have as many digits."""
    return _files.version_of(data_root() / name for name in IMAGES)


DATASET = Dataset("usps", "USPS", data_root, find_problem, fetch, "8 MB to download and on disk", version=version)
