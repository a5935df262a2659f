"""Streams in which every task has images of a different domain: photographs, drawings, printed or written digits."""

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


Parts = tuple[Images, Images]  # training images, test images


def choose_domains(available: Mapping[str, Any], domains: Sequence[str], tasks: int, seed: int) -> list[str]:
    """Return the domains that a run names; if it names none, the seed draws one per task, and their order."""
    names = list(available)
    return list(domains) or [names[i] for i in rng(seed, "domains").permutation(len(names))[:tasks]]


def digit_stream(domains: Mapping[str, Digits]) -> Stream:
    """Return a stream with one task per domain. As in the paper, each domain is scaled to mean 0 and deviation 1.

    Both are measured on the training images of that domain only.
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
    """Return `count` images, evenly spaced from first to last, because some sets are sorted by label."""
    return np.asarray(images[np.linspace(0, len(images) - 1, count).astype(int)])


def read_image(path: Path, size: tuple[int, int] | None = None) -> np.ndarray:
    """Return the pixels [height, width, 3] uint8 of an image file, resized if `size` is given."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            if size:
                image.draft("RGB", (2 * size[0], 2 * size[1]))  # decodes a large JPEG at about the needed size
            colours = image.convert("RGB")
    except image_errors() as error:
        sentence = f"{path} is not an image that can be read ({error}); replace it or remove it."
        raise UsageError(without_surrogates(sentence)) from None
    return np.asarray(colours.resize(size, Image.Resampling.BILINEAR) if size else colours)


def image_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that PIL raises for a file that is missing, damaged or not an image."""
    from PIL import Image

    return OSError, SyntaxError, ValueError, Image.DecompressionBombError


def as_digits(images: Iterable[np.ndarray]) -> np.ndarray:
    """Convert grey [H, W] or coloured [H, W, 3] uint8 images of any size to grey images of MNIST's size, [N, 784] uint8."""
    from PIL import Image

    size, bilinear = (SIDE, SIDE), Image.Resampling.BILINEAR
    return np.stack([np.asarray(Image.fromarray(one).convert("L").resize(size, bilinear)).ravel() for one in images])
