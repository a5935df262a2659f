"""The rule of significance."""

import numpy as np
import pytest
from scipy import stats

from mgem_core.analysis import significance
from mgem_core.analysis.significance import LEVEL, POWER, are_significant, detectable, estimate, holm, seeds_needed


def test_estimate_is_students_t_test():
    differences = np.random.default_rng(0).normal(0.3, 1.0, 9)
    found, expected = estimate(differences), stats.ttest_1samp(differences, 0.0)
    interval = expected.confidence_interval(1 - LEVEL)
    assert (found.mean, found.seeds) == (differences.mean(), 9)
    assert (found.low, found.high, found.p) == pytest.approx((interval.low, interval.high, expected.pvalue))


def test_unknown_differences_have_no_estimate():
    assert estimate(np.array([])) is None
    assert estimate(np.array([1.0, np.nan])) is None
    assert estimate(np.array([1.0]))[:4] == (1.0, -np.inf, np.inf, 1.0)


def test_holm_correction():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_significance_needs_four_seeds_and_survives_the_correction():
    clear = [estimate(1.0 + 1e-6 * np.arange(n)) for n in (2, 3, 4, 5)]
    assert are_significant(clear) == [False, False, True, True]
    border = estimate(np.array([1.0, 2.0, 1.5, 0.4, 2.2, 0.1]))
    assert LEVEL / 3 < border.p < LEVEL
    assert are_significant([border]) == [True]
    assert are_significant([border, None, None]) == [False, False, False]


def test_interval_covers_the_mean_in_95_percent_of_cases():
    rng = np.random.default_rng(1)
    found = [estimate(rng.normal(2.0, 1.0, 6)) for _ in range(4000)]
    covered = np.mean([one.low <= 2.0 <= one.high for one in found])
    assert abs(covered - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 4000)


@pytest.mark.parametrize("seeds", [4, 6, 8])
@pytest.mark.parametrize("comparisons", [1, 5])
def test_detectable_difference_is_found_with_80_percent_probability(seeds, comparisons):
    rng = np.random.default_rng(2)
    size = significance.detectable_deviations(seeds, comparisons)
    family = [None] * (comparisons - 1)
    found = np.mean([are_significant([estimate(rng.normal(size, 1.0, seeds)), *family])[0] for _ in range(3000)])
    assert abs(found - POWER) < 3 * np.sqrt(POWER * (1 - POWER) / 3000)


def test_needed_seeds_are_the_fewest_that_detect_the_difference():
    found = estimate(np.array([0.5, 1.4, -0.8, 0.9, 0.1, 0.6]))
    needed = seeds_needed(found, 3)
    deviations = [found.deviation * significance.detectable_deviations(n, 3) for n in (needed - 1, needed)]
    assert deviations[0] > found.mean >= deviations[1]
    assert detectable(found, 3) > found.mean
    assert seeds_needed(found._replace(mean=1e-6)) is None


def test_numbers_for_the_browser_are_those_of_the_rule():
    rule = significance.for_browser(6, 23)
    differences = np.random.default_rng(3).normal(1.0, 0.5, 6)
    found = estimate(differences)
    error = found.deviation / np.sqrt(6)
    assert found.high - found.mean == pytest.approx(rule["quantiles"][6] * error)
    for scale in (0.5, 1.0, 2.0, 4.0):
        one = estimate(differences * scale - differences.mean() * (scale - 1) / 2)
        t = abs(one.mean) / (one.deviation / np.sqrt(6))
        assert are_significant([one, *[None] * 22])[0] == (t > rule["criticals"][6])
    assert dict(map(tuple, rule["detectable"]))[6] * found.deviation == pytest.approx(detectable(found, 23))
