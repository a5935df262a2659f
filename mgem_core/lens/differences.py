"""Differences of lines from GEM at recorded steps: in ⟨g_t,z⟩ at equal ⟨g_s,z⟩, within seeds.

In: curves of two lines [seeds, strengths, 2 or more], as `seed_curves` returns them. Out: the difference of each seed, and
from these its mean and 95 % confidence interval over seeds. `app/explore/js/curves.js` computes the same numbers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mgem_core.analysis import curves, significance
from mgem_core.analysis.paired import LEAST_COMMON
from mgem_core.analysis.significance import Estimate

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LineDifference:
    """The difference of a line from the baseline, in percent of the baseline's mean level; line minus baseline."""

    estimate: Estimate | None  # None if no seed has a common range
    values: Floats  # of each seed with a common range
    common: float  # share of the range of ⟨g_s,z⟩ that both curves cover
    profile: tuple[Estimate, ...]  # at PLACES places from the start to the end of the common range
    reach: Estimate | None  # how much larger the largest ⟨g_s,z⟩ of the line is, in percent
    comparisons: int

    @property
    def is_narrow(self) -> bool:
        """Whether the curves have too little of their range in common for a significant difference."""
        return self.common < LEAST_COMMON

    @property
    def is_significant(self) -> bool:
        found = self.estimate
        return found is not None and not self.is_narrow and significance.is_significant(found, self.comparisons)


def line_difference(one: Floats, other: Floats, comparisons: int) -> LineDifference:
    """Compare the curves of a line with those of the baseline; seeds without a common range are left out."""
    ones, others = one[:, :, :2], other[:, :, :2]
    profiles = [curves.difference_profile(*pair) for pair in zip(ones, others, strict=True)]
    known = [profile for profile in profiles if profile is not None]
    reach = significance.estimate(_reach(ones, others))
    if not known:
        return LineDifference(None, np.empty(0), 0.0, (), reach, comparisons)
    pairs = [curves.curve_difference(*pair) for pair in zip(ones, others, strict=True)]
    level = float(np.mean([pair.level for pair in pairs if np.isfinite(pair.level)]))
    in_percent = 100 / level * np.array(known)  # [seeds, places]
    values = in_percent.mean(axis=1)
    at_places = tuple(found for at_place in in_percent.T if (found := significance.estimate(at_place)))
    common = float(np.mean([pair.common for pair in pairs if np.isfinite(pair.difference)]))
    return LineDifference(significance.estimate(values), values, common, at_places, reach, comparisons)


def _reach(ones: Floats, others: Floats) -> Floats:
    """Return by how many percent the largest x of each seed is larger, where it is known."""
    largest, of_other = ones[:, :, 0].max(axis=1), others[:, :, 0].max(axis=1)
    ratios = np.divide(largest, of_other, out=np.full_like(largest, np.nan), where=of_other != 0)
    return np.asarray(100 * (ratios[np.isfinite(ratios)] - 1))
