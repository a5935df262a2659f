"""Differences between the rows of a table of the paper, within the seeds that both rows have."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from mgem_core.analysis.significance import LEAST_SEEDS, Estimate, are_significant, estimate
from mgem_core.paper.selection import Result
from mgem_core.text import signed

BASELINE = "GEM"


class RowDifference(NamedTuple):
    """A measure of a row minus that of the baseline, each at the settings that were chosen for it."""

    label: str
    estimate: Estimate | None  # in points; None: too few shared seeds, or some collapsed
    significant: bool  # after Holm's correction over the rows
    collapsed: dict[int, float]  # seeds of the row that collapsed, with their ACC


def row_differences(
    results: Mapping[str, Result], measure: str = "acc", baseline: str = BASELINE
) -> dict[str, RowDifference]:
    """Compare every other row with the baseline, by label; empty if there is no result for the baseline."""
    if baseline not in results:
        return {}
    others = [label for label in results if label != baseline]
    known = {label: found for label in others if (found := row_difference(results, label, baseline, measure))}
    significant = dict(zip(known, are_significant([*known.values()]), strict=True))
    return {
        label: RowDifference(label, known.get(label), significant.get(label, False), results[label].collapsed)
        for label in others
    }


def row_difference(results: Mapping[str, Result], one: str, other: str, measure: str = "acc") -> Estimate | None:
    """Return row `one` minus row `other`, without the seeds on which settings were chosen.

    None if a seed of `one` collapsed, or if fewer than LEAST_SEEDS are left.
    """
    values = [
        {seed: value for seed, value in results[label].by_seed[measure].items() if seed not in results[label].chosen_on}
        for label in (one, other)
    ]
    seeds = sorted(values[0].keys() & values[1].keys())
    if len(seeds) < LEAST_SEEDS or results[one].collapsed:
        return None
    return estimate(np.array([values[0][seed] - values[1][seed] for seed in seeds]))


def with_interval(found: Estimate) -> str:
    """Write a difference with its interval: +0.50 (95 % CI +0.41 to +0.59, 5 seeds)."""
    mean, low, high = (signed(value, 2) for value in (found.mean, found.low, found.high))
    return f"{mean} (95 % CI {low} to {high}, {found.seeds} seeds)"
