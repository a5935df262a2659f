"""Compare lines with a baseline by differences within seeds: one verdict per line, and intervals for everything else.

Runs with the same seed share tasks, initial weights and batches, so their difference varies less than either of them where
these matter; `significance.py` has the rule. Pure functions on frames with one row per run: line, q, seed, is_finished and
the measures x, y, acc, fwd, bwd; also x_other and y_other on other axes, and validation_acc, where they are known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mgem_core.analysis.curves import (
    LEAST_STRENGTHS,
    CurveDifference,
    Floats,
    curve_difference,
    interpolation_error,
    is_rising,
)
from mgem_core.analysis.significance import (
    LEAST_SEEDS,
    SEEDS_NEEDED,
    Estimate,
    are_significant,
    detectable,
    estimate,
    seeds_needed,
)
from mgem_core.text import pluralize, signed

LEAST_COMMON = 0.5  # share of the range of x that two lines must have in common for a significant difference at equal x
MOST = 0.75  # share of the range of x; if two lines have less of it in common, the sentence says how much
ESTIMATES = ("at_equal_x", "at_equal_x_other", "fwd_at_equal_bwd", "acc", "fwd", "bwd", "best_acc")  # fields of Verdict
MEASURES = ("q", "x", "y", "x_other", "y_other", "acc", "fwd", "bwd", "validation_acc")
Table = dict[str, Floats]


class Differences(NamedTuple):
    """The difference of two lines in each seed in which they can be compared."""

    values: Floats  # [seeds]
    seeds: tuple[int, ...]  # positions of these seeds among the shared ones
    common: float = 1.0  # share of the range of x that both lines cover
    interpolation: float = 0.0  # by how much interpolation between strengths may shift the mean
    not_rising: int = 0  # seeds in which x of either line does not rise with every strength

    def estimate(self) -> Estimate | None:
        return estimate(self.values)


@dataclass(frozen=True)
class Verdict:
    """The comparison of a line with the baseline. All differences are line minus baseline."""

    line: str
    baseline: str
    seeds: tuple[int, ...]
    at_equal_x: Estimate | None  # in y, in percent of the baseline's y; None if the curves share no range of x
    at_equal_x_other: Estimate | None  # the same on `other_axes`
    fwd_at_equal_bwd: Estimate | None  # in points
    acc: Estimate | None  # at equal strengths, in points; as are fwd and bwd
    fwd: Estimate | None
    bwd: Estimate | None
    best_acc: Estimate | None  # each seed at the strengths that are best on the previous seed
    common: float = 1.0  # share of the range of x that both curves cover
    interpolation: float = 0.0  # percent: by how much interpolation between strengths may shift at_equal_x
    not_rising: int = 0  # seeds in which x does not rise with every strength; only the rising branch is compared
    other_axes: str = "raw"
    significant: bool = False  # whether the primary difference is; the others have intervals only
    comparisons: int = 1  # number of lines compared with the baseline, for Holm's correction

    @property
    def primary(self) -> str:
        """The name of the estimate with the verdict: at equal x, or ACC at the best strength if little of x is common."""
        return "at_equal_x" if self.at_equal_x and (self.common >= LEAST_COMMON or not self.best_acc) else "best_acc"

    @property
    def is_at_equal_x(self) -> bool:
        return self.primary == "at_equal_x"

    def estimate(self, name: str) -> Estimate | None:
        return cast("Estimate | None", getattr(self, name))

    @property
    def main(self) -> Estimate | None:
        return self.estimate(self.primary)

    @property
    def is_narrow(self) -> bool:
        """Whether only little of x is common, and there is no ACC to test instead: never significant."""
        return self.is_at_equal_x and self.common < LEAST_COMMON

    @property
    def detectable(self) -> float | None:
        """The smallest true primary difference that these seeds would have found with 80 % probability."""
        return detectable(self.main, self.comparisons) if self.main and self.main.seeds >= LEAST_SEEDS else None

    @property
    def seeds_needed(self) -> int | None:
        """How many shared seeds would find a true difference as large as the primary one; None if more than 100."""
        needed = seeds_needed(self.main, self.comparisons) if self.main else None
        return needed and needed + len(self.seeds) - (self.main.seeds if self.main else 0)  # some have no common range


def compare(runs: pd.DataFrame, baseline: str, other_axes: str = "raw") -> list[Verdict]:
    """Compare every other line with the baseline, over the seeds that all lines share."""
    seeds, tables = shared_tables(runs)
    if baseline not in tables:
        return []
    verdicts = [_verdict(line, baseline, tables, seeds, other_axes) for line in tables if line != baseline]
    significant = are_significant([verdict.main for verdict in verdicts])
    return [
        replace(
            verdict,
            significant=is_significant and not verdict.is_narrow and not _may_be_interpolation(verdict),
            comparisons=len(verdicts),
        )
        for verdict, is_significant in zip(verdicts, significant, strict=True)
    ]


def _may_be_interpolation(verdict: Verdict) -> bool:
    found = verdict.at_equal_x if verdict.is_at_equal_x else None
    return found is not None and abs(found.mean) <= verdict.interpolation


def in_words(verdict: Verdict) -> str:
    """Describe a verdict: the primary difference, whether it is significant, and if not, what would have been found."""
    line, baseline, found = verdict.line, verdict.baseline, verdict.main
    if len(verdict.seeds) < LEAST_SEEDS:
        few = pluralize(len(verdict.seeds), "shared seed") if verdict.seeds else "no shared seed"
        return f"{line} and {baseline} have {few}. {SEEDS_NEEDED}"
    if found is None:
        return f"{line} and {baseline} cannot be compared: their curves have no common range of x, or a result is missing."
    more = "more" if found.mean > 0 else "less"
    unit = "%" if verdict.is_at_equal_x else "points"
    is_same = abs(found.mean) < 0.05 and not verdict.significant  # the mean rounds to zero
    of_all = "" if found.seeds == len(verdict.seeds) else f" of {len(verdict.seeds)}"
    interval = f"95 % CI {signed(found.low)} to {signed(found.high)}, {found.seeds}{of_all} seeds"
    if verdict.is_at_equal_x:
        where = "" if verdict.common >= MOST else f", over the {100 * verdict.common:.0f} % of the range that both cover"
        amount = "as much as" if is_same else f"{abs(found.mean):.1f} % {more} than"
        sentence = f"At equal retention {line} learns {amount} {baseline}{where} ({interval})"
    else:
        amount = "the same ACC as" if is_same else f"{abs(found.mean):.1f} points {more} ACC than"
        sentence = f"{line} ends with {amount} {baseline} (at the best strength of the previous seed; {interval})"
    if verdict.significant:
        return f"{sentence}: significant.{_on_other_axes(verdict)}"
    if verdict.is_narrow:
        return f"{sentence}: not significant, because this is less than half of the range."
    return f"{sentence}: not significant{_reason(verdict)}. {_power(verdict, unit, is_same)}"


def _reason(verdict: Verdict) -> str:
    """Explain why a difference is not significant although its interval excludes zero."""
    found = verdict.main
    if found is None or found.low <= 0 <= found.high:
        return ""
    if _may_be_interpolation(verdict):
        return f", because interpolation between strengths may shift it by {verdict.interpolation:.1f} %"
    return f" after correction for {verdict.comparisons} comparisons"


def _power(verdict: Verdict, unit: str, is_same: bool) -> str:
    """Say which true difference would have been found, and how many seeds one as large as this would need."""
    assert verdict.main, "a difference that is not known has no power"
    found = f"A true difference of {verdict.detectable:.1f} {unit} would be found with 80 % probability"
    if is_same:
        return f"{found}."
    needed = verdict.seeds_needed
    return f"{found}; one of {abs(verdict.main.mean):.1f} {unit} needs {needed or 'more than 100'} seeds."


def _on_other_axes(verdict: Verdict) -> str:
    """Warn if the difference has another sign, or none, on the other axes."""
    one, other = verdict.at_equal_x, verdict.at_equal_x_other
    if not verdict.is_at_equal_x or not one or not other or (other.low > 0 if one.mean > 0 else other.high < 0):
        return ""
    axes = "on raw axes" if verdict.other_axes == "raw" else "per ‖z‖"
    return f" But {axes} it is {signed(other.mean)} % (95 % CI {signed(other.low)} to {signed(other.high)})."


def about_branches(verdicts: Sequence[Verdict]) -> str:
    """Say in how many seeds x does not rise with every strength, or return an empty string if it always does."""
    counts = [verdict.not_rising for verdict in verdicts if verdict.is_at_equal_x]
    if not any(counts):
        return ""
    low, high = min(counts), max(counts)
    which = f"{high}" if low == high else f"{low} to {high}"
    seeds = f"{which} of {pluralize(len(verdicts[0].seeds), 'seed')}"
    return f"In {seeds}, ⟨g_s,z⟩ does not rise with every strength; only its rising part is compared."


def shared_seeds(runs: pd.DataFrame, lines: Sequence[str]) -> list[int]:
    """Return the seeds with which every configuration (line and strength) of these lines has finished."""
    chosen = runs[runs["line"].isin(lines)]
    which = chosen.groupby(["line", "q"], dropna=False).ngroup()
    finished = pd.DataFrame({"seed": chosen["seed"], "which": which})[chosen["is_finished"]].drop_duplicates()
    counts = finished["seed"].value_counts()
    return sorted(counts.index[counts == which.nunique()])


def shared_tables(runs: pd.DataFrame) -> tuple[list[int], dict[str, Table]]:
    """Return the seeds that all lines share and a table of each line's values; no tables if no seed is shared.

    A table maps each measure to its values [seeds, strengths], sorted by seed and strength; NaN: unknown.
    """
    lines = list(dict.fromkeys(runs["line"]))
    seeds = shared_seeds(runs, lines)
    shared = runs[runs["seed"].isin(seeds) & runs["is_finished"]].sort_values(["seed", "q"], kind="stable")
    shared = shared.drop_duplicates(["line", "seed", "q"])
    rows = {line: shared[shared["line"] == line].reindex(columns=MEASURES) for line in lines} if seeds else {}
    return seeds, {
        line: {name: group[name].to_numpy(float).reshape(len(seeds), -1) for name in MEASURES}
        for line, group in rows.items()
    }


def _verdict(line: str, baseline: str, tables: dict[str, Table], seeds: Sequence[int], other_axes: str) -> Verdict:
    one, other = tables[line], tables[baseline]
    at_equal_x = seed_differences(one, other, "retention")
    return Verdict(
        line=line,
        baseline=baseline,
        seeds=tuple(seeds),
        at_equal_x=at_equal_x.estimate(),
        at_equal_x_other=_at_equal(one, other, "x_other", "y_other", relative=True).estimate(),
        fwd_at_equal_bwd=_at_equal(one, other, "bwd", "fwd").estimate(),
        acc=seed_differences(one, other, "acc").estimate(),
        fwd=seed_differences(one, other, "fwd").estimate(),
        bwd=seed_differences(one, other, "bwd").estimate(),
        best_acc=seed_differences(one, other, "best").estimate(),
        common=at_equal_x.common,
        interpolation=at_equal_x.interpolation,
        not_rising=at_equal_x.not_rising,
        other_axes=other_axes,
    )


def seed_differences(one: Table, other: Table, kind: str) -> Differences:
    """Differences of two lines in each seed.

    `kind` is "retention" (y at equal x, in percent), "acc", "fwd" or "bwd" (at equal strengths, in points), or "best" (ACC
    at the best strengths of the previous seed, in points).
    """
    if kind == "retention":
        return _at_equal(one, other, "x", "y", relative=True)
    if kind == "best":
        return _at_best_strength(one, other)
    values = at_equal_strength(one, other, kind)
    return Differences(values, tuple(range(len(values))))


def _at_equal(one: Table, other: Table, x: str, y: str, relative: bool = False) -> Differences:
    """Mean differences in y at equal x, at the strengths that both lines have; seeds without a common range are left out.

    There are none if too few strengths are common, or if too few seeds are left for a comparison.
    """
    _, first, second = np.intersect1d(one["q"][0], other["q"][0], return_indices=True)
    none = Differences(np.empty(0), (), 0.0)
    if len(first) < LEAST_STRENGTHS:
        return none
    ones = [*np.stack([one[x], one[y]], axis=2)[:, first]]  # of each seed: [strengths, 2]
    others = [*np.stack([other[x], other[y]], axis=2)[:, second]]
    found = [curve_difference(*pair) for pair in zip(ones, others, strict=True)]
    seeds = tuple(i for i, pair in enumerate(found) if not np.isnan(pair.difference))
    if len(seeds) < min(LEAST_SEEDS, len(found)):
        return none
    known: list[CurveDifference] = [found[i] for i in seeds]
    differences, shares, levels = (np.array(values) for values in zip(*known, strict=True))
    scale = 100 / float(levels.mean()) if relative else 1.0
    error = interpolation_error([ones[i] for i in seeds], [others[i] for i in seeds])
    not_rising = sum(not (is_rising(ones[i]) and is_rising(others[i])) for i in range(len(found)))
    common = float(shares.sum() / len(found))  # seeds without a common range count as 0
    return Differences(scale * differences, seeds, common, scale * error, not_rising)


def at_each_strength(one: Table, other: Table, measure: str) -> Floats:
    """Differences [seeds, strengths of `one`] at equal strengths; NaN at strengths that `other` does not have.

    If `other` has no strength, its single value is used at every strength.
    """
    q, q_other = one["q"][0], other["q"][0]
    is_same = (q[:, None] == q_other) | np.isnan(q_other)
    matching = np.where(is_same.any(axis=1), is_same.argmax(axis=1), -1)
    return np.where(matching >= 0, one[measure] - other[measure][:, matching], np.nan)


def at_equal_strength(one: Table, other: Table, measure: str) -> Floats:
    """Mean difference per seed over the strengths that both lines have; NaN if they share none."""
    _, first, second = np.intersect1d(one["q"][0], other["q"][0], return_indices=True)
    if not len(first):
        return np.full(len(one["q"]), np.nan)
    return np.asarray((one[measure][:, first] - other[measure][:, second]).mean(axis=1))


def _at_best_strength(one: Table, other: Table) -> Differences:
    """Differences in ACC, each line and seed at the strength that is best on the previous seed.

    Every seed chooses once, so the differences are nearly independent. Choosing once for all seeds, or on all other seeds,
    would add an error that all of them share, and call many equal lines different.
    """
    values = [np.take_along_axis(table["acc"], _chosen_before(table)[:, None], axis=1)[:, 0] for table in (one, other)]
    has_choice = max(one["acc"].shape[1], other["acc"].shape[1]) > 1
    if has_choice and len(values[0]) == 1:  # no other seed can choose
        return Differences(np.empty(0), ())
    return Differences(values[0] - values[1], tuple(range(len(values[0]))))


def _chosen_before(table: Table) -> NDArray[np.intp]:
    """Return for each seed the position of the previous seed's best strength, on held-out images if they are known."""
    by = table["acc"] if np.isnan(table["validation_acc"]).any() else table["validation_acc"]
    return np.asarray(np.roll(np.nan_to_num(by, nan=-np.inf).argmax(axis=1), 1))


def within_seed_errors(values: Floats, in_pool: np.ndarray) -> Floats:
    """Standard errors within seeds of values [seeds, configurations] after Cousineau, with Morey's correction.

    Each seed's mean over the configurations in the pool is removed, so that differences between seeds do not count.
    Configurations outside the pool, such as plain SGD among those of GEM, get errors but do not affect the others'.
    """
    seeds, pooled = len(values), int(in_pool.sum())
    if seeds < 2 or pooled < 2:
        return np.full(values.shape[1], np.nan)
    normalised = values - values[:, in_pool].mean(axis=1, keepdims=True)
    correction = np.where(in_pool, pooled / (pooled - 1), 1.0)
    return np.asarray(normalised.std(axis=0, ddof=1) * np.sqrt(correction / seeds))
