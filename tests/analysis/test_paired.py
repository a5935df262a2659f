"""Paired comparisons: which differences are computed, and how they are described."""

import numpy as np
import pandas as pd
import pytest

from mgem_core.analysis import paired, significance

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


def test_longer_curve_alone_is_not_significant():
    runs = simulated(np.random.default_rng(3), ["GEM", "far"], 6, noise=0.001, reach={"far": 10.0})
    [verdict] = paired.compare(runs, "GEM")
    assert not verdict.significant
    assert verdict.common < 0.75
    assert f"over the {100 * verdict.common:.0f} % of the range that both cover" in paired.in_words(verdict)
    assert abs(verdict.at_equal_x.mean) < 1.0


def test_significance_needs_four_seeds():
    for seeds in (1, 2, 3, 4):
        runs = simulated(np.random.default_rng(4), ["GEM", "better"], seeds, shift={"better": 1.0})
        [verdict] = paired.compare(runs, "GEM")
        assert verdict.significant == (seeds >= 4)
        assert ("At least 4 shared seeds are needed to compare them." in paired.in_words(verdict)) == (seeds < 4)


def test_only_shared_seeds_are_compared():
    runs = simulated(np.random.default_rng(5), ["GEM", "a"], 6)
    runs.loc[(runs["line"] == "a") & (runs["q"] == 1.0) & (runs["seed"] == 2), "is_finished"] = False
    [verdict] = paired.compare(runs, "GEM")
    assert verdict.seeds == (0, 1, 3, 4, 5)


def test_within_seed_errors_ignore_differences_between_seeds():
    rng = np.random.default_rng(6)
    values = rng.normal(0, 0.1, (6, 4)) + np.arange(4) + rng.normal(0, 50, (6, 1))
    assert (paired.within_seed_errors(values, np.ones(4, bool)) < 0.2).all()


def test_within_seed_errors_of_independent_values():
    """With Morey's correction, independent values have the same standard error within and between seeds."""
    rng = np.random.default_rng(7)
    values = rng.normal(0, 1, (4000, 3))
    np.testing.assert_allclose(paired.within_seed_errors(values, np.ones(3, bool)), 1 / np.sqrt(4000), rtol=0.05)


def test_configuration_outside_the_pool_does_not_change_other_errors():
    """Plain SGD varies far more between seeds than the configurations of GEM do."""
    rng = np.random.default_rng(7)
    values = rng.normal(0, 0.1, (8, 5))
    loud = np.column_stack([values, rng.normal(0, 20, 8)])
    in_pool = np.array([True] * 5 + [False])
    alone = paired.within_seed_errors(values, np.ones(5, bool))
    np.testing.assert_allclose(paired.within_seed_errors(loud, in_pool)[:5], alone)
    assert paired.within_seed_errors(loud, in_pool)[5] > 10 * alone.max()
    assert paired.within_seed_errors(loud, np.ones(6, bool))[:5].min() > 5 * alone.max()


def test_only_common_strengths_are_compared_at_equal_retention():
    """More strengths are no advantage: the other ones of GEM do not change the difference."""
    runs = simulated(np.random.default_rng(3), ["GEM", "other"], 6)
    some = runs[(runs["line"] == "GEM") | runs["q"].isin([0.0, 0.3, 3.0])]
    fewer = runs[runs["q"].isin([0.0, 0.3, 3.0])]
    [found], [expected] = paired.compare(some, "GEM"), paired.compare(fewer, "GEM")
    assert found.at_equal_x == expected.at_equal_x
    [too_few] = paired.compare(runs[(runs["line"] == "GEM") | runs["q"].isin([0.0, 3.0])], "GEM")
    assert too_few.at_equal_x is None


def test_collapse_at_large_strengths_does_not_count():
    runs = simulated(np.random.default_rng(3), ["GEM", "other"], 6)
    collapsed = runs["q"] == 10.0
    runs.loc[collapsed, ["x", "y"]] = [-50.0, -50.0]
    before, [after] = paired.compare(runs[~collapsed], "GEM")[0], paired.compare(runs, "GEM")
    assert after.at_equal_x == before.at_equal_x
    assert (before.not_rising, after.not_rising) == (0, 6)
    assert paired.about_branches([before]) == ""
    assert paired.about_branches([after]).startswith("In 6 of 6 seeds, ⟨g_s,z⟩ does not rise with every strength;")


