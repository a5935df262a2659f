"""Transfer: BWD against FWD, what later tasks change against the accuracy just after learning; their sum is ACC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mgem_core.analysis import View
from mgem_core.figures import Figure, PlainFigure, _latex, _points, _print, _screen, register
from mgem_core.figures.selection import Selection
from mgem_core.learners import shares_network

if TYPE_CHECKING:
    import matplotlib.figure
    from matplotlib.axes import Axes

AT = ("bwd", "fwd")
STEPS = (0.5, 1, 2, 5, 10, 20, 50)  # between lines of equal ACC


def is_available(selection: Selection) -> bool:
    runs = [run for run, method in _points.runs_with_results(selection) if shares_network(method)]
    return selection.store.has_events(runs, "TaskLearned", _points.last_task(selection.view))


def data(selection: Selection) -> pd.DataFrame:
    learned = "its first task" if selection.view.after is None else "that many"
    reason = f"no run has learned {learned} with a network that its tasks share"
    return _points.known_points(selection.points(), list(AT), selection.view, reason)


def tidy(points: pd.DataFrame, view: View) -> pd.DataFrame:
    return _points.tidy(points, view, _points.ACCURACIES)


def screen(points: pd.DataFrame, view: View, marked: Sequence[str] = ()) -> PlainFigure:
    """A line per method, a point per strength with error bars, and dashed lines of equal ACC."""
    known = points.dropna(subset=list(AT))
    look = {
        **{"type": "scatter", "mode": "lines+text", "textposition": "bottom right", "hoverinfo": "skip"},
        **{"showlegend": False, "textfont": {"size": 10, "color": "#808080"}},
        "line": {"dash": "dash", "width": 1, "color": "#a0a0a0"},
    }
    equal = [
        {"x": [x for x, _ in ends], "y": [y for _, y in ends], "text": [f"ACC {acc:g}", ""], **look}
        | {"uid": _screen.uid(f"acc{acc:g}")}
        for acc, ends in equal_acc(known).items()
    ]
    lines = _screen.lines(known, view, AT, _points.error_columns(AT, view), marked)
    titles = "BWD · lost (−) or gained (+) by later tasks, points", "FWD · just after learning, %"
    return _screen.figure([*equal, *lines], *titles)


def equal_acc(points: pd.DataFrame) -> dict[float, list[tuple[float, float]]]:
    """ACC → the two ends of the line FWD = ACC − BWD within the picture of the points, for about four round values."""
    if points.empty:
        return {}
    x, y = ((points[at].min(), points[at].max()) for at in AT)
    box = tuple((low - 0.07 * (high - low or 1.0), high + 0.07 * (high - low or 1.0)) for low, high in (x, y))
    least, most = box[0][0] + box[1][0], box[0][1] + box[1][1]
    step = next((step for step in STEPS if (most - least) / step <= 6), STEPS[-1])
    values = np.arange(np.ceil(least / step), np.floor(most / step) + 1) * step
    return {float(acc): ends for acc in values if (ends := _ends_within(acc, *box))}


def _ends_within(acc: float, x: tuple[float, float], y: tuple[float, float]) -> list[tuple[float, float]]:
    """Where the line FWD = ACC − BWD enters and leaves a box; nothing if it only cuts off a corner."""
    start, end = max(x[0], acc - y[1]), min(x[1], acc - y[0])
    return [(start, acc - start), (end, acc - end)] if end - start >= 0.15 * (x[1] - x[0]) else []


@_print.printing()
def printed(points: pd.DataFrame, view: View) -> matplotlib.figure.Figure:
    """A line per method in the order of q, error bars, and dashed lines of equal ACC."""
    figure, axes = _print.one_column("BWD  (lost or gained later, in points)", "FWD  (just after learning, in %)")
    handles = _print.draw_lines(axes, points.dropna(subset=list(AT)), AT, _points.error_columns(AT, view))
    _draw_equal_acc(axes)
    _print.draw_legend(figure, handles)
    return figure


def _draw_equal_acc(axes: Axes) -> None:
    """Dashed lines FWD = ACC − BWD at round values of ACC, named where they enter the picture."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    for acc in _print.round_numbers().tick_values(left + low, right + high):
        if not (ends := _ends_within(acc, (left, right), (low, high))):
            continue
        axes.plot(*zip(*ends, strict=True), color="#a0a0a0", lw=0.6, ls=(0, (5, 4)), zorder=1.5)
        at = ends[0][0] + 0.02 * (right - left)
        name = axes.text(at, acc - at, f"ACC {acc:g}", fontsize=6, color="#808080", va="bottom", zorder=1.6)
        name.set(rotation=-45, rotation_mode="anchor", transform_rotates_text=True)
    axes.set(xlim=(left, right), ylim=(low, high))


register(
    Figure(
        name="transfer",
        title="Transfer",
        is_available=is_available,
        data=data,
        tidy=tidy,
        screen=screen,
        printed=printed,
        latex=_latex.accuracy_table,
    )
)
