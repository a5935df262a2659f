"""The numbers of `data` as matplotlib figures for papers: one column wide, fonts embedded, the same bytes every time."""

import io
import textwrap
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from mgem_core.analysis import View, by_strength
from mgem_core.figures.style import ENVELOPE, axis_titles_tex, dash, of_family

COLUMN, TEXT_WIDTH, HEIGHT = 3.5, 7.0, 2.8  # inches
LEGEND_ROW = 0.125  # inches that a row of the legend takes
DENSE = 10  # tasks up to which a heat map has its numbers written into it
UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
SETTINGS: dict[Any, Any] = {
    **{"pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "mgem", "savefig.dpi": 300},
    **{"font.family": ["STIXGeneral", "DejaVu Sans"], "mathtext.fontset": "stix", "font.size": 8, "axes.titlesize": 8},
    **{"axes.labelsize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7, "legend.fontsize": 7},
    **{"axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "lines.markersize": 4.5},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#404040"},
}
_lock = threading.RLock()  # matplotlib's settings and font caches are shared by all threads


@contextmanager
def _printing() -> Iterator[None]:
    with _lock, matplotlib.rc_context(SETTINGS):
        yield


def as_bytes(figure: Figure, format: str) -> bytes:
    """The figure as a png (300 dpi), svg or pdf file: equal figures give equal bytes."""
    file = io.BytesIO()
    with _printing():
        figure.savefig(file, format=format, metadata=UNDATED[format])
    return file.getvalue()


@_printing()
def frontier(points: pd.DataFrame, view: View) -> Figure:
    """⟨g_s,z⟩ against ⟨g_t,z⟩: a line per method in the order of q, standard errors, and the envelope of all."""
    known = points.dropna(subset=["x", "y"])
    best = known[known["front"]].sort_values("x")
    figure, axes = _page(*axis_titles_tex(view))
    envelope = axes.plot(best["x"], best["y"], color="#808080", lw=3.5, solid_capstyle="round", zorder=2, label=ENVELOPE)
    _legend(figure, _lines(axes, known, ("x", "y"), ("x_sem", "y_sem")) + envelope)
    return figure


@_printing()
def transfer(points: pd.DataFrame, view: View) -> Figure:
    """BWD against FWD: a line per method in the order of q, standard deviations, and dashed lines of equal ACC."""
    known = points.dropna(subset=["bwd", "fwd"])
    figure, axes = _page("BWD  (lost or gained later, in points)", "FWD  (just after learning, in %)")
    handles = _lines(axes, known, ("bwd", "fwd"), ("bwd_std", "fwd_std"))
    _equal_acc(axes)
    _legend(figure, handles)
    return figure


def _page(x: str, y: str) -> tuple[Figure, Axes]:
    figure = Figure((COLUMN, HEIGHT), layout="constrained")
    axes = figure.add_subplot(xlabel=x, ylabel=y)
    axes.grid(color="#ececec", lw=0.5)
    axes.set_axisbelow(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    return figure, axes


def _lines(axes: Axes, points: pd.DataFrame, at: tuple[str, str], errors: tuple[str, str]) -> list[Line2D]:
    """Draw every line, hollow where runs go on; its legend entries."""
    dashes, handles = dash(points), []
    for line, own in points.groupby("line", sort=False):
        own = by_strength(own)
        style, linestyle = of_family(own["family"].iloc[0]), dashes[line][1]
        (x, y), (dx, dy) = (own[list(names)].to_numpy(float).T for names in (at, errors))
        axes.errorbar(x, y, dy, dx, fmt="none", ecolor=style.color, alpha=0.3, elinewidth=0.7, zorder=2.1)
        axes.plot(x, y, color=style.color, linestyle=linestyle, lw=1.1, zorder=2.2)
        for active in (False, True):
            here = (own["active"] > 0).to_numpy() == active
            face = "white" if active else style.color
            axes.plot(x[here], y[here], style.marker, mfc=face, mec=style.color, mew=0.8, zorder=2.3)
        shown = linestyle if len(own) > 1 else "none"
        handles.append(Line2D([], [], color=style.color, ls=shown, lw=1.1, marker=style.marker, label=line))
    return handles


def _legend(figure: Figure, handles: list[Line2D]) -> None:
    """Below the axes; the page grows where there are more than three rows of it."""
    longest = max((len(str(handle.get_label())) for handle in handles), default=0)
    columns = 3 if longest <= 20 else 2 if longest <= 32 else 1
    rows = -(-len(handles) // columns)
    figure.set_figheight(HEIGHT + LEGEND_ROW * max(0, rows - 3))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, frameon=False, handlelength=2.4, columnspacing=1.2
    )


def _equal_acc(axes: Axes) -> None:
    """Dashed lines FWD = ACC − BWD at round values of ACC, named where they enter the picture."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    for acc in MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(left + low, right + high):
        start, end = max(left, acc - high), min(right, acc - low)  # where it is within the axes
        if end - start < 0.15 * (right - left):
            continue
        axes.plot([start, end], [acc - start, acc - end], color="#a0a0a0", lw=0.6, ls=(0, (5, 4)), zorder=1.5)
        at = start + 0.02 * (right - left)
        name = axes.text(at, acc - at, f"ACC {acc:g}", fontsize=6, color="#808080", va="bottom", zorder=1.6)
        name.set(rotation=-45, rotation_mode="anchor", transform_rotates_text=True)
    axes.set(xlim=(left, right), ylim=(low, high))


@_printing()
def matrices(named: Mapping[str, np.ndarray], title: str = "") -> Figure:
    """R as heat maps on one scale: row i, column j is the accuracy on task j after task i, in percent."""
    tasks = max(R.shape[1] for R in named.values())
    columns = min(4 if tasks <= 5 else 3, len(named))
    rows = -(-len(named) // columns)
    width = COLUMN if columns <= 2 else TEXT_WIDTH
    panel = (width - 1) / columns  # labels and the scale take an inch
    figure = Figure((width, 0.4 + rows * (panel + 0.34)), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    if title:
        figure.suptitle(title, fontsize=8)
    every = np.concatenate([R.ravel() for R in named.values()])
    low, high = np.nanmin(every), np.nanmax(every)
    for axes, (name, R) in zip(grid.flat, named.items(), strict=False):
        image = axes.imshow(R, cmap="viridis", vmin=low, vmax=high, interpolation="nearest")
        axes.set_title(textwrap.fill(name, round(24 * panel)), fontsize=7)
        _ticks(axes, R)
        if tasks <= DENSE:
            _numbers(axes, R, (low + high) / 2, size=min(7.0, 0.42 * 72 * panel / tasks))
    for axes in grid.flat[len(named) :]:
        axes.set_visible(False)
    figure.supxlabel("accuracy on task $j$", fontsize=8)
    figure.supylabel("after task $i$", fontsize=8)
    bar = figure.colorbar(image, ax=grid, label="accuracy (%)", fraction=0.05, aspect=25)
    bar.outline.set_visible(False)
    return figure


def _ticks(axes: Axes, R: np.ndarray) -> None:
    """Tasks are counted from 1."""
    for axis, count in ((axes.xaxis, R.shape[1]), (axes.yaxis, R.shape[0])):
        places = range(0, count, -(-count // DENSE))
        axis.set_ticks(places, [f"{place + 1}" for place in places])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _numbers(axes: Axes, R: np.ndarray, middle: float, size: float) -> None:
    """Percents in the cells."""
    for (i, j), value in np.ndenumerate(R):
        if not np.isnan(value):
            color = "white" if value < middle else "black"
            whole = f"{np.floor(value + 0.5):.0f}"  # 72.5 is 73, as plotly has it on the screen
            axes.text(j, i, whole, ha="center", va="center", fontsize=size, color=color, in_layout=False)