def test_seeds_without_a_common_range_are_left_out():
    runs = simulated(np.random.default_rng(3), ["GEM", "other"], 6)
    runs.loc[(runs["line"] == "other") & (runs["seed"] == 2), "x"] += 100.0
    [verdict] = paired.compare(runs, "GEM")
    assert verdict.at_equal_x.seeds == 5
    assert "5 of 6 seeds" in paired.in_words(verdict)
    runs.loc[(runs["line"] == "other") & (runs["seed"] < 3), "x"] += 100.0
    [verdict] = paired.compare(runs, "GEM")
    assert verdict.primary == "best_acc"


def test_difference_below_the_interpolation_error_is_not_significant():
    """Two lines at different places of one bent curve differ only because straight lines join their few points."""
    rows = []
    for seed in range(8):
        for line, reach in (("GEM", 1.0), ("far", 3.0)):
            for q in STRENGTHS:
                x = np.log1p(q * reach)
                y = 3 - 0.3 * (x - 1) ** 2 + 0.001 * np.sin(seed + q)
                rows.append((line, q, seed, True, x, y, np.nan, np.nan, np.nan))
    runs = pd.DataFrame(rows, columns=["line", "q", "seed", "is_finished", "x", "y", "acc", "fwd", "bwd"])
    [verdict] = paired.compare(runs, "GEM")
    assert verdict.at_equal_x.p < 1e-3
    assert abs(verdict.at_equal_x.mean) < verdict.interpolation
    assert not verdict.significant
    assert "because interpolation between strengths may shift it by" in paired.in_words(verdict)


def test_sentence_warns_if_other_axes_disagree():
    runs = simulated(np.random.default_rng(10), ["GEM", "a"], 6, shift={"a": 1.0})
    runs = runs.assign(x_other=runs["x"], y_other=runs["y"])
    runs.loc[runs["line"] == "a", "y_other"] -= 2.0
    [verdict] = paired.compare(runs, "GEM")
    assert verdict.significant
    assert "significant. But on raw axes it is −" in paired.in_words(verdict)


def test_best_strength_is_chosen_on_the_previous_seed():
    runs = simulated(np.random.default_rng(11), ["GEM", "a"], 6).assign(x=np.nan)
    runs.loc[(runs["line"] == "a") & (runs["q"] == 10.0) & (runs["seed"] == 0), "acc"] = 100.0  # a lucky seed
    [verdict] = paired.compare(runs, "GEM")
    acc = runs.pivot(index="seed", columns=["line", "q"], values="acc")
    expected = []
    for seed in range(6):
        best = {line: acc[line].loc[(seed - 1) % 6].idxmax() for line in ("a", "GEM")}
        expected.append(acc["a"][best["a"]][seed] - acc["GEM"][best["GEM"]][seed])
    assert verdict.best_acc.mean == pytest.approx(np.mean(expected))
    assert acc["a"].loc[0].idxmax() == 10.0


def test_best_strength_is_chosen_on_held_out_images_where_they_are_known():
    runs = simulated(np.random.default_rng(11), ["GEM", "a"], 6).assign(x=np.nan)
    runs["validation_acc"] = np.where(runs["q"] == 0.1, 99.0, 50.0)
    [verdict] = paired.compare(runs, "GEM")
    acc = runs[runs["q"] == 0.1].pivot(index="seed", columns="line", values="acc")
    assert verdict.best_acc.mean == pytest.approx((acc["a"] - acc["GEM"]).mean())


def test_single_seed_cannot_choose_and_report():
    [verdict] = paired.compare(simulated(np.random.default_rng(11), ["GEM", "a"], 1), "GEM")
    assert verdict.best_acc is None


def test_method_without_strengths_is_compared_by_best_acc():
    runs = simulated(np.random.default_rng(9), ["GEM"], 6)
    single = runs[runs["q"] == 0.0].assign(line="Single", q=np.nan, acc=lambda frame: frame["acc"] - 30)
    [verdict] = paired.compare(pd.concat([runs, single]), "GEM")
    assert verdict.at_equal_x is None
    assert verdict.acc is None
    assert verdict.best_acc.high < 0


