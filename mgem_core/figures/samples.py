"""Figure 5 of the paper: images of the domains of Digit-Five, DomainNet and similar benchmarks whose data is installed."""

from typing import NamedTuple

import numpy as np

from mgem_core.figures import PrintedFigure, _print
from mgem_core.figures.page import LATEX_FIGURE, ONE_COLUMN, PICTURES, Page
from mgem_core.streams import BENCHMARKS
from mgem_core.streams._files import unreadable

COUNT = 8  # images per domain
GAP = 2  # width of the white gap between two images, in pixels
FORMATS = (*PICTURES, LATEX_FIGURE)


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


def installed_domains() -> list[tuple[str, list[str], list[str]]]:
    """Return for each benchmark with domains its title, the domains whose data is installed, and all of them."""
    return [
        (benchmark.title, [one for one in benchmark.domains if not benchmark.missing([one])], [*benchmark.domains])
        for benchmark in BENCHMARKS.values()
        if benchmark.sample
    ]


def _side_by_side(images: np.ndarray) -> np.ndarray:
    """Join images [N, height, width] or [N, height, width, 3] into one colour image."""
    coloured = images if images.ndim == 4 else np.repeat(images[..., None], 3, axis=3)
    gap = np.full((coloured.shape[1], GAP, 3), 255, np.uint8)
    parts = [part for image in coloured for part in (image, gap)]
    return np.concatenate(parts[:-1], axis=1)


@_print.printing()
def printed(page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw a strip per domain, below the title of its benchmark, in as many columns as the page has."""
    from matplotlib.figure import Figure

    found = strips()
    rows = -(-len(found) // page.columns)
    figure = Figure((page.width, 0.5 * rows), layout="constrained")
    before = ""
    for number, strip in enumerate(found):
        column, row = divmod(number, rows)
        axes = figure.add_subplot(rows, page.columns, row * page.columns + column + 1, anchor="W")
        axes.imshow(strip.pixels)
        axes.axis("off")
        title = strip.domain if strip.benchmark == before else f"{strip.benchmark}: {strip.domain}"
        axes.set_title(title, loc="left", pad=2)
        before = strip.benchmark
    return figure


def as_file(format: str, page: Page = ONE_COLUMN) -> bytes:
    return _print.as_bytes(printed(page), format)
