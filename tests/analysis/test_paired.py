"""Paired comparisons find true differences and claim no others."""

import numpy as np
import pandas as pd
import pytest

from mgem_core.analysis import paired

STRENGTHS = [0.0, 0.1, 0.3, 1.0, 3.0, 10.0]


def simulated(rng, lines, seeds, noise=0.02, shift=None, reach=None) -> pd.DataFrame:
    """Simulate lines on one curve, apart from a shift in y; seeds differ much, runs of one seed only a little."""
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
def test_false_positive_rate(lines):
    """A/A test: in at most 5 % of 200 sweeps of equal methods is a line called significant (± sampling error)."""
    rng = np.random.default_rng(1)
    sweeps = [paired.compare(simulated(rng, lines, seeds=6), "GEM") for _ in range(200)]
    false_positives = sum(any(verdict.distinguishable for verdict in sweep) for sweep in sweeps)
    assert false_positives <= 0.05 * 200 + 2 * np.sqrt(200 * 0.05 * 0.95)


def test_power_at_one_standard_deviation_with_eight_seeds():
    """The true difference is one within-seed standard deviation, plus the interpolation error."""
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


def test_longer_curve_alone_is_not_significant():
    runs = simulated(np.random.default_rng(3), ["GEM", "far"], 6, noise=0.001, reach={"far": 20.0})
    [verdict] = paired.compare(runs, "GEM")
    assert not verdict.distinguishable
    assert verdict.common < 0.75
    assert f"over the {100 * verdict.common:.0f} % of the range that both cover" in paired.in_words(verdict)
    assert abs(verdict.at_equal_x.mean) < 1.0


def test_significance_needs_four_seeds():
    for seeds in (1, 2, 3, 4):
        runs = simulated(np.random.default_rng(4), ["GEM", "better"], seeds, shift={"better": 1.0})
        [verdict] = paired.compare(runs, "GEM")
        assert verdict.distinguishable == (seeds >= 4)
        assert ("At least 4 shared seeds are needed to compare them." in paired.in_words(verdict)) == (seeds < 4)


def test_only_shared_seeds_are_compared():
    runs = simulated(np.random.default_rng(5), ["GEM", "a"], 6)
    runs.loc[(runs["line"] == "a") & (runs["q"] == 1.0) & (runs["seed"] == 2), "is_finished"] = False
    [verdict] = paired.compare(runs, "GEM")
    assert verdict.seeds == (0, 1, 3, 4, 5)


def test_within_seed_errors_ignore_differences_between_seeds():
    rng = np.random.default_rng(6)
    values = rng.normal(0, 0.1, (6, 4)) + np.arange(4) + rng.normal(0, 50, (6, 1))
    assert (paired.within_seed_errors(values) < 0.2).all()


def test_within_seed_errors_of_independent_values():
    """With Morey's correction, independent values have the same standard error within and between seeds."""
    rng = np.random.default_rng(7)
    values = rng.normal(0, 1, (4000, 3))
    np.testing.assert_allclose(paired.within_seed_errors(values), 1 / np.sqrt(4000), rtol=0.05)


def test_upper_envelope_of_a_curve_that_turns_back():
    curve = np.array([[0.0, 1.0], [2.0, 3.0], [1.0, 0.0]])
    np.testing.assert_allclose(paired.upper_envelope(curve, np.array([0.0, 1.0, 1.5, 2.0])), [1.0, 2.0, 2.5, 3.0])


def test_curves_without_common_range_have_no_difference():
    one, other = np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[2.0, 1.0], [3.0, 1.0]])
    assert np.isnan(paired.curve_difference(one, other)[0])


def test_sign_flip_p_is_exact():
    assert paired.sign_flip_p(np.ones(6)) == 2 / 2**6
    assert paired.sign_flip_p(np.array([1.0, -1.0])) == 1.0
    assert paired.sign_flip_p(np.array([3.0, 1.0, 1.0])) == 2 / 8


def test_holm_correction():
    assert paired.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert paired.holm([]) == []


