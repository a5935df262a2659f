"""The table: all results of each configuration."""

import pandas as pd

from mgem_core.analysis.aggregate import View, by_line
from mgem_core.figures import Figure, _latex, _points, register
from mgem_core.figures.selection import Selection


def has_data(selection: Selection) -> bool:
    runs = [run for run, _ in _points.runs_with_results(selection)]
    return selection.store.has_events(runs, "TaskLearned", _points.last_task(selection.view))


def data(selection: Selection) -> pd.DataFrame:
    view = selection.view
    reason = f"no run has learned {_points.needed_task(view)}"
    points = selection.best_points()[0] if view.strengths == "validation" else selection.points()
    return by_line(_points.known_points(points, ["acc"], view, reason))


def tidy(points: pd.DataFrame, view: View) -> pd.DataFrame:
    frame = _points.tidy(points, view, {**_points.ACCURACIES, **_points.products(view)})
    return frame.assign(validation_acc=points["validation_acc"])


register(Figure("table", "Table", data, tidy, latex=_latex.accuracy_table, has_data=has_data))
