"""Figure 5 of the paper: images of the domains of Digit-Five, DomainNet and similar benchmarks whose data is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mgem_core.figures import _print
from mgem_core.streams import BENCHMARKS
from mgem_core.streams._files import unreadable

if TYPE_CHECKING:
    import matplotlib.figure

COUNT = 8  # images per domain
GAP = 2  # width of the white gap between two images, in pixels
FORMATS = ("png", "svg", "pdf")


class Strip(NamedTuple):
    """Some images of a domain, side by side."""

    benchmark: str  # title of the benchmark
    domain: str  # title of the domain
    pixels: np.ndarray  # [height, width, 3] uint8


def strips() -> list[Strip]:
    """Return a strip for every domain whose data is installed."""
    try:
        return [
            Strip(benchmark.title, title, _side_by_side(images))
            for benchmark in BENCHMARKS.values()
            if benchmark.sample
            for domain in benchmark.domains
            if not benchmark.missing([domain])
            for title, images in [benchmark.sample(domain, COUNT)]
        ]
    except OSError as error:
        raise unreadable(error.filename, error) from None


def _side_by_side(images: np.ndarray) -> np.ndarray:
    """Join images [N, height, width] or [N, height, width, 3] into one colour image."""
    coloured = images if images.ndim == 4 else np.repeat(images[..., None], 3, axis=3)
    gap = np.full((coloured.shape[1], GAP, 3), 255, np.uint8)
    parts = [part for image in coloured for part in (image, gap)]
    return np.concatenate(parts[:-1], axis=1)


@_print.printing()
def printed() -> matplotlib.figure.Figure:
    """Draw a row per domain, below the title of its benchmark."""
    from matplotlib.figure import Figure

    found = strips()
    figure = Figure((_print.COLUMN, 0.5 * len(found)), layout="constrained")
    before = ""
    for number, strip in enumerate(found, 1):
        axes = figure.add_subplot(len(found), 1, number)
        axes.imshow(strip.pixels)
        axes.axis("off")
        title = strip.domain if strip.benchmark == before else f"{strip.benchmark}: {strip.domain}"
        axes.set_title(title, loc="left", pad=2)
        before = strip.benchmark
    return figure


def as_file(format: str) -> bytes:
    return _print.as_bytes(printed(), format)
