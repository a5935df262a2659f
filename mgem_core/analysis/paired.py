"""Paired comparisons of lines with a baseline: differences within each seed, their interval, and what they can tell.

Differences between seeds are many times larger than differences between methods, so nothing is compared across seeds.
Pure functions on frames with one row per run: line, q, seed, is_finished and the measures x, y, acc, fwd, bwd.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mgem_core.text import signed

LEAST_SEEDS = 4  # below, nothing is called distinguishable
LEVEL = 0.05
INTERPOLATION_ERROR = 0.0025  # of y; measured between the default strengths
MOST = 0.75  # of the range; where two lines share less, a sentence says how much
GRID = 101  # places at which two curves are compared
EXACT_SEEDS = 16  # up to so many, all sign flips are tried; beyond, SAMPLED_FLIPS of them
SAMPLED_FLIPS = 65536
ESTIMATES = ("at_equal_x", "fwd_at_equal_bwd", "acc", "fwd", "bwd", "best_acc")  # fields of Verdict
Floats = NDArray[np.float64]
Table = dict[str, Floats]


class Estimate(NamedTuple):
    """A mean difference over seeds with its 95 % interval (Student's t, widened by `margin` where there is one)."""

    mean: float
    low: float
    high: float
    p: float  # exact, by flipping the signs of the seeds' differences
    p_t: float  # of Student's t; what Holm's correction is applied to
    seeds: int


class Differences(NamedTuple):
    """A difference of two lines in each seed that they share."""

    values: Floats  # [seeds]; NaN: unknown
    margin: float = 0.0  # that a difference must exceed to count as one
    common: float = 1.0  # the share of the range that both lines cover

    def estimate(self) -> Estimate | None:
        return estimate(self.values, self.margin)


@dataclass(frozen=True)
class Verdict:
    """A line against the baseline. Differences are line minus baseline."""

    line: str
    baseline: str
    seeds: tuple[int, ...]
    at_equal_x: Estimate | None  # of y, in percent of the baseline's; None if the curves share no range of x
    common: float  # the share of the range of x that both curves cover
    fwd_at_equal_bwd: Estimate | None  # in points
    acc: Estimate | None  # at equal strengths, in points; likewise fwd and bwd
    fwd: Estimate | None
    bwd: Estimate | None
    best_acc: Estimate | None  # at each line's best strength, chosen on the other seeds
    distinguishable: bool = False  # by the decisive difference
    distinct: frozenset[str] = frozenset()  # the names of all estimates whose corrected interval excludes zero
    comparisons: int = 1  # lines that were compared with the baseline, for which Holm's method corrects

    @property
    def decisive(self) -> str:
        """The name of the difference at equal x; for a line without a range of x (or of strengths), of that in best ACC."""
        return "at_equal_x" if self.at_equal_x else "best_acc"

    def estimate(self, name: str) -> Estimate | None:
        return cast("Estimate | None", getattr(self, name))


def in_words(verdict: Verdict) -> str:
    """What the data tell of a line and the baseline, in one sentence."""
    line, baseline, seeds, found = verdict.line, verdict.baseline, len(verdict.seeds), verdict.estimate(verdict.decisive)
    if seeds < LEAST_SEEDS:
        few = f"{seeds} shared seed{'' if seeds == 1 else 's'}" if seeds else "no shared seed"
        return f"{line} and {baseline} have {few}; it takes at least {LEAST_SEEDS} to tell a difference."
    if found is None:
        return f"{line} and {baseline} cannot be compared: they have no common range, or an unknown result."
    more = "more" if found.mean > 0 else "less"
    is_same = abs(found.mean) < 0.05 and not verdict.distinguishable  # what rounds to zero has no direction
    interval = f"95 %: {signed(found.low)} … {signed(found.high)}, {seeds} seeds"
    if verdict.at_equal_x:
        where = "" if verdict.common >= MOST else f", over the {100 * verdict.common:.0f} % of the range that both cover"
        amount = "as much as" if is_same else f"{abs(found.mean):.1f} % {more} than"
        sentence = f"At equal retention {line} learns {amount} {baseline}{where} ({interval})"
    else:
        best = "at the best strength, chosen on other seeds"
        amount = "the same ACC as" if is_same else f"{abs(found.mean):.1f} points {more} ACC than"
        sentence = f"{line} ends with {amount} {baseline} ({best}; {interval})"
    if verdict.distinguishable:
        return f"{sentence}."
    excludes_zero = found.low > 0 or found.high < 0  # but not the wider interval that several comparisons need
    reason = f", because {verdict.comparisons} lines were compared" if excludes_zero else ""
    return f"{sentence}: no difference can be told{reason}."


def shared_seeds(runs: pd.DataFrame, lines: Sequence[str]) -> list[int]:
    """The seeds with which every configuration (line and strength) of these lines has finished."""
    chosen = runs[runs["line"].isin(lines)]
    which = chosen.groupby(["line", "q"], dropna=False).ngroup()
    finished = pd.DataFrame({"seed": chosen["seed"], "which": which})[chosen["is_finished"]].drop_duplicates()
    counts = finished["seed"].value_counts()
    return sorted(counts.index[counts == which.nunique()])


def within_seed_errors(values: Floats) -> Floats:
    """Standard errors within seeds of values [seeds, configurations]: Cousineau's, with Morey's correction.

    Each seed's mean over the configurations is removed, so that what all configurations of a seed share does not count.
    """
    seeds, count = values.shape
    if seeds < 2 or count < 2:
        return np.full(count, np.nan)
    normalised = values - values.mean(axis=1, keepdims=True)
    return np.asarray(normalised.std(axis=0, ddof=1) * np.sqrt(count / (count - 1) / seeds))


def compare(runs: pd.DataFrame, baseline: str) -> list[Verdict]:
    """Every other line against the baseline, over the seeds that all lines share."""
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
            distinct=frozenset(n for n in ESTIMATES if (decisive if n == verdict.decisive else others[n])[i]),
            comparisons=len(verdicts),
        )
        for i, verdict in enumerate(verdicts)
    ]


