"""The choice of a configuration on held-out images."""

import numpy as np
import pandas as pd
import pytest

from mgem_core.analysis.choice import Choice, best_by_validation, choose_configuration

RUNS = pd.DataFrame(  # seed 0 prefers b, seed 1 and the mean prefer a
    [("a", 0, 70.0), ("a", 1, 90.0), ("b", 0, 71.0), ("b", 1, 80.0)], columns=["configuration", "seed", "validation_acc"]
).assign(validation=0.1)


@pytest.fixture
def points():
    points = pd.DataFrame({"line": list("aaabbc"), "q": [0.0, 1.0, 3.0, 0.0, 1.0, np.nan]})
    points["configuration"] = [f"{line}{q}" for line, q in zip(points["line"], points["q"], strict=True)]
    points["acc"] = [80.0, 90.0, 85.0, 70.0, 60.0, 50.0]
    points["validation_by_seed"] = [{0: 81.0}, {0: 82.0}, {0: 83.0}, {}, {0: 60.0}, {0: 50.0}]
    points["validation"], points["active"], points["failed"], points["finished"] = 0.1, [0, 0, 0, 1, 0, 0], 0, 2
    return points


def best(points, **changes):
    points = points.assign(**changes)
    found = points[points["configuration"].isin(best_by_validation(points).configurations)]
    return list(zip(found["line"], found["q"].fillna(-1), strict=True))


def test_the_first_shared_seed_decides():
    assert choose_configuration(RUNS) == Choice("b", (0,), 2)
    assert choose_configuration(RUNS[1:]) == Choice("a", (1,), 2)


def test_several_seeds_decide_by_their_mean():
    assert choose_configuration(RUNS, seeds=2) == Choice("a", (0, 1), 2)
    assert choose_configuration(RUNS[1:], seeds=2) == Choice("a", (1,), 2)  # only seed 1 has both


def test_the_table_of_a_sweep_follows_the_same_rule():
    points = pd.DataFrame({"line": "x", "configuration": ["a", "b"], "validation": 0.1, "active": 0, "failed": 0})
    points["validation_by_seed"], points["finished"] = [{0: 70.0, 1: 90.0}, {0: 71.0, 1: 80.0}], 2
    assert best_by_validation(points) == (frozenset({choose_configuration(RUNS).configuration}), frozenset({0}))


def test_single_seed_cannot_choose_and_report(points):
    found = best_by_validation(points.assign(active=0, finished=1))
    assert found == (frozenset(points["configuration"]), frozenset())


def test_without_two_validation_accuracies_the_configuration_with_the_most_seeds_is_taken():
    unknown = RUNS.assign(validation_acc=np.nan)
    assert choose_configuration(unknown[1:]) == Choice("b", (), 0)


def test_of_each_line_the_best_strength_is_chosen_on_held_out_images_only(points):
    assert best(points) == [("a", 3.0), ("b", 0.0), ("b", 1.0), ("c", -1)]  # b has an unfinished run
    assert best(points, active=0) == [("a", 3.0), ("b", 1.0), ("c", -1)]


def test_configurations_with_a_failed_run_are_not_chosen(points):
    assert best(points, active=0, failed=[0, 0, 1, 1, 0, 0]) == [("a", 1.0), ("b", 1.0), ("c", -1)]


def test_lines_without_held_out_images_keep_all_configurations(points):
    assert len(best(points, validation_by_seed=[{}] * 6)) == 6
