"""Which runs are compared with a cell of the paper's tables, and what is claimed of them."""

import math

import numpy as np
import pandas as pd
import pytest
from paper_runs import ROWS, TABLE, run

from mgem_core.paper.selection import Mean, difference, find_result, in_words, judge
from mgem_core.paper.tables import Cell


def result(*runs, label="GEM", scale="short"):
    return find_result(pd.DataFrame(runs), TABLE, scale, ROWS[label])


def test_a_row_without_runs_has_no_result():
    assert result(run(label="EWC")) is None
    assert result(run(status="running"), run(status="diverged", seed=1)) is None


@pytest.mark.parametrize(
    "other",
    [
        *({"scale": "paper"}, {"tasks": 4}, {"iterations": 99}, {"memory": 255}, {"batch_size": 11}, {"modules": 2}),
        *({"splits": 2}, {"solver": "approx"}, {"network": "conv-small"}, {"benchmark": "mnist-rotations"}),
        *({"benchmark": "mnist5k-permutations"}, {"label": "d-GEM"}, {"strength": (0.1, 0.2), "tasks": 3}),
    ],
    ids=str,
)
def test_runs_of_other_tables_scales_and_rows_are_ignored(other):
    assert result(run(**other)) is None
    assert result(run(**other), run(seed=7)).seeds == (7,)


@pytest.mark.parametrize("other", [{"lr": 0.3}, {"strength": 9.0}, {"trigger": "always"}, {"probe_every": 0}], ids=str)
def test_other_fields_are_free(other):
    assert result(run(**other)).seeds == (0,)


def test_fields_without_effect_do_not_matter():
    single = result(run(label="Single", memory=3), label="Single")
    assert single.means["acc"].mean == 80
    layers = {f"fc{number}": number - 1 for number in (1, 2, 3)}
    assert result(run(label="m-GEM", modules=layers), label="m-GEM") is None  # three modules where the row has four
    assert result(run(modules=dict.fromkeys(layers, 0))).seeds == (0,)  # all in one module: GEM


def test_single_configuration_is_averaged_over_all_seeds():
    found = result(*(run(seed, acc) for seed, acc in ((0, 80.0), (1, 82.0), (2, 84.0))))
    assert found.means["acc"] == Mean(82.0, pytest.approx(2 / math.sqrt(3)), 3)
    assert (found.seeds, found.compared, found.chosen_on) == ((0, 1, 2), 0, ())


def test_validation_chooses_and_other_seeds_are_reported():
    worse = [run(0, acc=99.0, validation=70.0, strength=0.3), run(0, acc=99.0, validation=60.0, strength=3.0)]
    best = [run(0, 10.0, 75.0, strength=1.0), run(1, 80.0, 1.0, strength=1.0), run(2, 82.0, 1.0, strength=1.0)]
    found = result(*worse, *best)
    assert found.config.strength == 1.0
    assert (found.seeds, found.chosen_on, found.compared) == ((1, 2), (0,), 3)
    assert found.means["acc"] == Mean(81.0, pytest.approx(1.0), 2)
    assert (
        "strength 1, learning rate 0.1, validation 0.1: chosen among 3 configurations by validation on seed 0"
        in in_words(found)
    )
    assert "means over seeds 1, 2" in in_words(found)


def test_two_seeds_choose_if_four_others_are_left():
    def of(strength, *validations):
        return [run(seed, 80.0, validation, strength=strength) for seed, validation in enumerate(validations)]

    first, second = of(0.3, 70.0, 70.0), of(1.0, 75.0, 60.0)  # seed 0 alone prefers the second, both seeds the first
    more = [run(seed, 80.0, 1.0, strength=0.3) for seed in (2, 3, 4, 5)]
    found = result(*first, *second, *more)
    assert (found.config.strength, found.chosen_on, found.seeds) == (0.3, (0, 1), (2, 3, 4, 5))
    found = result(*first, *second, *more[:-1])
    assert (found.config.strength, found.chosen_on, found.seeds) == (1.0, (0,), (1,))
    of_other = [run(seed, 80.0, 1.0, strength=1.0) for seed in (2, 3, 4, 5)]  # seeds of a configuration that is not chosen
    assert result(*first, *second, *of_other).chosen_on == (0,)


def test_only_the_first_shared_seed_chooses():
    runs = [run(seed, 80.0 + q, 70.0 + (q if seed == 2 else -q), strength=q) for seed in (4, 2, 3) for q in (0.3, 1.0)]
    found = result(*runs)
    assert (found.config.strength, found.seeds, found.chosen_on) == (1.0, (3, 4), (2,))


def test_without_another_seed_the_choosing_seed_is_reported():
    found = result(*(run(0, 80.0 + q, 70.0 + q, strength=q) for q in (0.3, 1.0)))
    assert (found.config.strength, found.seeds, found.chosen_on) == (1.0, (0,), (0,))
    assert "means over the same seed" in in_words(found)


