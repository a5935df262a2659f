"""Code shared by printed figures: as wide as one or two columns, with embedded fonts, and reproducible to the byte."""

from __future__ import annotations

import io
import textwrap
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pandas as pd

from mgem_core.analysis.aggregate import View, by_strength
from mgem_core.figures._points import error_column, is_hollow, seed_lines
from mgem_core.figures.page import Page
from mgem_core.figures.style import LineStyle, marker_growth, of_family

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

LETTERS = 22  # of a title that fit in an inch
SMALLEST = 4.5  # size of the smallest numbers in cells, in points; narrower cells have none
TITLE_ROW = 0.115  # height of a row of the title, in inches
METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}  # no dates: equal figures give equal files
SETTINGS: dict[Any, Any] = {
    **{"pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "mgem", "savefig.dpi": 300},
    **{"font.family": ["STIXGeneral", "DejaVu Sans"], "mathtext.fontset": "stix", "font.size": 8, "axes.titlesize": 8},
    **{"axes.labelsize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7, "legend.fontsize": 7},
    **{"axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "lines.markersize": 4.5},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#404040"},
}
_lock = threading.RLock()  # matplotlib's settings and font caches are shared by all threads


@contextmanager
def printing() -> Iterator[None]:
    """Use our matplotlib settings, in one thread at a time; every function that draws runs inside it."""
    import matplotlib

    with _lock, matplotlib.rc_context(SETTINGS):
        yield


@printing()
def as_bytes(figure: Figure, format: str) -> bytes:
    """Return the figure as a png (300 dpi), svg or pdf file; equal figures give equal bytes."""
    file = io.BytesIO()
    figure.savefig(file, format=format, metadata=METADATA[format])
    return file.getvalue()


def one_axes(page: Page, x: str, y: str) -> tuple[Figure, Axes]:
    """Return a figure as wide as the page with empty axes that have these titles."""
    from matplotlib.figure import Figure

    figure = Figure((page.width, page.height), layout="constrained")
    axes = figure.add_subplot(xlabel=x, ylabel=y)
    axes.grid(color="#ececec", lw=0.5)
    axes.set_axisbelow(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(round_numbers())
    return figure, axes


def draw_title(figure: Figure, page: Page, *lines: str) -> None:
    """Write lines above the axes, and make the figure higher by their height."""
    title = "\n".join(textwrap.fill(line, round(LETTERS * page.width)) for line in lines)
    figure.suptitle(title, fontsize=7)
    figure.set_figheight(figure.get_figheight() + TITLE_ROW * (1 + title.count("\n")))


def round_numbers() -> MaxNLocator:
    """Return a locator for about six ticks at round numbers."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(6, steps=[1, 2, 5, 10])


def draw_lines(
    axes: Axes, points: pd.DataFrame, view: View, at: tuple[str, str], styles: Mapping[str, LineStyle]
) -> list[Line2D]:
    """Draw every line of points in these two columns, with the view's error bars and hollow markers where not final.

    Return the entries of the legend.
    """
    from matplotlib.lines import Line2D

    handles = []
    rows_of = {line: by_strength(points[points["line"] == line]) for line in styles if (points["line"] == line).any()}
    for line, rows in rows_of.items():
        color, _, linestyle = styles[line]
        marker = of_family(rows["family"].iloc[0]).marker
        x, y = rows[list(at)].to_numpy(float).T
        axes.plot(x, y, color=color, linestyle=linestyle, lw=1.1, zorder=2.2)
        faces = ["white" if hollow else color for hollow in is_hollow(rows)]
        sizes = [(4.5 * factor) ** 2 for factor in marker_growth(len(rows))]
        axes.scatter(x, y, sizes, faces, marker=marker, edgecolors=color, linewidths=0.8, zorder=2.3)
        joined = linestyle if len(rows) > 1 else "none"
        handles.append(Line2D([], [], color=color, ls=joined, lw=1.1, marker=marker, label=line))
        if view.errors == "seeds":
            for places in seed_lines(rows.to_dict("records"), at):
                axes.plot(*zip(*places, strict=True), color=color, lw=0.6, alpha=0.3, zorder=2.1, label="_seed")
    if any(is_hollow(rows).any() for rows in rows_of.values()):
        hollow: dict[str, Any] = {"mfc": "white", "mec": "#404040", "mew": 0.8}
        handles.append(Line2D([], [], ls="none", marker="o", label="hollow: not final", **hollow))
    columns = [error_column(name, view) for name in at]
    for line, rows in rows_of.items() if any(columns) else ():
        dx, dy = (rows[column].to_numpy(float) if column else None for column in columns)
        look: dict[str, Any] = {"fmt": "none", "ecolor": styles[line].color, "alpha": 0.4, "elinewidth": 0.7, "zorder": 2.1}
        x, y = rows[list(at)].to_numpy(float).T
        axes.errorbar(x, y, dy, dx, **look)
    return handles
