"""What figures share that show configurations as points: when there are any, and their columns in files."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from mgem_core import text
from mgem_core.analysis.aggregate import MEASURES, NO_RESULT, View, seeds_in_words
from mgem_core.errors import UsageError
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import error_title

ACCURACIES = {name: name for name in ("acc", "fwd", "bwd")}  # columns of points → columns of files


def products(view: View) -> dict[str, str]:
    """The columns of the frontier."""
    return {"x": "gs_z", "y": "gt_z" if view.gradient == "full" else "batch_z"}


def error_column(name: str, view: View) -> str | None:
    """The column of this measure's error bars that the view asks for."""
    suffix = {"within": "within", "between": "sem"}.get(view.errors)
    return f"{name}_{suffix}" if suffix and name in MEASURES else None


def comparable(points: pd.DataFrame, at: Sequence[str]) -> pd.DataFrame:
    """The points that are known at these columns.

    Accuracies after fewer tasks are left out as long as their runs go on: they would be compared with those after more.
    """
    known = points.dropna(subset=list(at))
    if set(at) & set(ACCURACIES):
        known = known[(known["learned"] == known["learned"].max()) | (known["active"] == 0)]
    return known


def drawn(points: pd.DataFrame, view: View, at: Sequence[str]) -> pd.DataFrame:
    """The points that a plot shows: those that are comparable at these columns, without those that the view hides."""
    known = comparable(points, at)
    return known[known["front"]] if view.hide_dominated and points["front"].any() else known


def means_title(points: pd.DataFrame, view: View) -> str:
    """Over which seeds the means are, and what the error bars show; one seed has none."""
    errors = error_title(view) if (points["seeds"] > 1).any() else ""
    return ", ".join(filter(None, [seeds_in_words(points), errors]))


def is_hollow(points: pd.DataFrame) -> pd.Series:
    """Points that are not final: their runs go on, or their means are not over the seeds that others have, too."""
    return (points["active"] > 0) | ~points["is_shared"].astype(bool)


def seed_lines(rows: Sequence[Mapping[str, Any]], at: tuple[str, str]) -> list[list[tuple[float, float]]]:
    """A line per seed through its own values at these columns, given the points of a line in their order."""
    seeds = sorted({seed for row in rows for seed in row["by_seed"]})
    places = [
        [tuple(row["by_seed"][seed].get(name, row[name]) for name in at) for row in rows if seed in row["by_seed"]]
        for seed in seeds
    ]
    return [[(x, y) for x, y in line if x == x and y == y] for line in places]


def runs_with_results(selection: Selection) -> list[tuple[int, str]]:
    """Id and method of the runs that can be in a point; a run without a result only counts after a task that it learned."""
    left_out = NO_RESULT if selection.view.after is None else ()
    return [(run, method) for run, method, status in selection.candidates() if status not in left_out]


def has_data(data: Callable[[Selection], pd.DataFrame], selection: Selection) -> bool:
    """Whether a figure has data, where only computing it can tell."""
    try:
        data(selection)
    except UsageError:
        return False
    return True


def last_task(view: View) -> int:
    """The task, counted from 0, that a run must have learned to be in a view."""
    return 0 if view.after is None else view.after - 1


def known_points(points: pd.DataFrame, needed: list[str], view: View, reason: str) -> pd.DataFrame:
    """The points; a UsageError with the reason if none of them has all the needed columns."""
    if points[needed].isna().any(axis=1).all():
        when = "yet" if view.after is None else f"after task {view.after}"
        raise UsageError(f"nothing to show {when}: {reason}.")
    return points


def tidy(points: pd.DataFrame, view: View, measures: Mapping[str, str]) -> pd.DataFrame:
    """The points with these measures, named for readers of files, and nothing rounded."""
    has_products = "x" in measures
    frame = points[["key", "benchmark", "line"]].set_axis(["configuration", "benchmark", "method"], axis=1)
    frame["q"] = strengths(points["q"])
    if has_products:
        frame["axes"] = view.axes
        frame["pair"] = "mean" if view.pair is None else f"{view.pair[0] + 1},{view.pair[1] + 1}"
    for old, new in measures.items():
        for suffix in ("", "_std", "_sem", "_within"):
            frame[new + suffix] = points[old + suffix]
    if has_products:
        frame["on_front"] = points["front"]
    counts = ["runs", "finished", "active", "failed"]
    frame[counts] = points[counts]
    return frame


def strengths(q: pd.Series) -> pd.Series:
    """Numbers, or all of them as text if some configuration has a strength per task: a column has one type."""
    if not q.map(lambda one: isinstance(one, list)).any():
        return q.astype(float)
    return q.map(lambda one: text.strength(one) if isinstance(one, list) else None if text.is_missing(one) else str(one))
