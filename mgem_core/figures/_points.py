"""Code shared by the figures that show configurations as points: which points there are, and their columns in files."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from mgem_core import text
from mgem_core.analysis.aggregate import NO_RESULT, RESULTS, View, seeds_in_words
from mgem_core.errors import UsageError
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import error_title
from mgem_core.metrics import MEASURES

ACCURACIES = {name: name for name in MEASURES}  # columns of points → columns of files


def products(view: View) -> dict[str, str]:
    """Return the columns of the frontier and their names in files."""
    return {"x": "gs_z", "y": "gt_z" if view.gradient == "full" else "batch_z"}


def error_column(name: str, view: View) -> str | None:
    """Return the column with this measure's error bars in the view; None without error bars."""
    suffix = {"within": "within", "between": "sem"}.get(view.errors)
    return f"{name}_{suffix}" if suffix and name in RESULTS else None


def comparable(points: pd.DataFrame, at: Sequence[str]) -> pd.DataFrame:
    """Return the points with known values in these columns.

    While runs go on, accuracies after fewer tasks are left out, because they cannot be compared with those after more.
    """
    known = points.dropna(subset=list(at))
    if set(at) & set(ACCURACIES):
        known = known[(known["learned"] == known["learned"].max()) | (known["active"] == 0)]
    return known


def drawn(points: pd.DataFrame, view: View, at: Sequence[str]) -> pd.DataFrame:
    """Return the points that a plot shows: comparable in these columns, and not hidden by the view."""
    known = comparable(points, at)
    return known[known["front"]] if view.hide_dominated and points["front"].any() else known


def means_title(points: pd.DataFrame, view: View) -> str:
    """Describe the seeds of the means and the error bars; a single seed has no error bars."""
    errors = error_title(view) if (points["seeds"] > 1).any() else ""
    return ", ".join(filter(None, [seeds_in_words(points), errors]))


def is_hollow(points: pd.DataFrame) -> pd.Series:
    """Mark the points that are not final: runs go on, or the mean is not over shared seeds."""
    return (points["active"] > 0) | ~points["is_shared"].astype(bool)


def seed_lines(rows: Sequence[Mapping[str, Any]], at: tuple[str, str]) -> list[list[tuple[float, float]]]:
    """Return one line per seed through its values in these columns, given the points of a line in their order."""
    seeds = sorted({seed for row in rows for seed in row["by_seed"]})
    places = [
        [tuple(row["by_seed"][seed].get(name, row[name]) for name in at) for row in rows if seed in row["by_seed"]]
        for seed in seeds
    ]
    return [[(x, y) for x, y in line if x == x and y == y] for line in places]


def runs_with_results(selection: Selection) -> list[tuple[int, str]]:
    """Return id and method of the runs that can be part of a point.

    A run that ended without a result counts only in views after a task that it learned.
    """
    left_out = NO_RESULT if selection.view.after is None else ()
    return [(run, method) for run, method, status in selection.candidates() if status not in left_out]


def new_task(view: View) -> int:
    """Return the current task of the view's pair, counted from 0; of all pairs, the first."""
    return view.pair[1] if view.pair else 1


def runs_of_pair(selection: Selection) -> list[int]:
    """Return the runs that can have measured the view's pair of tasks."""
    view = selection.view
    if view.after is not None and new_task(view) >= view.after:
        return []
    return [run for run, _ in runs_with_results(selection)]


def last_task(view: View) -> int:
    """Return the task, counted from 0, that a run must have learned to be shown in a view."""
    return 0 if view.after is None else view.after - 1


def needed_task(view: View) -> str:
    """Name the task that a run must have learned to be shown in a view, for reasons such as "no run has learned …"."""
    return "its first task" if view.after is None else f"task {view.after}"


def pair_text(view: View) -> str:
    return "mean" if view.pair is None else f"{view.pair[0] + 1},{view.pair[1] + 1}"


def check_pair(view: View, tasks: int) -> None:
    """Raise a UsageError if runs of this many tasks do not have the view's pair."""
    if view.pair is not None and not 0 <= view.pair[0] < view.pair[1] < tasks:
        allowed = f"S,T with 1 ≤ S < T ≤ {tasks}, the number of tasks, or mean"
        raise UsageError(f"pair is {pair_text(view)!r}; it must be {allowed}.")


def number_of_seeds(counts: pd.Series) -> str:
    """Describe numbers of seeds, such as "5 seeds" or "3 to 5 seeds"."""
    fewest, most = int(counts.min()), int(counts.max())
    return f"{fewest} to {text.pluralize(most, 'seed')}" if fewest < most else text.pluralize(most, "seed")


def known_points(points: pd.DataFrame, needed: list[str], view: View, reason: str) -> pd.DataFrame:
    """Return the points; raise a UsageError with the reason if none has all needed columns."""
    if points[needed].isna().any(axis=1).all():
        when = "yet" if view.after is None else f"after task {view.after}"
        raise UsageError(f"nothing to show {when}: {reason}.")
    return points


def tidy(points: pd.DataFrame, view: View, measures: Mapping[str, str]) -> pd.DataFrame:
    """Return the points for a file: these measures under readable names, nothing rounded."""
    has_products = "x" in measures
    frame = points[["key", "benchmark", "line"]].set_axis(["configuration", "benchmark", "method"], axis=1)
    frame["q"] = strengths(points["q"])
    if has_products:
        frame["axes"] = view.axes
        frame["pair"] = pair_text(view)
    for old, new in measures.items():
        for suffix in ("", "_std", "_sem", "_within"):
            frame[new + suffix] = points[old + suffix]
    if has_products:
        frame["on_front"] = points["front"]
    counts = ["runs", "finished", "active", "failed"]
    frame[counts] = points[counts]
    return frame


def strengths(q: pd.Series) -> pd.Series:
    """Return strengths as numbers, or all as text if a configuration has strengths per task: a column has one type."""
    if not q.map(lambda one: isinstance(one, list)).any():
        return q.astype(float)
    return q.map(lambda one: text.strength(one) if isinstance(one, list) else None if text.is_missing(one) else str(one))
