"""The rule of significance: one for all pages, commands and claims, and for the lens in the browser.

In: differences that are independent from seed to seed. Out: their mean with a 95 % confidence interval, whether it is
significant, and the smallest difference that so many seeds would have detected.

A difference is significant if Student's t test rejects zero at LEVEL, after Holm's correction for all differences that are
judged together (a family), and if at least LEAST_SEEDS seeds have it. Settings are chosen on seeds that are not tested.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05
LEAST_SEEDS = 4  # with fewer, nothing is called significant
POWER = 0.8  # the probability with which a detectable difference would be found
MOST_SEEDS = 100  # the search for the number of seeds that a difference needs ends here
SEEDS_NEEDED = f"At least {LEAST_SEEDS} shared seeds are needed to compare them."
Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A mean difference over seeds with its 95 % confidence interval and the p of Student's t test."""

    mean: float
    low: float
    high: float
    p: float
    seeds: int
    deviation: float  # standard deviation of the difference over seeds


def estimate(differences: Floats) -> Estimate | None:
    """Estimate the mean of differences [seeds]; None if there is none or one is unknown."""
    n = len(differences)
    if n == 0 or not np.isfinite(differences).all():
        return None
    return from_deviation(float(differences.mean()), float(differences.std(ddof=1)) if n > 1 else np.inf, n)


def from_deviation(mean: float, deviation: float, seeds: int) -> Estimate:
    """Build the estimate of a mean difference from its standard deviation over seeds; one seed has no interval."""
    from scipy.special import stdtr, stdtrit  # takes a third of a second to import; most commands do not need it

    if seeds == 1:
        return Estimate(mean, -np.inf, np.inf, 1.0, 1, np.inf)
    error = deviation / math.sqrt(seeds)
    half_width = float(stdtrit(seeds - 1, 1 - LEVEL / 2)) * error
    p = float(2 * stdtr(seeds - 1, -abs(mean) / error)) if error > 0 else float(mean == 0)
    return Estimate(mean, mean - half_width, mean + half_width, p, seeds, deviation)


def are_significant(family: Sequence[Estimate | None]) -> list[bool]:
    """Test each estimate of a family; unknown ones count in the correction, but are never significant."""
    corrected = holm([found.p if found else 1.0 for found in family])
    return [
        found is not None and p < LEVEL and found.seeds >= LEAST_SEEDS for found, p in zip(family, corrected, strict=True)
    ]


def is_significant(found: Estimate, comparisons: int) -> bool:
    """Test one estimate of a family of this size whose other members are not known: Bonferroni's correction."""
    return found.seeds >= LEAST_SEEDS and found.p < LEVEL / comparisons


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple comparisons by Holm's method."""
    order = np.argsort(p_values, kind="stable")
    corrected, largest = np.empty(len(p_values)), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = largest
    return [float(p) for p in corrected]


def detectable(found: Estimate, comparisons: int = 1) -> float:
    """Return the smallest true difference that these seeds detect with probability POWER in a family of this size."""
    return found.deviation * detectable_deviations(found.seeds, comparisons) if found.seeds > 1 else np.inf


def seeds_needed(found: Estimate, comparisons: int = 1) -> int | None:
    """Return how many seeds would detect a true difference as large as this one; None if more than MOST_SEEDS."""
    enough = (
        n
        for n in range(LEAST_SEEDS, MOST_SEEDS + 1)
        if found.deviation * detectable_deviations(n, comparisons) <= abs(found.mean)
    )
    return next(enough, None)


@lru_cache(maxsize=10_000)
def detectable_deviations(seeds: int, comparisons: int) -> float:
    """Return the detectable difference in standard deviations over seeds.

    The first step of Holm's correction, LEVEL / comparisons, is assumed; t then follows the non-central distribution.
    """
    from scipy.special import nctdtrinc

    critical = critical_t(seeds, comparisons)
    return float(nctdtrinc(seeds - 1, 1 - POWER, critical) / np.sqrt(seeds))


def critical_t(seeds: int, comparisons: int) -> float:
    """Return the |t| beyond which the first of so many comparisons is significant."""
    from scipy.special import stdtrit

    return float(stdtrit(seeds - 1, 1 - LEVEL / comparisons / 2))


def for_browser(seeds: int, comparisons: int) -> dict[str, Any]:
    """Return the rule as numbers, for estimates over at most this many seeds in a family of this size.

    `quantiles` and `criticals` have one |t| per number of seeds, from 0 on: that of a 95 % interval, and that beyond which
    a difference is significant. `detectable` lists (number of seeds, detectable difference in standard deviations).
    """
    counts = range(seeds + 1)
    return {
        "leastSeeds": LEAST_SEEDS,
        "mostSeeds": MOST_SEEDS,
        "comparisons": comparisons,
        "quantiles": [critical_t(n, 1) if n > 1 else None for n in counts],
        "criticals": [critical_t(n, comparisons) if n > 1 else None for n in counts],
        "detectable": [[n, detectable_deviations(n, comparisons)] for n in range(LEAST_SEEDS, MOST_SEEDS + 1)],
    }
