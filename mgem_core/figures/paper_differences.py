"""What the rows of a table of the paper tell of each other: differences from GEM, within the seeds that both have."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mgem_core.analysis.paired import LEAST_SEEDS, Estimate, estimate, excluding_zero
from mgem_core.figures.paper_table import OWN, SHIPPED, Entry
from mgem_core.text import pluralize, signed

BASELINE = "GEM"


class RowDifference(NamedTuple):
    """A measure of a row minus that of the baseline, each at the settings that were chosen for it."""

    label: str
    estimate: Estimate | None  # in points; None: too few shared seeds, or some collapsed
    is_distinct: bool  # does the interval exclude zero, after Holm's correction over the rows?
    collapsed: dict[int, float]  # seeds of the row that collapsed, with their ACC


def row_differences(entries: Sequence[Entry], source: str, measure: str = "acc") -> list[RowDifference]:
    """Every other row of this source against the baseline; none if the source has no baseline."""
    results = {entry.row.label: entry.result for entry in entries if entry.source == source and entry.result}
    if BASELINE not in results:
        return []
    values = {
        label: {seed: value for seed, value in result.by_seed[measure].items() if seed not in result.chosen_on}
        for label, result in results.items()
    }
    found: dict[str, Estimate] = {}
    for label, of_row in values.items():
        seeds = sorted(of_row.keys() & values[BASELINE].keys())
        if label != BASELINE and len(seeds) >= LEAST_SEEDS and not results[label].collapsed:
            one = estimate(np.array([of_row[seed] - values[BASELINE][seed] for seed in seeds]))
            found |= {label: one} if one else {}
    distinct = dict(zip(found, excluding_zero([*found.values()]), strict=True))
    return [
        RowDifference(label, found.get(label), distinct.get(label, False), result.collapsed)
        for label, result in results.items()
        if label != BASELINE
    ]


def with_differences(rows: pd.DataFrame, entries: Sequence[Entry]) -> pd.DataFrame:
    """A row per entry (`paper_table.tidy`), with its difference from the baseline in ACC: mean, interval and verdict."""
    if rows.empty:
        return rows
    found = {
        (source, one.label): (one.estimate.mean, one.estimate.low, one.estimate.high, one.is_distinct)
        for source in rows["source"].unique()
        for one in row_differences(entries, source)
        if one.estimate
    }
    names = [f"acc_minus_{BASELINE.lower()}{part}" for part in ("", "_low", "_high", "_is_distinct")]
    unknown = (math.nan, math.nan, math.nan, False)
    values = [found.get(key, unknown) for key in zip(rows["source"], rows["method"], strict=True)]
    return rows.assign(**dict(zip(names, zip(*values, strict=True), strict=True)))


def by_source(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """Title → sentences: what the rows of each source of runs tell of each other, if there is anything to compare."""
    found: dict[str, list[str]] = {}
    for source in (SHIPPED, OWN):
        if sentences := in_words(row_differences(entries, source)):
            title = f"ACC minus that of {BASELINE} in the same seeds, {source}"
            found[f"{title}; each row at the settings that were chosen for it"] = sentences
    return found


def in_words(differences: Sequence[RowDifference]) -> list[str]:
    """The rows with more ACC than the baseline, with less, those of which this cannot be told, and why."""
    known = [(one, one.estimate) for one in differences if one.estimate]
    told = {sign: [_named(*pair) for pair in known if pair[0].is_distinct and sign * pair[1].mean > 0] for sign in (1, -1)}
    groups = {
        f"More ACC than {BASELINE}": told[1],
        f"Less ACC than {BASELINE}": told[-1],
        f"No difference can be told, corrected for {pluralize(len(known), 'comparison')}": [
            _named(*pair) for pair in known if not pair[0].is_distinct
        ],
        "Not compared, because some seeds collapsed": [
            f"{one.label} (ACC {', '.join(f'{acc:.1f} in seed {seed}' for seed, acc in one.collapsed.items())})"
            for one in differences
            if one.collapsed
        ],
        f"Fewer than {LEAST_SEEDS} seeds besides the one on which settings were chosen": [
            one.label for one in differences if not one.estimate and not one.collapsed
        ],
    }
    return [f"{heading}: {', '.join(rows)}." for heading, rows in groups.items() if rows]


def _named(one: RowDifference, found: Estimate) -> str:
    return f"{one.label} {with_interval(found)}"


def with_interval(found: Estimate) -> str:
    return f"{signed(found.mean, 2)} (95 %: {signed(found.low, 2)} … {signed(found.high, 2)}, {found.seeds} seeds)"
