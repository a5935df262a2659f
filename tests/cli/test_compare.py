"""`mgem compare`: paired verdicts on the terminal and as JSON."""

import json

import numpy as np
import pytest
from filled_store import filled_store, probe

from mgem_core.cli import main
from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store

BASE = {"tasks": 2, "iterations": 10, "memory": 20}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A sweep of GEM and p-mGEM(4) over three strengths and five seeds, in which p-mGEM(4) learns 10 % more."""
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    grid = {"seed": [0, 1, 2, 3, 4], "modules": [1, 4], "strength": [0.0, 0.5, 1.0]}
    rng = np.random.default_rng(0)

    def results(run, config):
        x = 1 + config.seed + float(config.strength)
        y = (5 + 0.1 * config.seed) * (1.1 if config.modules == 4 else 1.0) + rng.normal(0, 0.01)
        R = np.array([[90.0, 10.0], [70.0 + 10 * config.strength + rng.normal(), 85.0]])
        return R, [probe(1, np.array([x]), y)]

    return filled_store(tmp_path / "runs.db", SweepSpec(base=BASE, grid=grid), "mine", results=results)


def test_significant_difference_is_reported(store, capsys):
    assert main(["compare", "s1", "--json"]) == 0
    [verdict] = json.loads(capsys.readouterr().out)
    assert (verdict["line"], verdict["baseline"], verdict["significant"]) == ("p-mGEM(4)", "GEM", True)
    assert verdict["seeds"] == [0, 1, 2, 3, 4]
    assert verdict["at_equal_x"]["low"] < 10 < verdict["at_equal_x"]["high"]
    assert (verdict["primary"], verdict["common"], verdict["not_rising"]) == ("at_equal_x", 1.0, 0)
    assert verdict["at_equal_x"]["p"] < 0.05
    assert 0 < verdict["detectable"] < verdict["at_equal_x"]["mean"]
    assert verdict["seeds_needed"] == 4
    assert verdict["at_equal_x_other"]["seeds"] == 5
    assert not verdict["acc"]["low"] > 0
    assert verdict["words"].startswith("At equal retention p-mGEM(4) learns 10.0 % more than GEM")


def test_table_has_a_legend(store, capsys):
    assert main(["compare", "s1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["line", "learned,", "%"]
    assert lines[1].startswith("p-mGEM(4)")
    learned, rest = lines[1].split("]", 1)
    assert learned.startswith("p-mGEM(4)  +")
    assert rest.startswith(" *")
    assert rest.count("*") == 1, "only the primary difference has a verdict"
    assert "Differences from GEM, mean over 5 seeds" in "\n".join(lines)


def test_any_line_can_be_the_baseline(store, capsys):
    assert main(["compare", "s1", "--baseline", "p-mGEM(4)", "--json"]) == 0
    [verdict] = json.loads(capsys.readouterr().out)
    assert verdict["line"] == "GEM"
    assert verdict["at_equal_x"]["mean"] < 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compare", "s1", "--baseline", "EWC"], "baseline is 'EWC'; it must be one of GEM, p-mGEM(4)."),
        (["compare", "s9"], "there is no 's9'; mgem runs lists what there is."),
        (["compare", "s1", "--axes", "polar"], "axes is 'polar'; it must be one of unit, raw, cosine."),
        (["compare", "s1", "--benchmark", "x"], "benchmark is 'x'; it must be one of mnist5k-permutations."),
    ],
)
def test_invalid_option_is_rejected(store, arguments, sentence, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"mgem: {sentence}\n"


def test_no_comparison_without_shared_seeds(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    Store(tmp_path / "runs.db").submit(SweepSpec(base=BASE, grid={"modules": [1, 4]}))
    assert main(["compare", "s1"]) == 0
    assert "no seed has finished in every configuration" in capsys.readouterr().out