def test_best_strength_is_chosen_on_other_seeds():
    """In pure noise, the strength that is best on the other seeds is no better than any on this one."""
    rng = np.random.default_rng(8)
    gains = [paired.at_best_strength(rng.normal(size=(6, 6))).mean() for _ in range(200)]
    assert abs(np.mean(gains)) < 0.1


def test_method_without_strengths_is_compared_by_best_acc():
    runs = simulated(np.random.default_rng(9), ["GEM"], 6)
    single = runs[runs["q"] == 0.0].assign(line="Single", q=np.nan, acc=lambda frame: frame["acc"] - 30)
    [verdict] = paired.compare(pd.concat([runs, single]), "GEM")
    assert verdict.at_equal_x is None
    assert verdict.acc is None
    assert verdict.best_acc.high < 0


def test_sentence_states_significance():
    runs = simulated(np.random.default_rng(10), ["GEM", "a", "b"], 6, shift={"a": 1.0})
    a, b = map(paired.in_words, paired.compare(runs, "GEM"))
    assert a.startswith("At equal retention a learns ")
    assert " more than GEM (95 % CI +" in a
    assert a.endswith("6 seeds): significant.")
    assert b.endswith("6 seeds): not significant.")


def test_sentence_for_a_difference_that_rounds_to_zero():
    found = paired.Estimate(0.04, -0.3, 0.4, 1.0, 1.0, 6)
    verdict = paired.Verdict("a", "GEM", (0, 1, 2, 3, 4, 5), found, 1.0, None, None, None, None, None)
    assert (
        paired.in_words(verdict)
        == "At equal retention a learns as much as GEM (95 % CI −0.3 to +0.4, 6 seeds): not significant."
    )
    at_best = paired.Verdict("a", "GEM", (0, 1, 2, 3, 4, 5), None, 0.0, None, None, None, None, found)
    assert paired.in_words(at_best).startswith("a ends with the same ACC as GEM (at the best strength")


def test_at_each_strength_compares_equal_strengths():
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


def test_at_each_strength_with_a_line_without_strengths():
    runs = simulated(np.random.default_rng(6), ["GEM", "Single"], 2)
    runs = runs[(runs["line"] == "GEM") | (runs["q"] == 0.0)]
    runs.loc[runs["line"] == "Single", "q"] = np.nan
    _, tables = paired.shared_tables(runs)
    found = paired.at_each_strength(tables["GEM"], tables["Single"], "acc")
    np.testing.assert_array_equal(found, tables["GEM"]["acc"] - tables["Single"]["acc"])
    assert np.isnan(paired.at_each_strength(tables["Single"], tables["GEM"], "acc")).all()


def test_estimates_are_significant_independently():
    runs = simulated(np.random.default_rng(11), ["GEM", "a", "b"], 6, shift={"a": 1.0})
    runs.loc[runs["line"] == "b", "acc"] += 5
    a, b = paired.compare(runs, "GEM")
    assert a.distinguishable
    assert not {"acc", "best_acc"} & a.distinct
    assert not b.distinguishable
    assert {"acc", "best_acc"} <= b.distinct
    assert "at_equal_x" not in b.distinct


def test_sentence_names_the_correction_for_multiple_comparisons():
    """Among eight equal lines, some intervals exclude zero by chance, but no line is called significant for that."""
    rng = np.random.default_rng(12)
    lines = ["GEM", *"abcdefgh"]
    verdicts = [verdict for _ in range(40) for verdict in paired.compare(simulated(rng, lines, 6, noise=0.2), "GEM")]
    by_chance = [v for v in verdicts if not v.distinguishable and (v.at_equal_x.low > 0 or v.at_equal_x.high < 0)]
    assert by_chance
    assert all(paired.in_words(v).endswith(": not significant after correction for 8 comparisons.") for v in by_chance)


def test_unfinished_runs_are_ignored():
    runs = simulated(np.random.default_rng(13), ["GEM", "a"], 6)
    running = runs[(runs["line"] == "a") & (runs["q"] == 1.0)].assign(is_finished=False, acc=0.0, y=0.0)
    [expected], [found] = paired.compare(runs, "GEM"), paired.compare(pd.concat([running, runs]), "GEM")
    assert found == expected
