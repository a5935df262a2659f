"""Code shared by the figures that compare lines with a baseline within seeds."""

from typing import NamedTuple

import pandas as pd

from mgem_core.analysis import aggregate, paired
from mgem_core.errors import UsageError, check_choice
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import family, line_styles


class Comparison(NamedTuple):
    baseline: str
    seeds: list[int]  # the seeds that all lines share
    tables: dict[str, paired.Table]  # line → its values
    lines: pd.DataFrame  # line, label and family of each line, in the order of the legend


def read_comparison(selection: Selection) -> Comparison:
    """Read the runs to compare; raise a UsageError if there is only one line or no shared seed."""
    rows = selection.runs_to_compare()
    lines = rows.drop_duplicates("line")[["line", "label"]]
    lines = lines.assign(family=lines["label"].map(family))
    baseline = selection.view.baseline or aggregate.default_baseline(rows)
    if len(lines):
        check_choice("baseline", baseline, list(lines["line"]))
    if len(lines) == 1:
        raise UsageError(f"nothing to compare: all runs belong to one line, {baseline}.")
    seeds, tables = paired.shared_tables(rows)
    if not seeds:
        raise UsageError("nothing to show yet: no run has finished with a seed that all configurations share.")
    order = {line: number for number, line in enumerate(line_styles(lines))}
    return Comparison(baseline, seeds, tables, lines.sort_values("line", key=lambda line: line.map(order)))


def nothing_in_common(what: str, baseline: str) -> UsageError:
    return UsageError(f"nothing to compare: no other line has {what} in common with {baseline}.")
