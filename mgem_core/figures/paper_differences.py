"""Differences from GEM of the rows of a table of the paper: in words, and as columns of its files."""

import math
from collections.abc import Sequence

import pandas as pd

from mgem_core.analysis.significance import LEAST_SEEDS, Estimate
from mgem_core.figures.paper_table import OWN, SHIPPED, Entry
from mgem_core.paper import differences
from mgem_core.paper.differences import BASELINE, RowDifference, with_interval
from mgem_core.text import pluralize


def row_differences(entries: Sequence[Entry], source: str) -> list[RowDifference]:
    """Compare ACC of every other row of this source with the baseline; empty if the source has no baseline."""
    results = {entry.row.label: entry.result for entry in entries if entry.source == source and entry.result}
    return [*differences.row_differences(results).values()]


def with_differences(rows: pd.DataFrame, entries: Sequence[Entry]) -> pd.DataFrame:
    """Add to each row (of `paper_table.tidy`) its difference from the baseline in ACC: mean, interval and verdict."""
    if rows.empty:
        return rows
    found = {
        (source, one.label): (one.estimate.mean, one.estimate.low, one.estimate.high, one.significant)
        for source in rows["source"].unique()
        for one in row_differences(entries, source)
        if one.estimate
    }
    names = [f"acc_minus_{BASELINE.lower()}{part}" for part in ("", "_low", "_high", "_is_significant")]
    unknown = (math.nan, math.nan, math.nan, False)
    values = [found.get(key, unknown) for key in zip(rows["source"], rows["method"], strict=True)]
    return rows.assign(**dict(zip(names, zip(*values, strict=True), strict=True)))


def by_source(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """Return title → sentences about the differences between the rows of each source of runs, where there are any."""
    found: dict[str, list[str]] = {}
    for source in (SHIPPED, OWN):
        if sentences := in_words(row_differences(entries, source)):
            title = f"ACC minus that of {BASELINE} in the same seeds, {source}"
            found[f"{title}; each row at the settings that were chosen for it"] = sentences
    return found


def in_words(differences: Sequence[RowDifference]) -> list[str]:
    """List the rows with more ACC than the baseline, with less, those without a significant difference, and why."""
    known = [(one, one.estimate) for one in differences if one.estimate]
    significant = {
        sign: [_named(*pair) for pair in known if pair[0].significant and sign * pair[1].mean > 0] for sign in (1, -1)
    }
    groups = {
        f"More ACC than {BASELINE}": significant[1],
        f"Less ACC than {BASELINE}": significant[-1],
        f"Not significant, corrected for {pluralize(len(known), 'comparison')}": [
            _named(*pair) for pair in known if not pair[0].significant
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