def test_collapsed_seed_is_named():
    found = result(*(run(seed, acc) for seed, acc in ((0, 84.0), (1, 86.0), (2, 15.9), (3, 85.0))))
    assert found.collapsed == {2: 15.9}
    assert "; seed 2 collapsed, with an ACC of 15.9" in in_words(found)
    assert result(run(0, 84.0), run(1, 60.0), run(2, 70.0)).collapsed == {}


def test_seeds_that_some_configurations_lack_do_not_choose():
    """Seeds differ more than configurations: an easy seed that one of them lacks must not decide."""
    one = [run(0, validation=70.0, strength=0.3), run(1, validation=99.0, strength=0.3)]
    other = [run(0, validation=71.0, strength=1.0)]
    found = result(*one, *other)
    assert (found.config.strength, found.chosen_on) == (1.0, (0,))


def test_configuration_without_shared_seeds_is_not_compared():
    runs = [run(0, validation=70.0, strength=0.3), run(0, validation=71.0, strength=1.0)]
    found = result(*runs, run(5, validation=99.0, strength=3.0))
    assert (found.config.strength, found.compared, found.others) == (1.0, 2, 1)
    assert "1 other configuration could not be compared" in in_words(found)


def test_ties_go_to_more_seeds_then_to_the_first():
    equal = [run(0, validation=70.0, strength=0.3), run(0, validation=70.0, strength=1.0)]
    assert result(*equal).config.strength == 0.3
    assert result(*equal, run(1, validation=50.0, strength=1.0)).config.strength == 1.0


def test_without_validation_the_most_seeds_win():
    runs = [run(0, 99.0, strength=0.3), run(0, strength=1.0), run(1, strength=1.0)]
    found = result(*runs)
    assert (found.config.strength, found.seeds, found.compared) == (1.0, (0, 1), 0)
    assert "was not chosen on validation data" in in_words(found)


def test_configurations_without_validation_are_not_compared():
    runs = [run(0, validation=70.0, strength=0.3), run(0, validation=71.0, strength=1.0), run(0, acc=99.0, strength=3.0)]
    found = result(*runs)
    assert (found.config.strength, found.compared, found.others) == (1.0, 2, 1)


def test_repeated_run_counts_once():
    assert result(run(0, 80.0), run(0, 82.0)).means["acc"] == Mean(82.0, pytest.approx(math.nan, nan_ok=True), 1)


def test_diverged_runs_are_left_out_and_counted():
    found = result(run(0), run(1, np.nan, status="diverged"))
    assert found.seeds == (0,)
    assert "1 run failed or diverged" in in_words(found)


def test_undefined_measures_are_left_out():
    independent = {**run(label="Independent"), "fwd": np.nan, "bwd": np.nan, "forgetting": np.nan}
    assert result(independent, label="Independent").means.keys() == {"acc"}


def test_settings_other_than_the_default_are_named():
    assert "strength 0.5, learning rate 0.1, trigger always, validation 0.1: means over seed 0." in in_words(
        result(run(trigger="always"))
    )


def test_differences_from_the_paper_are_tested_together():
    printed = Cell(80.0, 0.3)
    assert difference(Mean(82.2, 0.4, 3), printed) == (pytest.approx(2.2), pytest.approx(0.5), 3, False)

    def are_significant(*means):
        return [one.significant for one in judge([difference(mean, printed) for mean in means])]

    assert are_significant(Mean(81.3, 0.4, 6)) == [True]  # 2.6 errors; 2.57 are needed
    assert are_significant(Mean(81.3, 0.4, 6), Mean(80.0, 0.4, 6)) == [False, False]  # 3.16 are needed
    assert are_significant(Mean(77.0, 0.4, 6), Mean(81.3, 0.4, 6)) == [True, True]
    assert are_significant(Mean(90.0, 0.4, 3)) == [False], "at least four seeds are needed"


def test_difference_of_one_seed_is_not_significant():
    found = difference(result(run(0, 10.0)).means["acc"], Cell(80.0, 0.1))
    assert found.value == -70
    assert math.isnan(found.error)
    assert not judge([found])[0].significant


def test_unknown_number_has_no_difference():
    assert difference(None, Cell(80.0, 0.1)) is None
    assert difference(Mean(80.0, 0.1, 2), None) is None


def test_strength_that_diverged_is_not_chosen():
    good = [run(seed, 80.0, 80.0, strength=q) for seed in (0, 1) for q in (0.0, 1.0)]
    lucky = [run(0, 90.0, 90.0, strength=3.0), run(1, status="diverged", strength=3.0)]
    found = result(*good, *lucky)
    assert found.config.strength == 0.0
    assert found.others == 1


def test_different_validation_shares_are_not_compared():
    wide = run(0, 70.0, 99.0, strength=1.0, share=0.5)
    found = result(run(0, 80.0, 80.0, strength=0.0), run(0, 81.0, 81.0, strength=1.0), wide)
    assert (found.config.strength, found.config.validation) == (1.0, 0.1)
    assert "validation 0.1" in in_words(found)
