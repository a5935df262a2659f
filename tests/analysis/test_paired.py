"""Paired comparisons: they find differences that are there, and claim none that are not."""

import numpy as np
import pandas as pd
import pytest

from mgem_core.analysis import paired

STRENGTHS = [0.0, 0.1, 0.3, 1.0, 3.0, 10.0]


def simulated(rng, lines, seeds, noise=0.02, shift=None, reach=None) -> pd.DataFrame:
    """Runs of lines whose points lie on one curve, but for a shift in y; seeds differ much, runs of a seed a little."""
    rows = []
    for seed in range(seeds):
        of_seed = rng.normal(0, 0.5, 3)
        for line in lines:
            for q in STRENGTHS:
                x = np.log1p(q * (reach or {}).get(line, 1.0)) + of_seed[0]
                y = 3 - 0.1 * (x - of_seed[0] - 1) ** 2 + of_seed[1] + (shift or {}).get(line, 0.0) + rng.normal(0, noise)
                acc = 80 - (np.log1p(q) - 1) ** 2 + of_seed[2] + rng.normal(0, 10 * noise)
                rows.append((line, q, seed, True, x, y, acc, acc + 1, -1.0 + 0.1 * np.log1p(q) + of_seed[0]))
    return pd.DataFrame(rows, columns=["line", "q", "seed", "is_finished", "x", "y", "acc", "fwd", "bwd"])


@pytest.mark.parametrize("lines", [["GEM", "same"], ["GEM", "b", "c", "d", "e", "f"]])
def test_equal_methods_are_seldom_called_distinguishable(lines):
    """A/A: at most 5 % of 200 sweeps have a line that is called different though all are equal (± sampling error)."""
    rng = np.random.default_rng(1)
    sweeps = [paired.compare(simulated(rng, lines, seeds=6), "GEM") for _ in range(200)]
    wrong = sum(any(verdict.distinguishable for verdict in sweep) for sweep in sweeps)
    assert wrong <= 0.05 * 200 + 2 * np.sqrt(200 * 0.05 * 0.95)


def test_a_difference_of_one_standard_deviation_is_mostly_found_with_eight_seeds():
    """One within-seed standard deviation of the difference that a seed shows, beyond what interpolation may cause."""
    rng = np.random.default_rng(2)
    noise = 0.05
    spread = np.std([_difference(rng, noise) for _ in range(300)])
    margin = paired.INTERPOLATION_ERROR * 3
    found = 0
    for _ in range(100):
        runs = simulated(rng, ["GEM", "better"], 8, noise, shift={"better": spread + margin})
        [verdict] = paired.compare(runs, "GEM")
        found += verdict.distinguishable
    assert found > 50


def _difference(rng, noise):
    runs = simulated(rng, ["GEM", "other"], 1, noise)
    curves = [runs.loc[runs["line"] == line, ["x", "y"]].to_numpy() for line in ("GEM", "other")]
    return paired.curve_difference(*curves)[0]


def test_a_line_that_only_reaches_farther_is_no_better():
    runs = simulated(np.random.default_rng(3), ["GEM", "far"], 6, noise=0.001, reach={"far": 20.0})
    [verdict] = paired.compare(runs, "GEM")
    assert not verdict.distinguishable
    assert verdict.common < 0.75
    assert f"over the {100 * verdict.common:.0f} % of the range that both cover" in paired.in_words(verdict)
    assert abs(verdict.at_equal_x.mean) < 1.0


def test_below_four_seeds_nothing_is_distinguishable():
    for seeds in (1, 2, 3, 4):
        runs = simulated(np.random.default_rng(4), ["GEM", "better"], seeds, shift={"better": 1.0})
        [verdict] = paired.compare(runs, "GEM")
        assert verdict.distinguishable == (seeds >= 4)
        assert ("it takes at least 4" in paired.in_words(verdict)) == (seeds < 4)


def test_only_seeds_that_all_configurations_have_are_compared():
    runs = simulated(np.random.default_rng(5), ["GEM", "a"], 6)
    runs.loc[(runs["line"] == "a") & (runs["q"] == 1.0) & (runs["seed"] == 2), "is_finished"] = False
    [verdict] = paired.compare(runs, "GEM")
    assert verdict.seeds == (0, 1, 3, 4, 5)


def test_seeds_that_differ_much_do_not_widen_errors_within_seeds():
    rng = np.random.default_rng(6)
    values = rng.normal(0, 0.1, (6, 4)) + np.arange(4) + rng.normal(0, 50, (6, 1))
    assert (paired.within_seed_errors(values) < 0.2).all()


def test_errors_within_seeds_are_those_between_if_seeds_share_nothing():
    """Morey's correction: without a common part, both errors estimate the same."""
    rng = np.random.default_rng(7)
    values = rng.normal(0, 1, (4000, 3))
    np.testing.assert_allclose(paired.within_seed_errors(values), 1 / np.sqrt(4000), rtol=0.05)


def test_where_x_falls_back_the_upper_branch_counts():
    curve = np.array([[0.0, 1.0], [2.0, 3.0], [1.0, 0.0]])
    np.testing.assert_allclose(paired.upper_envelope(curve, np.array([0.0, 1.0, 1.5, 2.0])), [1.0, 2.0, 2.5, 3.0])


def test_curves_without_a_common_range_are_not_compared():
    one, other = np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[2.0, 1.0], [3.0, 1.0]])
    assert np.isnan(paired.curve_difference(one, other)[0])