def excluding_zero(estimates: Sequence[Estimate | None]) -> list[bool]:
    """Of each line's estimate: does its interval exclude zero, after Holm's correction over the lines?"""
    return [p < LEVEL for p in holm([found.p_t if found else 1.0 for found in estimates])]


def shared_tables(runs: pd.DataFrame) -> tuple[list[int], dict[str, Table]]:
    """The seeds that all lines share, and of each line a table with their values; no table if there is no such seed.

    A table holds measure → values [seeds, strengths], by seed and strength.
    """
    lines = list(dict.fromkeys(runs["line"]))
    seeds = shared_seeds(runs, lines)
    shared = runs[runs["seed"].isin(seeds) & runs["is_finished"]].sort_values(["seed", "q"], kind="stable")
    shared = shared.drop_duplicates(["line", "seed", "q"])
    names = ("q", "x", "y", "acc", "fwd", "bwd")
    rows = {line: shared[shared["line"] == line] for line in lines} if seeds else {}
    return seeds, {
        line: {name: of[name].to_numpy(float).reshape(len(seeds), -1) for name in names} for line, of in rows.items()
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
    """What each seed says of two lines: of y at equal x, in percent ("retention"); of acc, fwd or bwd at equal strengths;
    or of ACC at each line's best strength ("best"), in points."""
    if kind == "retention":
        return _at_equal(one, other, "x", "y", relative=True)
    if kind == "best":
        return Differences(at_best_strength(one["acc"]) - at_best_strength(other["acc"]))
    return Differences(at_equal_strength(one, other, kind))


def _at_equal(one: Table, other: Table, x: str, y: str, relative: bool = False) -> Differences:
    """Mean differences in y at equal x over the range that both curves cover, and how much of the whole that is."""
    curves = [np.stack([table[x], table[y]], axis=2) for table in (one, other)]  # [seeds, strengths, 2]
    found = [curve_difference(*pair) for pair in zip(*curves, strict=True)]
    differences, shares, levels = map(np.array, zip(*found, strict=True))
    common, level = float(shares.mean()), float(levels.mean())
    if not relative:
        return Differences(differences, INTERPOLATION_ERROR * level, common)
    return Differences(100 * differences / level, 100 * INTERPOLATION_ERROR, common)


def at_each_strength(one: Table, other: Table, measure: str) -> Floats:
    """Differences [seeds, strengths of `one`] at the same strength; NaN where `other` lacks it.

    A line without strengths has the same value at all of them.
    """
    q, q_other = one["q"][0], other["q"][0]
    is_same = (q[:, None] == q_other) | np.isnan(q_other)
    matching = np.where(is_same.any(axis=1), is_same.argmax(axis=1), -1)
    return np.where(matching >= 0, one[measure] - other[measure][:, matching], np.nan)


def at_equal_strength(one: Table, other: Table, measure: str) -> Floats:
    """Per seed, the mean difference over the strengths that both lines have; NaN if there is none."""
    _, first, second = np.intersect1d(one["q"][0], other["q"][0], return_indices=True)
    if not len(first):
        return np.full(len(one["q"]), np.nan)
    return np.asarray((one[measure][:, first] - other[measure][:, second]).mean(axis=1))


def at_best_strength(acc: Floats) -> Floats:
    """ACC [seeds, strengths] → per seed, that at the strength which is best on the mean of all other seeds."""
    if len(acc) < 2 or np.isnan(acc).any():
        return np.full(len(acc), np.nan)
    others = acc.sum(axis=0) - acc
    return np.asarray(acc[np.arange(len(acc)), others.argmax(axis=1)])


def curve_difference(one: Floats, other: Floats) -> tuple[float, float, float]:
    """Mean difference in y at equal x of two curves [points, 2], the share of the range in common, mean |y| of `other`.

    The difference is NaN where the curves have no range of x in common, or a point is unknown.
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
    """y of a curve [points, 2] at these x: the largest of its linear pieces there (one, if x grows along the curve)."""
    (x0, y0), (x1, y1) = curve[:-1].T, curve[1:].T
    with np.errstate(divide="ignore", invalid="ignore"):
        along = (places[:, None] - x0) / (x1 - x0)
        y = np.where((along >= 0) & (along <= 1), y0 + along * (y1 - y0), -np.inf)
    y = np.where((x0 == x1) & (places[:, None] == x0), np.maximum(y0, y1), y)
    best = y.max(axis=1)
    return np.where(np.isfinite(best), best, np.interp(places, *curve[np.argsort(curve[:, 0])].T))  # rounding at the ends


def estimate(differences: Floats, margin: float = 0.0) -> Estimate | None:
    """Mean, interval and p of paired differences [seeds]; differences of at most `margin` count as none."""
    from scipy.special import stdtr, stdtrit  # takes a third of a second, which most commands need not wait for

    n = len(differences)
    if n == 0 or not np.isfinite(differences).all():
        return None
    mean = float(differences.mean())
    if n == 1:
        return Estimate(mean, -np.inf, np.inf, 1.0, 1.0, 1)
    error = float(differences.std(ddof=1)) / np.sqrt(n)
    reach = float(stdtrit(n - 1, 1 - LEVEL / 2)) * error + margin
    beyond = max(abs(mean) - margin, 0.0)
    p_t = float(2 * stdtr(n - 1, -beyond / error)) if error > 0 else float(beyond == 0)
    return Estimate(mean, mean - reach, mean + reach, sign_flip_p(differences), p_t, n)


def sign_flip_p(differences: Floats) -> float:
    """Two-sided p of a mean difference: how often it is as large when the signs of the differences are flipped at will."""
    n = len(differences)
    if n <= EXACT_SEEDS:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        signs = np.random.default_rng(0).choice([-1, 1], (SAMPLED_FLIPS, n))
    sums = np.abs(signs @ differences)
    return float((sums >= abs(differences.sum()) * (1 - 1e-12)).mean())


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for several comparisons: p-values that can each be held against one level."""
    order = np.argsort(p_values, kind="stable")
    corrected, largest = np.empty(len(p_values)), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = largest
    return [float(p) for p in corrected]
