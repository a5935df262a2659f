"""What tests a claim: sweeps that can be launched and compared, or links that can be read."""

from urllib.parse import parse_qsl

import pytest
from geometry.link import read_link

from mgem_core.analysis.significance import LEAST_SEEDS
from mgem_core.learners import uses
from mgem_core.paper.claims import CLAIMS, theory

EXPERIMENTS = [(claim.name, experiment) for claim in CLAIMS for experiment in claim.experiments()]
BY_NAME = {claim.name: claim.experiments() for claim in CLAIMS}


def test_every_claim_has_an_experiment_and_each_has_a_title_of_its_own():
    for name, experiments in BY_NAME.items():
        assert experiments, name
        assert len({one.title for one in experiments}) == len(experiments), name
        assert all(bool(one.spec) != bool(one.address) for one in experiments), name
        assert all(bool(one.look) == bool(one.spec) for one in experiments), name


@pytest.mark.parametrize("name", ["raises_acc", "mgem_beats_gem", "approx_beats_gem", "mer_is_best"])
def test_claims_of_accuracy_are_tested_with_enough_seeds(name):
    """The first seed chooses the strength, and the others are compared."""
    for experiment in BY_NAME[name]:
        runs = experiment.spec.runs()
        assert len({run.seed for run in runs}) > LEAST_SEEDS or not uses(runs[0].method, "strength")


def test_built_in_digits_need_no_data():
    for name in ("raises_acc", "mgem_beats_gem", "approx_beats_gem", "splits_time", "mer_is_best"):
        first = BY_NAME[name][0]
        assert {run.benchmark_info.missing() for run in first.spec.runs()} == {""}


def test_links_to_geometry_can_be_read_and_have_the_counterexamples():
    links = {
        name: read_link(dict(parse_qsl(one.address.partition("?")[2])))
        for name, one in EXPERIMENTS
        if "geometry" in one.address
    }
    assert links.keys() == {"closed_form", "proposition_2_modules", "proposition_2_splits", "floor_is_margin"}
    case = theory.counterexample("d-mGEM").iloc[0]
    found = links["proposition_2_splits"]
    assert [found[name][:2] for name in ("g", "g1", "g2")] == [case["gradient"], *case["rows"]]
    assert links["floor_is_margin"]["strength"] == theory.counterexample("strength")["strength"].iloc[0]


def test_accuracies_of_networks_are_not_tested_at_a_scale_that_learns_nothing():
    assert all("short" not in one.title for one in BY_NAME["architectures"])
