"""The results of a sweep as a table for the terminal, with a legend."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from mgem_core import text
from mgem_core.analysis import aggregate, measurements
from mgem_core.analysis.aggregate import View
from mgem_core.cli._report import printable
from mgem_core.metrics import MEASURES
from mgem_core.store import Store

TITLE = "Accuracies in percent, mean ± standard error over seeds"
LEGEND = """\
q           memory strength
ACC         mean accuracy on all tasks after the last task
FWD         mean accuracy on each task directly after it was learned
BWD         mean change of that accuracy because of later tasks (ACC = FWD + BWD)
Forgetting  mean fall from the best accuracy on each earlier task to its final one
The seconds are the time of one run."""
HEADER = ("benchmark", "method", "q", "finished", *MEASURES.values(), "seconds")


def sweep_table(store: Store, runs: pd.DataFrame) -> str:
    """Format a title, one line per configuration of these runs (`frames.runs`), and the legend."""
    points = [measurements.points(store, runs, View(benchmark)) for benchmark in aggregate.benchmarks(runs)]
    rows = [row for of_benchmark in points for row in aggregate.by_line(of_benchmark).to_dict("records")]
    lines = [HEADER, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligns = ["<", "<", *(">" for _ in HEADER[2:])]  # text is left-aligned, numbers are right-aligned
    formats = [f"{align}{width}" for align, width in zip(aligns, widths, strict=True)]
    table = ["  ".join(map(format, line, formats)) for line in lines]
    return "\n".join([TITLE, "", *table, "", LEGEND])


def _cells(row: Mapping[Any, Any]) -> tuple[str, ...]:
    metrics = [text.mean_and_error(row[name], row[f"{name}_sem"]) for name in MEASURES]
    seconds = text.MISSING if text.is_missing(row["seconds"]) else f"{row['seconds']:.1f}"
    names = printable(row["benchmark"]), printable(row["line"])
    return *names, text.strength(row["q"]), f"{row['finished']} of {row['runs']}", *metrics, seconds
