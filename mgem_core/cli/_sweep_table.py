"""The results of a sweep as a table for the terminal, with a legend that explains its columns."""

from typing import Any

import pandas as pd

from mgem_core import RunConfig
from mgem_core.learners import uses
from mgem_core.report import mean_and_std, printable

TITLE = "Accuracies in percent, mean ± standard deviation over seeds"
LEGEND = """\
q    memory strength
ACC  mean accuracy on all tasks after the last task
FWD  mean accuracy on each task directly after it was learned
BWD  mean change of that accuracy because of later tasks (ACC = FWD + BWD)
The seconds are those of one run."""


def sweep_table(configurations: pd.DataFrame) -> str:
    """A line per configuration (`frames.configurations`), the title above and the legend below."""
    rows = configurations.to_dict("records")
    fields = distinguishing_fields(rows)
    header = [*fields, "method", "q", "finished", "ACC", "FWD", "BWD", "seconds"]
    lines = [header, *([*(_text(row[name]) for name in fields), *_cells(row)] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligns = ["<"] * (len(fields) + 1) + [">"] * 6  # text to the left, numbers to the right
    formats = [f"{align}{width}" for align, width in zip(aligns, widths, strict=True)]
    table = ["  ".join(map(format, line, formats)) for line in lines]
    return "\n".join([TITLE, "", *table, "", LEGEND])


def distinguishing_fields(rows: list[dict[str, Any]]) -> list[str]:
    """The fields, in the order of RunConfig, that are needed to distinguish rows with the same label and strength."""
    shown: list[tuple[str, ...]] = [(row["label"], _strength(row)) for row in rows]
    fields: list[str] = []
    for name in RunConfig.model_fields:
        with_field = [(*known, _text(row.get(name))) for known, row in zip(shown, rows, strict=True)]
        if len(set(with_field)) > len(set(shown)):
            shown, fields = with_field, [*fields, name]
    return fields


def _cells(row: dict[str, Any]) -> list[str]:
    metrics = [mean_and_std(row[name], row[f"{name}_std"]) for name in ("acc", "fwd", "bwd")]
    seconds = "—" if pd.isna(row["seconds"]) else f"{row['seconds']:.1f}"
    return [printable(row["label"]), _strength(row), f"{row['finished']} of {row['runs']}", *metrics, seconds]


def _strength(row: dict[str, Any]) -> str:
    return _text(row["strength"]) if uses(row["method"], "strength") else "—"


def _text(value: Any) -> str:
    if value is None or value != value:
        return "—"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else printable(str(value))
