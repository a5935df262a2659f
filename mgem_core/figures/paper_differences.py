"""What the rows of a table of the paper tell of each other: ACC against that of GEM, within the seeds that both have."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mgem_core.figures.paper_table import Entry
from mgem_core.paired import LEAST_SEEDS, Estimate, estimate, excluding_zero
from mgem_core.text import signed

BASELINE = "GEM"


class RowDifference(NamedTuple):
    """ACC of a row minus that of the baseline, each at the settings that were chosen for it."""

    label: str
    acc: Estimate | None  # in points; None: too few shared seeds
    is_distinct: bool  # does the interval exclude zero, after Holm's correction over the rows?


def row_differences(entries: Sequence[Entry], source: str) -> list[RowDifference]:
    """Every other row of this source against the baseline; none if the source has no baseline."""
    acc = {entry.row.label: _unbiased_acc(entry) for entry in entries if entry.source == source}
    if BASELINE not in acc:
        return []
    found = {label: _difference(of_row, acc[BASELINE]) for label, of_row in acc.items() if label != BASELINE}
    known = [label for label, one in found.items() if one]
    distinct = dict(zip(known, excluding_zero([found[label] for label in known]), strict=True))
    return [RowDifference(label, one, distinct.get(label, False)) for label, one in found.items()]


def _unbiased_acc(entry: Entry) -> dict[int, float]:
    """ACC by seed, without the seeds on which the settings were chosen."""
    result = entry.result
    return {seed: acc for seed, acc in result.acc.items() if seed not in result.chosen_on} if result else {}


def _difference(of_row: dict[int, float], of_baseline: dict[int, float]) -> Estimate | None:
    seeds = sorted(of_row.keys() & of_baseline.keys())
    return estimate(np.array([of_row[seed] - of_baseline[seed] for seed in seeds])) if len(seeds) >= LEAST_SEEDS else None


def title(source: str) -> str:
    return f"ACC minus that of {BASELINE} in the same seeds, {source}; each row at the settings that were chosen for it"


def in_words(differences: Sequence[RowDifference]) -> list[str]:
    """The rows with more ACC than the baseline, with less, those of which this cannot be told, and those with few seeds."""
    groups: tuple[list[str], ...] = ([], [], [], [])
    more, less, unclear, few = groups
    for one in differences:
        if one.acc is None:
            few.append(one.label)
        else:
            group = unclear if not one.is_distinct else more if one.acc.mean > 0 else less
            group.append(f"{one.label} {with_interval(one.acc)}")
    titles = [f"More ACC than {BASELINE}", f"Less ACC than {BASELINE}", "No difference can be told"]
    titles.append(f"Fewer than {LEAST_SEEDS} seeds to compare")
    return [f"{title}: {', '.join(rows)}." for title, rows in zip(titles, groups, strict=True) if rows]


def with_interval(acc: Estimate) -> str:
    return f"{signed(acc.mean, 2)} (95 %: {signed(acc.low, 2)} … {signed(acc.high, 2)}, {acc.seeds} seeds)"