def test_sentence_states_significance_and_power():
    runs = simulated(np.random.default_rng(10), ["GEM", "a", "b"], 6, shift={"a": 1.0})
    significant, other = paired.compare(runs, "GEM")
    a, b = map(paired.in_words, (significant, other))
    assert a.startswith("At equal retention a learns ")
    assert " more than GEM (95 % CI +" in a
    assert a.endswith("6 seeds): significant.")
    assert "6 seeds): not significant. A true difference of " in b
    assert f"{other.detectable:.1f} % would be found with 80 % probability" in b


def test_sentence_for_a_difference_that_rounds_to_zero():
    found = significance.from_deviation(0.04, 0.35, 6)
    verdict = paired.Verdict("a", "GEM", tuple(range(6)), found, None, None, None, None, None, None)
    power = f"A true difference of {significance.detectable(found):.1f} {{}} would be found with 80 % probability."
    assert paired.in_words(verdict) == (
        "At equal retention a learns as much as GEM (95 % CI −0.3 to +0.4, 6 seeds): not significant. " + power.format("%")
    )
    at_best = paired.Verdict("a", "GEM", tuple(range(6)), None, None, None, None, None, None, found)
    assert paired.in_words(at_best) == (
        "a ends with the same ACC as GEM (at the best strength of the previous seed; 95 % CI −0.3 to +0.4, 6 seeds): not "
        "significant. " + power.format("points")
    )


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


def test_only_the_primary_difference_has_a_verdict():
    runs = simulated(np.random.default_rng(11), ["GEM", "a", "b"], 6, shift={"a": 1.0})
    runs.loc[runs["line"] == "b", "acc"] += 5
    a, b = paired.compare(runs, "GEM")
    assert (a.primary, a.significant) == ("at_equal_x", True)
    assert (b.primary, b.significant) == ("at_equal_x", False)
    assert b.acc.p < 1e-3


def test_lines_with_little_range_in_common_are_judged_by_acc():
    """Where the curves hardly overlap, equal retention says little about either of them."""
    runs = simulated(np.random.default_rng(11), ["GEM", "a"], 6, shift={"a": 1.0})
    [near] = paired.compare(runs, "GEM")
    low, high = runs["x"].min(), runs["x"].max()
    runs.loc[runs["line"] == "a", "x"] += 0.4 * (high - low)
    [far] = paired.compare(runs, "GEM")
    assert near.common > paired.LEAST_COMMON > far.common > 0
    assert (near.primary, far.primary) == ("at_equal_x", "best_acc")
    assert far.at_equal_x is not None
    assert "ACC" in paired.in_words(far)


def test_without_acc_a_difference_over_little_of_the_range_is_not_significant():
    """As at recorded steps, which have no ACC."""
    runs = simulated(np.random.default_rng(11), ["GEM", "a"], 6, shift={"a": 1.0}).assign(acc=np.nan)
    assert paired.compare(runs, "GEM")[0].significant
    runs.loc[runs["line"] == "a", "x"] += 0.4 * (runs["x"].max() - runs["x"].min())
    [far] = paired.compare(runs, "GEM")
    assert far.main == far.at_equal_x
    assert far.main.p < 0.05
    assert not far.significant
    assert paired.in_words(far).endswith("not significant, because this is less than half of the range.")


def test_sentence_names_the_correction_for_multiple_comparisons():
    """Among eight equal lines, some intervals exclude zero by chance, but no line is called significant for that."""
    rng = np.random.default_rng(12)
    lines = ["GEM", *"abcdefgh"]
    verdicts = [verdict for _ in range(40) for verdict in paired.compare(simulated(rng, lines, 6, noise=0.2), "GEM")]
    by_chance = [v for v in verdicts if not v.significant and (v.at_equal_x.low > 0 or v.at_equal_x.high < 0)]
    assert by_chance
    assert all(": not significant after correction for 8 comparisons." in paired.in_words(v) for v in by_chance)


def test_unfinished_runs_are_ignored():
    runs = simulated(np.random.default_rng(13), ["GEM", "a"], 6)
    running = runs[(runs["line"] == "a") & (runs["q"] == 1.0)].assign(is_finished=False, acc=0.0, y=0.0)
    [expected], [found] = paired.compare(runs, "GEM"), paired.compare(pd.concat([running, runs]), "GEM")
    assert found == expected
