"""Digit-Five: MNIST, MNIST-M, Synthetic Digits (rendered by us), SVHN and USPS, each a task of up to 5,000 digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mgem_core.randomness import rng
from mgem_core.streams import Benchmark, Dataset, _npz, mnist, mnist_m, register, svhn, usps
from mgem_core.streams._digits import CLASSES, SHAPE, Digits
from mgem_core.streams._domains import Images, Parts, as_digits, choose_domains, digit_stream, spread
from mgem_core.streams._rendered import PACKAGES, render_digits

if TYPE_CHECKING:
    import numpy as np

    from mgem_core.streams._stream import Stream

TRAIN, TEST = 5000, 1000  # images per domain; all images of a smaller domain


class Domain(NamedTuple):
    title: str
    read: Callable[[], Parts]
    dataset: Dataset | None = None


def read_mnist() -> Parts:
    images, labels = mnist.read_files(mnist.folder())
    return _split(images, labels, mnist.TRAIN)


def read_rendered() -> Parts:
    return _split(*render_digits(TRAIN + TEST), TRAIN)


def _split(images: np.ndarray, labels: np.ndarray, train: int) -> Parts:
    pixels = images.reshape(-1, *SHAPE[1:])
    return Images(pixels[:train], labels[:train]), Images(pixels[train:], labels[train:])


DOMAINS = {
    "mnist": Domain("MNIST", read_mnist, mnist.DATASET),
    "mnist-m": Domain("MNIST-M", mnist_m.read, mnist_m.DATASET),
    "synthetic": Domain("Synthetic Digits (our rendering)", read_rendered),
    "svhn": Domain("SVHN", svhn.read, svhn.DATASET),
    "usps": Domain("USPS", usps.read, usps.DATASET),
}


def open_stream(tasks: int, seed: int, domains: Sequence[str]) -> Stream:
    """Return one task per domain; all share the ten logits. The name of a domain with fewer than 5,000 images says so."""
    return digit_stream(dict(_load(name, seed) for name in choose_domains(DOMAINS, domains, tasks, seed)))


def _load(name: str, seed: int) -> tuple[str, Digits]:
    """Return the title of a domain, and the images that the seed draws from it."""
    import numpy as np

    domain, place = DOMAINS[name], list(DOMAINS).index(name)
    train, test = (
        _draw(part, count, rng(seed, f"digit-five {kind}", place))
        for kind, part, count in zip(("train", "test"), domain.read(), (TRAIN, TEST), strict=True)
    )
    count, total = len(train.labels), len(train.labels) + len(test.labels)
    images, labels = (np.concatenate(pair) for pair in zip(train, test, strict=True))
    title = domain.title if count == TRAIN else f"{domain.title} ({count:,} images)"
    return title, Digits(images, labels, np.arange(count), np.arange(count, total))


def _draw(part: Images, count: int, generator: np.random.Generator) -> Images:
    chosen = generator.permutation(len(part.labels))[:count]
    return Images(as_digits(part.pixels[chosen]), part.labels[chosen])


def sample(domain: str, count: int) -> tuple[str, np.ndarray]:
    return DOMAINS[domain].title, spread(DOMAINS[domain].read()[0].pixels, count)


# The paper trains for 20 epochs of 5,000 images and does not give the size of the memory.
# The learning rate is the default, 0.1. Accuracy on held-out images with seed 0, 5 tasks × 40 steps of 64 images, at 0.01 /
# 0.03 / 0.1 / 0.3: single 37.8 / 42.7 / 64.8 / 50.2, GEM at strength 0.3 47.0 / 51.2 / 69.9 / 67.4, independent at the last
# three 38.8 / 46.9 / 43.9. Other methods were not searched.
_PAPER = {"network": "digits-cnn", "tasks": 5, "iterations": 390, "batch_size": 256, "memory": 64}

register(
    Benchmark(
        name="digit-five",
        title="Digit-Five",
        shape=SHAPE,
        classes=CLASSES,
        train_per_task=_npz.FEWEST,
        test_per_task=TEST,
        classes_per_task=CLASSES,
        max_tasks=len(DOMAINS),
        defaults=_PAPER,
        open=open_stream,
        packages=PACKAGES,
        largest_task=TRAIN,
        domains={name: domain.dataset for name, domain in DOMAINS.items()},
        sample=sample,
    )
)
