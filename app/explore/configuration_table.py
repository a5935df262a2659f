"""Columns and rows of the table of a sweep's configurations, for `components.show_table`."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import pandas as pd

from mgem_core.figures.style import LineStyle
from mgem_core.metrics import MEASURES
from mgem_core.text import is_missing, mean_and_error, strength

ACC_HELP = "mean accuracy on all tasks so far, % (± standard error over seeds)"
FORGETTING_HELP = "mean fall from the best accuracy on each earlier task to its final one, in points"
VALIDATION_HELP = "mean accuracy on the training images that were held out, after the last task, %"
COLUMNS = [
    {"name": "line", "title": "method", "kind": "text"},
    {"name": "q", "title": "q", "kind": "number", "help": "memory strength"},
    {"name": "acc", "title": "ACC", "kind": "number", "help": ACC_HELP},
    {"name": "fwd", "title": "FWD", "kind": "number", "help": "mean accuracy on each task just after learning it, %"},
    {"name": "bwd", "title": "BWD", "kind": "number", "help": "change caused by later tasks: ACC − FWD, in points"},
    {"name": "forgetting", "title": "Forgetting", "kind": "number", "help": FORGETTING_HELP},
    {"name": "validation_acc", "title": "validation", "kind": "number", "help": VALIDATION_HELP},
    {"name": "runs", "title": "seeds", "kind": "number", "help": "finished / all"},
    {"name": "progress", "title": "progress", "kind": "progress"},
    {"name": "curve", "title": "ACC over tasks", "kind": "curve", "help": "mean accuracy so far, after each task"},
]


def table_columns(points: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the columns; that of the validation accuracy only if a run has held-out images."""
    is_known = points["validation_acc"].notna().any()
    return [column for column in COLUMNS if is_known or column["name"] != "validation_acc"]


def table_rows(points: pd.DataFrame, styles: Mapping[str, LineStyle]) -> list[dict[str, Any]]:
    """Return a row per point, in the colour of its line.

    No row is marked as the best, because only a comparison within seeds can show whether it is.
    """
    columns = ["key", "line", "q", "validation_acc", "finished", "runs", "active", "progress", "curve", *MEASURES]
    rows = []
    for point in points[[*columns, *(f"{name}_sem" for name in MEASURES)]].to_dict("records"):
        cells = _other_cells(point)
        for name in MEASURES:
            value = point[name] if point[name] == point[name] else None
            cells[name] = {"text": mean_and_error(point[name], point[f"{name}_sem"]), "value": value}
        color = styles[point["line"]].color
        rows.append({"key": point["key"], "color": color, "active": bool(point["active"]), "cells": cells})
    return rows


def _other_cells(point: dict[str, Any]) -> dict[str, Any]:
    q = point["q"] if isinstance(point["q"], float) and point["q"] == point["q"] else None
    accuracy = point["validation_acc"]
    seeds = f"{point['finished']} / {point['runs']}{' …' if point['active'] else ''}"
    return {
        "line": {"text": point["line"]},
        "q": {"text": strength(point["q"]), "value": q},
        "validation_acc": {"text": mean_and_error(accuracy), "value": None if is_missing(accuracy) else accuracy},
        "runs": {"text": seeds, "value": point["finished"]},
        "progress": {"value": point["progress"]},
        "curve": {"value": [value if isfinite(value) else None for value in point["curve"]]},  # JSON has no NaN
    }
