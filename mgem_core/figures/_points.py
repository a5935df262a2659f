"""What figures share that show configurations as points: when there are any, and their columns in files."""

from collections.abc import Mapping

import pandas as pd

from mgem_core import text
from mgem_core.analysis import NO_RESULT, View
from mgem_core.errors import UsageError
from mgem_core.figures.selection import Selection

ACCURACIES = {name: name for name in ("acc", "fwd", "bwd")}  # columns of points → columns of files


def products(view: View) -> dict[str, str]:
    """The columns of the frontier."""
    return {"x": "gs_z", "y": "gt_z" if view.gradient == "full" else "batch_z"}


def error_columns(names: tuple[str, str], view: View) -> tuple[str, str] | None:
    """The columns of the error bars that the view asks for."""
    suffix = {"within": "within", "between": "sem", "none": ""}[view.errors]
    return (f"{names[0]}_{suffix}", f"{names[1]}_{suffix}") if suffix else None


def runs_with_results(selection: Selection) -> list[tuple[int, str]]:
    """Id and method of the runs that can be in a point; a run without a result only counts after a task that it learned."""
    left_out = NO_RESULT if selection.view.after is None else ()
    return [(run, method) for run, method, status in selection.candidates() if status not in left_out]


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
    frame["q"] = _strengths(points["q"])
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


def _strengths(q: pd.Series) -> pd.Series:
    """Numbers, or all of them as text if some configuration has a strength per task: a column has one type."""
    if not q.map(lambda one: isinstance(one, list)).any():
        return q.astype(float)
    return q.map(lambda one: text.strength(one) if isinstance(one, list) else None if text.is_missing(one) else str(one))
