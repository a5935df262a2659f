"""Transfer: FWD, the accuracy just after learning, against BWD, the change by later tasks; their sum is ACC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mgem_core.analysis.aggregate import View
from mgem_core.figures import Figure, PlainFigure, PrintedFigure, _latex, _points, _print, _screen, register
from mgem_core.figures._labels import Label, Place, along, free_label, obstacles_of
from mgem_core.figures._legend import draw_legend
from mgem_core.figures.page import ONE_COLUMN, Page
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import line_styles
from mgem_core.learners import shares_network

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

AT = ("bwd", "fwd")
STEPS = (0.5, 1, 2, 5, 10, 20, 50)  # possible distances between lines of equal ACC


def has_data(selection: Selection) -> bool:
    runs = [run for run, method in _points.runs_with_results(selection) if shares_network(method)]
    return selection.store.has_events(runs, "TaskLearned", _points.last_task(selection.view))


def data(selection: Selection) -> pd.DataFrame:
    reason = f"no run has learned {_points.needed_task(selection.view)} with a network that its tasks share"
    return _points.known_points(selection.points(), list(AT), selection.view, reason)


def tidy(points: pd.DataFrame, view: View) -> pd.DataFrame:
    return _points.tidy(points, view, _points.ACCURACIES)


def screen(points: pd.DataFrame, view: View) -> PlainFigure:
    """Draw a line per method with a point and error bars per strength, and dashed lines of equal ACC."""
    known, styles = _points.drawn(points, view, AT), line_styles(points)
    equal = {f"ACC {acc:g}": ends for acc, ends in equal_acc(known).items()}
    look = {"mode": "lines", "hoverinfo": "skip", "showlegend": False}
    look |= {"line": {"dash": "dash", "width": 1, "color": "#a0a0a0"}}
    traces = [
        {"type": "scatter", "x": [x for x, _ in ends], "y": [y for _, y in ends], "uid": _screen.uid(name), **look}
        for name, ends in equal.items()
    ]
    lines = _screen.lines(known, view, AT, styles)
    titles = "BWD · lost (−) or gained (+) by later tasks, points", "FWD · just after learning, %"
    return _screen.figure([*traces, *lines], *titles, list(styles), equal)


def subtitle(points: pd.DataFrame, view: View) -> str:
    return f"dashed: equal ACC · {_points.means_title(points, view)}"


def equal_acc(points: pd.DataFrame) -> dict[float, list[tuple[float, float]]]:
    """Return ACC → the two ends of the line FWD = ACC − BWD within the plot, for about four round values of ACC."""
    if points.empty:
        return {}
    x, y = ((points[at].min(), points[at].max()) for at in AT)
    box = tuple((low - 0.07 * (high - low or 1.0), high + 0.07 * (high - low or 1.0)) for low, high in (x, y))
    least, most = box[0][0] + box[1][0], box[0][1] + box[1][1]
    step = next((step for step in STEPS if (most - least) / step <= 6), STEPS[-1])
    values = np.arange(np.ceil(least / step), np.floor(most / step) + 1) * step
    return {float(acc) + 0.0: ends for acc in values if (ends := _ends_within(acc, *box))}  # + 0.0 turns −0 into 0


def _ends_within(acc: float, x: tuple[float, float], y: tuple[float, float]) -> list[tuple[float, float]]:
    """Return where the line FWD = ACC − BWD enters and leaves a box; empty if it only cuts off a corner."""
    start, end = max(x[0], acc - y[1]), min(x[1], acc - y[0])
    return [(start, acc - start), (end, acc - end)] if end - start >= 0.15 * (x[1] - x[0]) else []


@_print.printing()
def printed(points: pd.DataFrame, view: View, page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw a line per method in the order of q with error bars, and dashed lines of equal ACC."""
    figure, axes = _print.one_axes(page, "BWD  (lost or gained later, in points)", "FWD  (just after learning, in %)")
    known = _points.drawn(points, view, AT)
    handles = _print.draw_lines(axes, known, view, AT, line_styles(points))
    draw_legend(figure, handles + _draw_equal_acc(axes, page), page)
    return figure


def _draw_equal_acc(axes: Axes, page: Page) -> list[Line2D]:
    """Draw dashed lines FWD = ACC − BWD at round values of ACC, with labels where nothing else is drawn.

    Return their entry in the legend.
    """
    from matplotlib.collections import LineCollection

    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()

    def place(x: float, y: float) -> Place:
        return (x - left) / (right - left), (y - low) / (high - low)

    bars = [bar for bars in axes.collections if isinstance(bars, LineCollection) for bar in bars.get_segments()]
    paths = [*(np.asarray(line.get_xydata(), float) for line in axes.lines), *bars]
    obstacles = np.vstack([obstacles_of([place(x, y) for x, y in path], marker=4.0) for path in paths])
    labels: list[Label] = []
    drawn: list[Line2D] = []
    for acc in _print.round_numbers().tick_values(left + low, right + high):
        if not (ends := _ends_within(acc, (left, right), (low, high))):
            continue
        drawn += axes.plot(*zip(*ends, strict=True), color="#a0a0a0", lw=0.6, ls=(0, (5, 4)), zorder=1.5, label="equal ACC")
        places = along([place(*end) for end in ends])
        if label := free_label(places, (26, 8), obstacles, labels, [page.axes_size]):
            labels.append(label)
            x, y = left + label.place[0] * (right - left), low + label.place[1] * (high - low)
            look: dict[str, Any] = {"fontsize": 6, "color": "#808080", "va": "bottom", "zorder": 1.6}
            axes.annotate(f"ACC {acc:g}", (x, y), label.offset, textcoords="offset points", **look)
    axes.set(xlim=(left, right), ylim=(low, high))
    return drawn[:1]


register(
    Figure(
        *("transfer", "Transfer", data, tidy, screen, printed, _latex.accuracy_table, subtitle),
        has_data=has_data,
        has_legend=True,
        place=2,
    )
)
