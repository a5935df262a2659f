"""Streams in which every task has images of another domain: photographs, drawings, printed or written digits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mgem_core.errors import UsageError
from mgem_core.randomness import rng
from mgem_core.streams._digits import CLASSES, SHAPE, SIDE, Digits
from mgem_core.text import without_surrogates

if TYPE_CHECKING:
    from mgem_core.streams._stream import Stream, Task


class Images(NamedTuple):
    """Images [N, H, W] or [N, H, W, 3] uint8 of any size, and their labels [N]."""

    pixels: np.ndarray
    labels: np.ndarray


Parts = tuple[Images, Images]  # to train on, and to test on


def choose_domains(available: Mapping[str, Any], domains: Sequence[str], tasks: int, seed: int) -> list[str]:
    """The domains that a run names; if it names none, as many as it has tasks, in an order drawn with its seed."""
    names = list(available)
    return list(domains) or [names[i] for i in rng(seed, "domains").permutation(len(names))[:tasks]]


def digit_stream(domains: Mapping[str, Digits]) -> Stream:
    """A task per domain, by its title; as the paper says, the pixels of each have mean 0 and standard deviation 1.

    Both are measured on the training images of that domain alone.
    """
    from mgem_core.streams._stream import Stream, Task
    from mgem_core.streams._views import standardised

    tasks: list[Task] = []
    start = 0
    for title, digits in domains.items():
        pixels = digits.images[digits.train] / 255
        view = standardised(float(pixels.mean()), float(pixels.std()))
        tasks.append(Task(title, start + digits.train, start + digits.test, view))
        start += len(digits.images)
    images = np.concatenate([digits.images for digits in domains.values()])
    labels = np.concatenate([digits.labels for digits in domains.values()])
    return Stream(images, labels, SHAPE, CLASSES, tasks)


def spread(images: np.ndarray, count: int) -> np.ndarray:
    """So many of the images, evenly from first to last: some sets are in the order of their labels."""
    return np.asarray(images[np.linspace(0, len(images) - 1, count).astype(int)])


def read_image(path: Path, size: tuple[int, int] | None = None) -> np.ndarray:
    """The pixels [height, width, 3] uint8 of an image in a file, of that size if one is given."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            if size:
                image.draft("RGB", (2 * size[0], 2 * size[1]))  # a large JPEG is decoded at about the size that is needed
            colours = image.convert("RGB")
    except image_errors() as error:
        sentence = f"{path} is not an image that can be read ({error}); replace it or remove it."
        raise UsageError(without_surrogates(sentence)) from None
    return np.asarray(colours.resize(size, Image.Resampling.BILINEAR) if size else colours)


def image_errors() -> tuple[type[Exception], ...]:
    """What PIL raises for a file that is missing, damaged or no image."""
    from PIL import Image

    return OSError, SyntaxError, ValueError, Image.DecompressionBombError


def as_digits(images: Iterable[np.ndarray]) -> np.ndarray:
    """Grey [H, W] or coloured [H, W, 3] uint8 images of any size → [N, 784] uint8: grey, and as large as MNIST's."""
    from PIL import Image

    size, bilinear = (SIDE, SIDE), Image.Resampling.BILINEAR
    return np.stack([np.asarray(Image.fromarray(one).convert("L").resize(size, bilinear)).ravel() for one in images])
