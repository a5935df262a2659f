"""MNIST-M (Ganin et al. 2016): MNIST's digits on patches of photographs. A domain of digit_five.py.

Uses the folder mnist_m, as packed by its authors, or else a sample of the images in digit-five/mnist_m.npz.
"""

from pathlib import Path

import numpy as np

from mgem_core.home import data_root
from mgem_core.randomness import rng
from mgem_core.streams import Dataset, _files, _npz
from mgem_core.streams._domains import Images, Parts, read_image

PARTS = {"mnist_m_train": 5000, "mnist_m_test": 1000}  # folder → the most images that are read from it
BY_HAND = "unpack mnist_m.tar.gz of its authors, which contains this folder, or leave out the domain"


def sample() -> Path:
    return data_root() / "digit-five" / "mnist_m.npz"


def has_only_sample() -> bool:
    return _files.is_there(sample()) and not _files.is_there(folder_of_authors())


def folder_of_authors() -> Path:
    return data_root() / "mnist_m"


def folder() -> Path:
    return sample().parent if has_only_sample() else folder_of_authors()


def find_problem(thorough: bool = False) -> str:
    if has_only_sample():
        return _npz.find_problem(sample(), thorough)
    check = _find_damage if thorough else _files.exists
    return _files.find_problem(folder_of_authors(), {f"{part}_labels.txt": check for part in PARTS})


def _find_damage(path: Path) -> str:
    try:
        digits = list(_labels(path).values())
    except ValueError:
        return "not every line has the name of an image and its digit"
    fewest = _npz.FEWEST if path.name.startswith("mnist_m_train") else 1
    return "" if len(digits) >= fewest else f"it has {len(digits)} lines; at least {fewest} are needed"


def _labels(path: Path) -> dict[str, int]:
    """Return the digit of each image, from lines like "00000000.png 5"."""
    pairs = (line.split() for line in path.read_text().splitlines())
    labels = {name: int(digit) for name, digit in pairs}
    if not set(labels.values()) <= set(range(10)):
        raise ValueError("a label that is not a digit")
    return labels


def read() -> Parts:
    if has_only_sample():
        return _npz.read(sample())
    train, test = map(_read_part, _label_files())
    return train, test


def _label_files() -> list[Path]:
    return [folder_of_authors() / f"{part}_labels.txt" for part in PARTS]


@_files.once_per_file
def _read_part(label_file: Path) -> Images:
    """Read a random sample of the images, the same for every seed, because reading them all takes a minute."""
    folder = label_file.with_name(label_file.name.removesuffix("_labels.txt"))
    labels = _labels(label_file)
    names = sorted(labels)
    chosen = [names[i] for i in rng(0, folder.name).permutation(len(names))[: PARTS[folder.name]]]
    pixels = np.stack([read_image(folder / name) for name in chosen])
    return Images(pixels, np.array([labels[name] for name in chosen]))


def version() -> str:
    """Return a fingerprint of the images: of the sample, or of the label files in the folder."""
    if has_only_sample():
        return _npz.version(sample())
    return _files.version_of(_label_files())


DATASET = Dataset(
    "mnist-m",
    "MNIST-M",
    folder,
    find_problem,
    None,
    "14 MB for a sample of 6,000 images",
    by_hand=BY_HAND,
    version=version,
    sample_size=lambda: _npz.size(sample()) if has_only_sample() else "",
)
