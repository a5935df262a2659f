"""The comparison of lines on Explore: which seeds are offered, and what the table of differences shows."""

from dataclasses import replace

import numpy as np
from explore.trained_verdicts import MOST_ADDED, seeds_to_add
from explore.verdicts import differences_table

from mgem_core.analysis.paired import Verdict
from mgem_core.analysis.significance import estimate, from_deviation

CLEAR = Verdict("a", "GEM", tuple(range(6)), estimate(np.arange(5.0, 11.0)), None, None, None, None, None, None)
CLEAR = replace(CLEAR, significant=True)


def verdict(mean, deviation, seeds=6):
    return replace(CLEAR, at_equal_x=from_deviation(mean, deviation, seeds), significant=False)


def test_seeds_that_the_nearest_difference_needs_are_offered():
    near, far = verdict(1.0, 1.1), verdict(0.5, 1.0)
    assert near.seeds_needed < far.seeds_needed
    assert seeds_to_add([CLEAR, far, near]) == near.seeds_needed - 6
    assert far.seeds_needed - 6 > MOST_ADDED
    assert seeds_to_add([CLEAR, far]) == 0


def test_no_seeds_are_offered_if_too_many_are_needed_or_all_is_significant():
    assert seeds_to_add([CLEAR]) == 0
    assert seeds_to_add([verdict(0.01, 1.0)]) == 0


def test_only_the_primary_difference_can_be_bold():
    table = differences_table([replace(CLEAR, acc=CLEAR.at_equal_x)])
    assert table.count("**") == 2
    assert "per ‖z‖, % | learned at equal retention, raw, %" in table