def test_p_of_sign_flips_is_exact():
    assert paired.sign_flip_p(np.ones(6)) == 2 / 2**6
    assert paired.sign_flip_p(np.array([1.0, -1.0])) == 1.0
    assert paired.sign_flip_p(np.array([3.0, 1.0, 1.0])) == 2 / 8


def test_holm_corrects_for_the_number_of_comparisons():
    assert paired.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert paired.holm([]) == []


def test_the_best_strength_is_chosen_on_other_seeds():
    """Pure noise: the strength that looks best on a seed is no better there, if it was chosen on the others."""
    rng = np.random.default_rng(8)
    gains = [paired.at_best_strength(rng.normal(size=(6, 6))).mean() for _ in range(200)]
    assert abs(np.mean(gains)) < 0.1


def test_a_method_without_strengths_is_compared_at_the_best_strength_only():
    runs = simulated(np.random.default_rng(9), ["GEM"], 6)
    single = runs[runs["q"] == 0.0].assign(line="Single", q=np.nan, acc=lambda frame: frame["acc"] - 30)
    [verdict] = paired.compare(pd.concat([runs, single]), "GEM")
    assert verdict.at_equal_x is None
    assert verdict.acc is None
    assert verdict.best_acc.high < 0


def test_words_say_what_the_numbers_carry():
    runs = simulated(np.random.default_rng(10), ["GEM", "a", "b"], 6, shift={"a": 1.0})
    a, b = map(paired.in_words, paired.compare(runs, "GEM"))
    assert a.startswith("At equal retention a learns ")
    assert " more than GEM (95 %: +" in a
    assert "no difference" not in a
    assert b.endswith("6 seeds): no difference can be told.")


def test_words_give_no_direction_to_what_rounds_to_zero():
    found = paired.Estimate(0.04, -0.3, 0.4, 1.0, 1.0, 6)
    verdict = paired.Verdict("a", "GEM", (0, 1, 2, 3, 4, 5), found, 1.0, None, None, None, None, None)
    assert paired.in_words(verdict).startswith(
        "At equal retention a learns as much as GEM (95 %: −0.3 … +0.4, 6 seeds): no"
    )
    at_best = paired.Verdict("a", "GEM", (0, 1, 2, 3, 4, 5), None, 0.0, None, None, None, None, found)
    assert paired.in_words(at_best).startswith("a ends with the same ACC as GEM (at the best strength")


def test_differences_at_each_strength_are_between_equal_strengths():
    runs = simulated(np.random.default_rng(5), ["GEM", "other"], 3)
    runs = runs[(runs["line"] == "GEM") | (runs["q"] != 0.3)]
    _, tables = paired.shared_tables(runs)
    found = paired.at_each_strength(tables["GEM"], tables["other"], "acc")
    by_run = runs.set_index(["line", "seed", "q"])["acc"]
    for seed in range(3):
        for q, difference in zip(STRENGTHS, found[seed], strict=True):
            if q == 0.3:
                assert np.isnan(difference)
            else:
                assert difference == by_run["GEM", seed, q] - by_run["other", seed, q]


def test_a_line_without_strengths_is_the_same_at_all_of_them():
    runs = simulated(np.random.default_rng(6), ["GEM", "Single"], 2)
    runs = runs[(runs["line"] == "GEM") | (runs["q"] == 0.0)]
    runs.loc[runs["line"] == "Single", "q"] = np.nan
    _, tables = paired.shared_tables(runs)
    found = paired.at_each_strength(tables["GEM"], tables["Single"], "acc")
    np.testing.assert_array_equal(found, tables["GEM"]["acc"] - tables["Single"]["acc"])
    assert np.isnan(paired.at_each_strength(tables["Single"], tables["GEM"], "acc")).all()


def test_every_difference_is_judged_by_itself():
    runs = simulated(np.random.default_rng(11), ["GEM", "a", "b"], 6, shift={"a": 1.0})
    runs.loc[runs["line"] == "b", "acc"] += 5
    a, b = paired.compare(runs, "GEM")
    assert a.distinguishable
    assert not {"acc", "best_acc"} & a.distinct
    assert not b.distinguishable
    assert {"acc", "best_acc"} <= b.distinct
    assert "at_equal_x" not in b.distinct


def test_words_say_when_only_the_correction_for_several_lines_forbids_a_claim():
    """Of eight equal lines, one that seems different by itself is not called different."""
    rng = np.random.default_rng(12)
    lines = ["GEM", *"abcdefgh"]
    verdicts = [verdict for _ in range(40) for verdict in paired.compare(simulated(rng, lines, 6, noise=0.2), "GEM")]
    seeming = [v for v in verdicts if not v.distinguishable and (v.at_equal_x.low > 0 or v.at_equal_x.high < 0)]
    assert seeming
    assert all("no difference can be told, because 8 lines were compared." in paired.in_words(v) for v in seeming)


def test_a_run_that_has_not_finished_does_not_stand_in_for_one_that_has():
    runs = simulated(np.random.default_rng(13), ["GEM", "a"], 6)
    running = runs[(runs["line"] == "a") & (runs["q"] == 1.0)].assign(is_finished=False, acc=0.0, y=0.0)
    [expected], [found] = paired.compare(runs, "GEM"), paired.compare(pd.concat([running, runs]), "GEM")
    assert found == expected
