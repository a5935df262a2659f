"""Compare lines with a baseline by paired differences within seeds: mean, 95 % confidence interval, significance.

Differences between seeds are many times larger than differences between methods, so nothing is compared across seeds.
Pure functions on frames with one row per run: line, q, seed, is_finished and the measures x, y, acc, fwd, bwd.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mgem_core.text import pluralize, signed

LEAST_SEEDS = 4  # with fewer shared seeds, nothing is called significant
SEEDS_NEEDED = f"At least {LEAST_SEEDS} shared seeds are needed to compare them."
LEVEL = 0.05
INTERPOLATION_ERROR = 0.0025  # relative error of y, measured between the default strengths
MOST = 0.75  # share of the range of x; if two lines have less of it in common, the sentence says how much
GRID = 101  # number of values of x at which two curves are compared
EXACT_SEEDS = 16  # up to this many seeds, all sign flips are tried; with more, SAMPLED_FLIPS of them
SAMPLED_FLIPS = 65536
ESTIMATES = ("at_equal_x", "fwd_at_equal_bwd", "acc", "fwd", "bwd", "best_acc")  # fields of Verdict
Floats = NDArray[np.float64]
Table = dict[str, Floats]


class Estimate(NamedTuple):
    """A mean difference over seeds with its 95 % confidence interval (Student's t, plus the margin if there is one)."""

    mean: float
    low: float
    high: float
    p: float  # exact sign-flip test
    p_t: float  # Student's t test; Holm's correction is applied to this one
    seeds: int


class Differences(NamedTuple):
    """The difference of two lines in each shared seed."""

    values: Floats  # [seeds]; NaN: unknown
    margin: float = 0.0  # a smaller difference counts as none
    common: float = 1.0  # share of the range of x that both lines cover

    def estimate(self) -> Estimate | None:
        return estimate(self.values, self.margin)


@dataclass(frozen=True)
class Verdict:
    """The comparison of a line with the baseline. All differences are line minus baseline."""

    line: str
    baseline: str
    seeds: tuple[int, ...]
    at_equal_x: Estimate | None  # in y, in percent of the baseline's y; None if the curves share no range of x
    common: float  # share of the range of x that both curves cover
    fwd_at_equal_bwd: Estimate | None  # in points
    acc: Estimate | None  # at equal strengths, in points; as are fwd and bwd
    fwd: Estimate | None
    bwd: Estimate | None
    best_acc: Estimate | None  # at each line's best strength, chosen on other seeds
    distinguishable: bool = False  # whether the decisive difference is significant
    distinct: frozenset[str] = frozenset()  # names of all significant estimates, after Holm's correction
    comparisons: int = 1  # number of lines compared with the baseline, for Holm's correction

    @property
    def decisive(self) -> str:
        """The name of the main estimate: at equal x or, if the curves share no range of x, ACC at the best strength."""
        return "at_equal_x" if self.at_equal_x else "best_acc"

    def estimate(self, name: str) -> Estimate | None:
        return cast("Estimate | None", getattr(self, name))


def in_words(verdict: Verdict) -> str:
    """Describe a verdict in one sentence, or two if there are too few seeds."""
    line, baseline, seeds, found = verdict.line, verdict.baseline, len(verdict.seeds), verdict.estimate(verdict.decisive)
    if seeds < LEAST_SEEDS:
        few = pluralize(seeds, "shared seed") if seeds else "no shared seed"
        return f"{line} and {baseline} have {few}. {SEEDS_NEEDED}"
    if found is None:
        return f"{line} and {baseline} cannot be compared: their curves have no common range of x, or a result is missing."
    more = "more" if found.mean > 0 else "less"
    is_same = abs(found.mean) < 0.05 and not verdict.distinguishable  # the mean rounds to zero
    interval = f"95 % CI {signed(found.low)} to {signed(found.high)}, {seeds} seeds"
    if verdict.at_equal_x:
        where = "" if verdict.common >= MOST else f", over the {100 * verdict.common:.0f} % of the range that both cover"
        amount = "as much as" if is_same else f"{abs(found.mean):.1f} % {more} than"
        sentence = f"At equal retention {line} learns {amount} {baseline}{where} ({interval})"
    else:
        best = "at the best strength, chosen on other seeds"
        amount = "the same ACC as" if is_same else f"{abs(found.mean):.1f} points {more} ACC than"
        sentence = f"{line} ends with {amount} {baseline} ({best}; {interval})"
    if verdict.distinguishable:
        return f"{sentence}: significant."
    excludes_zero = found.low > 0 or found.high < 0  # the interval of a single comparison, before Holm's correction
    correction = f" after correction for {verdict.comparisons} comparisons" if excludes_zero else ""
    return f"{sentence}: not significant{correction}."


def shared_seeds(runs: pd.DataFrame, lines: Sequence[str]) -> list[int]:
    """Return the seeds with which every configuration (line and strength) of these lines has finished."""
    chosen = runs[runs["line"].isin(lines)]
    which = chosen.groupby(["line", "q"], dropna=False).ngroup()
    finished = pd.DataFrame({"seed": chosen["seed"], "which": which})[chosen["is_finished"]].drop_duplicates()
    counts = finished["seed"].value_counts()
    return sorted(counts.index[counts == which.nunique()])


def within_seed_errors(values: Floats) -> Floats:
    """Standard errors within seeds of values [seeds, configurations] after Cousineau, with Morey's correction.

    Each seed's mean over the configurations is removed, so that differences between seeds do not count.
    """
    seeds, count = values.shape
    if seeds < 2 or count < 2:
        return np.full(count, np.nan)
    normalised = values - values.mean(axis=1, keepdims=True)
    return np.asarray(normalised.std(axis=0, ddof=1) * np.sqrt(count / (count - 1) / seeds))


def compare(runs: pd.DataFrame, baseline: str) -> list[Verdict]:
    """Compare every other line with the baseline, over the seeds that all lines share."""
    seeds, tables = shared_tables(runs)
    if baseline not in tables:
        return []
    verdicts = [_verdict(line, baseline, tables, seeds) for line in tables if line != baseline]
    if len(seeds) < LEAST_SEEDS:
        return verdicts
    decisive = excluding_zero([verdict.estimate(verdict.decisive) for verdict in verdicts])
    others = {name: excluding_zero([verdict.estimate(name) for verdict in verdicts]) for name in ESTIMATES}
    return [
        replace(
            verdict,
            distinguishable=decisive[i],
            distinct=frozenset(name for name in ESTIMATES if (decisive if name == verdict.decisive else others[name])[i]),
            comparisons=len(verdicts),
        )
        for i, verdict in enumerate(verdicts)
    ]


def excluding_zero(estimates: Sequence[Estimate | None]) -> list[bool]:
    """Test for each line's estimate whether it is significant after Holm's correction for the number of lines."""
    return [p < LEVEL for p in holm([found.p_t if found else 1.0 for found in estimates])]


def shared_tables(runs: pd.DataFrame) -> tuple[list[int], dict[str, Table]]:
    """Return the seeds that all lines share and a table of each line's values; no tables if no seed is shared.

    A table maps each measure to its values [seeds, strengths], sorted by seed and strength.
    """
    lines = list(dict.fromkeys(runs["line"]))
    seeds = shared_seeds(runs, lines)
    shared = runs[runs["seed"].isin(seeds) & runs["is_finished"]].sort_values(["seed", "q"], kind="stable")
    shared = shared.drop_duplicates(["line", "seed", "q"])
    names = ("q", "x", "y", "acc", "fwd", "bwd")
    rows = {line: shared[shared["line"] == line] for line in lines} if seeds else {}
    return seeds, {
        line: {name: group[name].to_numpy(float).reshape(len(seeds), -1) for name in names} for line, group in rows.items()
    }


def _verdict(line: str, baseline: str, tables: dict[str, Table], seeds: Sequence[int]) -> Verdict:
    one, other = tables[line], tables[baseline]
    at_equal_x = seed_differences(one, other, "retention")
    return Verdict(
        line=line,
        baseline=baseline,
        seeds=tuple(seeds),
        at_equal_x=at_equal_x.estimate(),
        common=at_equal_x.common,
        fwd_at_equal_bwd=_at_equal(one, other, "bwd", "fwd").estimate(),
        acc=seed_differences(one, other, "acc").estimate(),
        fwd=seed_differences(one, other, "fwd").estimate(),
        bwd=seed_differences(one, other, "bwd").estimate(),
        best_acc=seed_differences(one, other, "best").estimate(),
    )


def seed_differences(one: Table, other: Table, kind: str) -> Differences:
    """Differences of two lines in each seed.

    `kind` is "retention" (y at equal x, in percent), "acc", "fwd" or "bwd" (at equal strengths, in points), or "best" (ACC
    at each line's best strength, in points).
    """
    if kind == "retention":
        return _at_equal(one, other, "x", "y", relative=True)
    if kind == "best":
        return Differences(at_best_strength(one["acc"]) - at_best_strength(other["acc"]))
    return Differences(at_equal_strength(one, other, kind))


def _at_equal(one: Table, other: Table, x: str, y: str, relative: bool = False) -> Differences:
    """Mean differences in y at equal x, over the range of x that both curves cover."""
    curves = [np.stack([table[x], table[y]], axis=2) for table in (one, other)]  # [seeds, strengths, 2]
    found = [curve_difference(*pair) for pair in zip(*curves, strict=True)]
    differences, shares, levels = map(np.array, zip(*found, strict=True))
    common, level = float(shares.mean()), float(levels.mean())
    if not relative:
        return Differences(differences, INTERPOLATION_ERROR * level, common)
    return Differences(100 * differences / level, 100 * INTERPOLATION_ERROR, common)


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


def at_best_strength(acc: Floats) -> Floats:
    """Return each seed's ACC at the strength with the best mean over the other seeds, from ACC [seeds, strengths]."""
    if len(acc) < 2 or np.isnan(acc).any():
        return np.full(len(acc), np.nan)
    others = acc.sum(axis=0) - acc
    return np.asarray(acc[np.arange(len(acc)), others.argmax(axis=1)])


def curve_difference(one: Floats, other: Floats) -> tuple[float, float, float]:
    """Compare two curves [points, 2] over the range of x that both cover.

    Return the mean difference in y at equal x, the share of the whole range of x that is common, and mean |y| of `other`.
    The difference is NaN if there is no common range or a point is unknown.
    """
    if np.isnan(one).any() or np.isnan(other).any() or min(len(one), len(other)) < 2:
        return np.nan, 0.0, np.nan
    low, high = max(one[:, 0].min(), other[:, 0].min()), min(one[:, 0].max(), other[:, 0].max())
    first, last = min(one[:, 0].min(), other[:, 0].min()), max(one[:, 0].max(), other[:, 0].max())
    if not low < high:
        return np.nan, 0.0, np.nan
    places = np.linspace(low, high, GRID)
    y_one, y_other = upper_envelope(one, places), upper_envelope(other, places)
    return float((y_one - y_other).mean()), float((high - low) / (last - first)), float(np.abs(y_other).mean())


def upper_envelope(curve: Floats, places: Floats) -> Floats:
    """Interpolate a curve [points, 2] linearly at these x; where several pieces cover an x, the largest y counts."""
    (x0, y0), (x1, y1) = curve[:-1].T, curve[1:].T
    with np.errstate(divide="ignore", invalid="ignore"):
        along = (places[:, None] - x0) / (x1 - x0)
        y = np.where((along >= 0) & (along <= 1), y0 + along * (y1 - y0), -np.inf)
    y = np.where((x0 == x1) & (places[:, None] == x0), np.maximum(y0, y1), y)
    best = y.max(axis=1)  # −∞ where rounding leaves an end outside of all pieces
    return np.where(np.isfinite(best), best, np.interp(places, *curve[np.argsort(curve[:, 0])].T))


def estimate(differences: Floats, margin: float = 0.0) -> Estimate | None:
    """Mean, confidence interval and p of paired differences [seeds]; a mean of at most `margin` counts as no difference."""
    from scipy.special import stdtr, stdtrit  # takes a third of a second to import; most commands do not need it

    n = len(differences)
    if n == 0 or not np.isfinite(differences).all():
        return None
    mean = float(differences.mean())
    if n == 1:
        return Estimate(mean, -np.inf, np.inf, 1.0, 1.0, 1)
    error = float(differences.std(ddof=1)) / np.sqrt(n)
    half_width = float(stdtrit(n - 1, 1 - LEVEL / 2)) * error + margin
    beyond = max(abs(mean) - margin, 0.0)
    p_t = float(2 * stdtr(n - 1, -beyond / error)) if error > 0 else float(beyond == 0)
    return Estimate(mean, mean - half_width, mean + half_width, sign_flip_p(differences), p_t, n)


def sign_flip_p(differences: Floats) -> float:
    """Two-sided p of the mean difference: the share of sign flips for which the absolute mean is at least as large."""
    n = len(differences)
    if n <= EXACT_SEEDS:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        signs = np.random.default_rng(0).choice([-1, 1], (SAMPLED_FLIPS, n))
    sums = np.abs(signs @ differences)
    return float((sums >= abs(differences.sum()) * (1 - 1e-12)).mean())


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple comparisons by Holm's method."""
    order = np.argsort(p_values, kind="stable")
    corrected, largest = np.empty(len(p_values)), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = largest
    return [float(p) for p in corrected]
