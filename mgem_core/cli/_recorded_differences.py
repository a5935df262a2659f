"""The differences of `mgem compare` that come from the recorded steps of a sweep."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from mgem_core.analysis import paired, significance
from mgem_core.analysis.aggregate import View
from mgem_core.analysis.paired import Verdict
from mgem_core.analysis.significance import LEAST_SEEDS, SEEDS_NEEDED, Estimate
from mgem_core.cli._report import printable, table_lines
from mgem_core.lens.differences import LineDifference
from mgem_core.lens.lines import GEM
from mgem_core.lens.recorded_sweep import RecordedSweep, read_recorded
from mgem_core.store import Store

LEGEND = """\
learned    ⟨g_t,z⟩ at equal ⟨g_s,z⟩, in percent, mean [95 % CI]; common: the fraction of the range that both lines cover
reach      how much larger the largest ⟨g_s,z⟩ is, in percent
*          significant, corrected for {comparisons} comparisons"""


class RecordedDifferences(NamedTuple):
    recorded: RecordedSweep
    baseline: str
    of_line: dict[str, LineDifference]

    @property
    def seeds(self) -> list[int]:
        return [one.seed for one in self.recorded.recordings if one.seed is not None]


def read_differences(store: Store, runs: pd.DataFrame, view: View) -> RecordedDifferences | None:
    """Compare all lines at the recorded steps of these runs; None if there are none, or if they lack the baseline."""
    runs = runs[runs["benchmark"] == (view.benchmark or runs["benchmark"].iloc[0])]
    pair, baseline = view.pair, view.baseline or GEM.name
    if (pair and not 0 <= pair[0] < pair[1]) or (view.after is not None and (pair or (0, 1))[1] >= view.after):
        return None
    recorded = read_recorded(store, runs, pair, view.after)
    if recorded is None or baseline not in {line.name for line in recorded.lines}:
        return None
    return RecordedDifferences(recorded, baseline, recorded.differences(view.axes, view.gradient, baseline))


def document(found: RecordedDifferences, line: str) -> dict[str, Any] | None:
    """Return the difference of a line for JSON; None if it is not among those of the recorded steps."""
    if line not in found.of_line:
        return None
    one = found.of_line[line]
    estimate = one.estimate
    enough = estimate is not None and estimate.seeds >= LEAST_SEEDS and not one.is_narrow
    return {
        **{"recorded": found.recorded.title, "recorded_seeds": found.seeds},
        "at_equal_x": numbers(estimate),
        **{"significant": one.is_significant, "comparisons": one.comparisons, "common": one.common},
        "reach": numbers(one.reach),
        "detectable": significance.detectable(estimate, one.comparisons) if estimate and enough else None,
        "seeds_needed": significance.seeds_needed(estimate, one.comparisons) if estimate and enough else None,
        "words": in_words(found, line),
    }


def numbers(found: Estimate | None) -> dict[str, float | None] | None:
    """Return an estimate for JSON; numbers that are not finite (an interval from one seed) become null."""
    if found is None:
        return None
    return {name: number if math.isfinite(number) else None for name, number in found._asdict().items()}


def in_words(found: RecordedDifferences, line: str) -> str:
    """Describe the difference of a line in the words of `paired.in_words`."""
    one, seeds = found.of_line[line], tuple(found.seeds)
    if one.estimate and one.estimate.seeds < LEAST_SEEDS <= len(seeds):
        known = f"{one.estimate.seeds} of {len(seeds)} seeds"
        return f"{line} and {found.baseline} have a common range of ⟨g_s,z⟩ in {known}. {SEEDS_NEEDED}"
    verdict = replace(without_results(line, found.baseline, seeds), at_equal_x=one.estimate, common=one.common)
    return paired.in_words(replace(verdict, significant=one.is_significant, comparisons=one.comparisons))


def without_results(line: str, baseline: str, seeds: Sequence[int] = ()) -> Verdict:
    """Return the verdict on a line without results of trained runs."""
    unknown: dict[str, Any] = dict.fromkeys(paired.ESTIMATES)
    return Verdict(line, baseline, tuple(seeds), common=0.0, **unknown)


def printable_table(found: RecordedDifferences) -> str:
    """Format the differences at recorded steps: a heading, a row per line, the differences in words, and a legend."""
    names = found.of_line
    table = table_lines([("line", "learned, %", "reach, %", "common"), *(_cells(*item) for item in names.items())])
    heading = f"Difference from {printable(found.baseline)} at equal retention, {printable(found.recorded.words)}:"
    sentences = [printable(in_words(found, name)) for name in names]
    legend = LEGEND.format(comparisons=found.recorded.comparisons)
    return "\n".join([heading, *table, "", *sentences, "", legend])


def _cells(name: str, one: LineDifference) -> tuple[str, ...]:
    star = " *" if one.is_significant else ""
    return printable(name), interval(one.estimate) + star, interval(one.reach), f"{100 * one.common:.0f} %"


def interval(found: Estimate | None) -> str:
    return "—" if found is None else f"{found.mean:+.2f} [{found.low:+.2f}, {found.high:+.2f}]".replace("-", "−")
