"""A/A tests: in sweeps of equal lines, at most 5 % get any verdict of a difference, plus sampling error."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mgem_core.analysis import paired
from mgem_core.analysis.aggregate import View
from mgem_core.analysis.choice import choose_configuration
from mgem_core.analysis.significance import LEVEL, are_significant, estimate
from mgem_core.figures import map as figure_map
from mgem_core.figures._compared import Comparison
from mgem_core.paper.claims import accuracy
from mgem_core.paper.differences import row_differences
from studies.equal_sweeps import shuffled, simulated, with_fewer_strengths

SOURCES = {"simulated": simulated, "shuffled": shuffled}
MEASURES = ("acc", "fwd", "bwd", "x", "y")
sweeps_of_equal_lines = pytest.mark.parametrize(
    ("source", "trigger", "seeds"),
    [(source, trigger, seeds) for source in SOURCES for trigger in ("violation", "always") for seeds in (4, 6, 8)],
)


def assert_nominal(found: list[bool]) -> None:
    """Allow three standard errors, so that of all these tests together hardly one fails by chance."""
    most = LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / len(found))
    assert np.mean(found) <= most, f"{np.mean(found):.3f} of the sweeps"


@pytest.mark.slow
@sweeps_of_equal_lines
@pytest.mark.parametrize("strengths", ["equal", "unequal"])
def test_sentences_of_equal_lines(source, trigger, seeds, strengths):
    rng, found = np.random.default_rng(seeds), []
    for _ in range(100):
        runs = SOURCES[source](rng, trigger, seeds)
        runs = with_fewer_strengths(runs) if strengths == "unequal" else runs
        verdicts = paired.compare(runs, "GEM")
        found.append(any(verdict.significant for verdict in verdicts))
        assert found[-1] == any(": significant" in paired.in_words(verdict) for verdict in verdicts)
    assert_nominal(found)


@pytest.mark.slow
@sweeps_of_equal_lines
def test_sentences_about_acc_of_equal_lines(source, trigger, seeds):
    """Without measurements of gradients, each seed is compared at the strengths that the previous seed chose."""
    rng, found = np.random.default_rng(seeds), []
    for validation in (True, False) * 75:
        runs = SOURCES[source](rng, trigger, seeds).assign(x=np.nan)
        verdicts = paired.compare(runs if validation else runs.drop(columns="validation_acc"), "GEM")
        assert {verdict.primary for verdict in verdicts} == {"best_acc"}
        found.append(any(verdict.significant for verdict in verdicts))
    assert_nominal(found)


@pytest.mark.slow
@sweeps_of_equal_lines
def test_cells_of_the_map_of_equal_lines(source, trigger, seeds):
    rng, found = np.random.default_rng(seeds), []
    for number in range(150):
        runs = SOURCES[source](rng, trigger, seeds)
        lines = runs.drop_duplicates("line")[["line", "label"]].assign(family="GEM")
        comparison = Comparison("GEM", *paired.shared_tables(runs), lines)
        cells = figure_map._differences(comparison, View(measure=MEASURES[number % len(MEASURES)]))
        found.append(bool(cells["is_significant"].any()))
    assert_nominal(found)


def results_of_equal_rows(rng, labels, seeds):
    """Return results of equal rows of a table: different runs of one method, whose settings seed 0 chose."""
    of_seed = rng.normal(0, 1, (2, seeds))
    values = {label: 80 + of_seed + rng.normal(0, 1, (2, seeds)) for label in labels}
    return {
        label: SimpleNamespace(
            by_seed={name: dict(enumerate(of.tolist(), 1)) for name, of in zip(("acc", "bwd"), values[label], strict=True)},
            chosen_on=(0,),
            collapsed={},
            seeds=tuple(range(1, seeds + 1)),
        )
        for label in labels
    }


@pytest.mark.parametrize("seeds", [4, 6, 8])
def test_rows_of_a_table_with_equal_methods(seeds):
    rng, labels = np.random.default_rng(seeds), ["GEM", *map(str, range(10))]
    found = []
    for _ in range(400):
        differences = row_differences(results_of_equal_rows(rng, labels, seeds))
        found.append(any(one.significant for one in differences.values()))
    assert_nominal(found)


@pytest.mark.parametrize("seeds", [4, 6, 8])
@pytest.mark.parametrize(("labels", "measures"), [(accuracy.FINER, ("acc", "bwd")), (accuracy.APPROX, ("acc",))])
def test_claims_about_equal_methods(monkeypatch, labels, measures, seeds):
    """All comparisons of a claim are corrected together, over all tables and measures."""
    rng, found = np.random.default_rng(seeds), []
    for _ in range(400):
        tables = {name: results_of_equal_rows(rng, ["GEM", *labels], seeds) for name in accuracy.MNIST}
        monkeypatch.setattr(accuracy, "results", tables.__getitem__)
        found.append(any(one.significant for one in accuracy._compare(labels, measures).differences.values()))
    assert_nominal(found)


@pytest.mark.parametrize("seeds", [4, 6, 8])
def test_settings_of_the_lens_that_do_not_differ(seeds):
    """The lens corrects for all 23 settings to choose from, so the first step of Holm's correction is its rule."""
    rng, found = np.random.default_rng(seeds), []
    for _ in range(400):
        curves = rng.normal(0, 1, (seeds, 24)) + rng.normal(0, 3, (seeds, 1))
        estimates = [estimate(curves[:, i] - curves[:, 0]) for i in range(1, 24)]
        found.append(any(are_significant(estimates)))
    assert_nominal(found)


def test_best_by_validation_is_not_reported_too_good():
    """In pure noise, the means over the other seeds are no better than those of any configuration."""
    rng, gains = np.random.default_rng(8), []
    for _ in range(300):
        acc = rng.normal(size=(6, 6))  # [configurations, seeds]
        validation = acc + rng.normal(0, 0.3, (6, 6))
        runs = [(str(c), seed, validation[c, seed], 0.1) for c in range(6) for seed in range(6)]
        choice = choose_configuration(pd.DataFrame(runs, columns=["configuration", "seed", "validation_acc", "validation"]))
        others = [seed for seed in range(6) if seed not in choice.chosen_on]
        gains.append(acc[int(choice.configuration), others].mean())
    assert abs(np.mean(gains)) < 3 / np.sqrt(300 * 5)
