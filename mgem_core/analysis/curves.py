"""Differences between two curves in y at equal x, such as ⟨g_t,z⟩ at equal ⟨g_s,z⟩.

A curve is an array [strengths, 2] of points (x, y) in the order of the strengths. With trained runs, x rarely rises all
along, and it falls where a run collapses. So only the rising branch counts, which ends at the largest x; before it,
neighbouring points between which x falls are averaged. On it, each x has one y, whatever the number of strengths.
`app/explore/js/curves.js` does the same.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PLACES = 101  # values of x at which two curves are compared
LEAST_STRENGTHS = 3  # with fewer, the error of the interpolation between strengths cannot be measured
SAME = 1e-9  # relative: values of x that are closer are equal up to rounding
Floats = NDArray[np.float64]


class CurveDifference(NamedTuple):
    difference: float  # mean difference in y at equal x; NaN if there is no common range of x, or a point is unknown
    common: float  # share of the whole range of x that both curves cover
    level: float  # mean |y| of the second curve over the common range


NO_RANGE = CurveDifference(np.nan, 0.0, np.nan)


def rising_branch(curve: Floats) -> Floats:
    """Return the points up to the largest x, with neighbours averaged until x rises (pool adjacent violators)."""
    sums: list[tuple[float, float, int]] = []  # of x and y over a block of neighbours, and their number
    for x, y in curve[: curve[:, 0].argmax() + 1].tolist():
        count = 1
        while sums and not _is_above(x / count, sums[-1][0] / sums[-1][2]):
            before = sums.pop()
            x, y, count = x + before[0], y + before[1], count + before[2]
        sums.append((x, y, count))
    return np.array([(x / count, y / count) for x, y, count in sums])


def _is_above(x: float, before: float) -> bool:
    return x > before + SAME * abs(before)


def is_rising(curve: Floats) -> bool:
    """Return whether x rises from each strength to the next."""
    return len(rising_branch(curve)) == len(curve)


def curve_difference(one: Floats, other: Floats) -> CurveDifference:
    """Compare the rising branches of two curves over the range of x that both cover."""
    if (found := _at_equal_x(one, other)) is None:
        return NO_RANGE
    y, y_other, common = found
    return CurveDifference(float((y - y_other).mean()), common, float(np.abs(y_other).mean()))


def difference_profile(one: Floats, other: Floats) -> Floats | None:
    """Return the difference in y at PLACES values of x, from the start to the end of the common range; None without one."""
    found = _at_equal_x(one, other)
    return None if found is None else found[0] - found[1]


def _at_equal_x(one: Floats, other: Floats) -> tuple[Floats, Floats, float] | None:
    """Return y of both curves at PLACES equal values of x, and the share of the range of x that both cover."""
    if np.isnan(one).any() or np.isnan(other).any():
        return None
    branches = rising_branch(one), rising_branch(other)
    (first, last), (first_other, last_other) = ((branch[0, 0], branch[-1, 0]) for branch in branches)
    low, high = max(first, first_other), min(last, last_other)
    if not low < high:
        return None
    places = np.linspace(low, high, PLACES)
    y, y_other = (np.interp(places, *branch.T) for branch in branches)
    return y, y_other, float((high - low) / (max(last, last_other) - min(first, first_other)))


def interpolation_error(ones: Sequence[Floats], others: Sequence[Floats]) -> float:
    """Estimate by how much linear interpolation between strengths shifts the mean difference of these pairs of curves.

    The error of linear interpolation grows with the square of the spacing, so leaving out every second strength changes the
    difference by about three times the error. Of the two ways to do so, the larger change counts.
    """
    pairs, strengths = [*zip(ones, others, strict=True)], len(ones[0])
    whole = [curve_difference(one, other).difference for one, other in pairs]
    errors = [0.0]
    for start in (1, 2):
        some = sorted({0, *range(start, strengths, 2), strengths - 1})
        thinned = [curve_difference(one[some], other[some]).difference for one, other in pairs]
        changes = np.subtract(thinned, whole)
        known = changes[~np.isnan(changes)]
        errors.append(abs(float(known.mean())) / 3 if len(known) else np.inf)
    return max(errors)
