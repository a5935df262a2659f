"""`mgem compare`: paired verdicts on the terminal and as JSON."""

import json

import numpy as np
import pytest
from filled_store import filled_store, is_gem, probe

from mgem_core.analysis import frames
from mgem_core.cli import main
from mgem_core.config.sweeps import SweepSpec
from mgem_core.lens.recorded_sweep import read_recorded
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


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A sweep of GEM and d-mGEM(3) whose runs of GEM at strength 0.5 are recorded for five seeds."""
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    grid = {"seed": [0, 1, 2, 3, 4], "splits": [1, 3], "strength": [0.0, 0.5, 1.0]}
    return filled_store(tmp_path / "runs.db", SweepSpec(base=BASE, grid=grid), "mine", records=is_gem)


def test_differences_at_recorded_steps_come_first(recorded, capsys):
    assert main(["compare", "s1"]) == 0
    before, after = capsys.readouterr().out.split("Trained runs:\n")
    assert before.startswith(
        "Difference from GEM at equal retention, at the recorded steps of GEM, strength 0.5 (5 seeds):\n"
    )
    assert "At equal retention d-mGEM(3) learns" in before
    assert "corrected for 24 comparisons" in before
    assert after.splitlines()[1].startswith("d-mGEM(3)")
    assert "Differences from GEM, mean over 5 seeds" in after


def test_json_has_trained_and_recorded_differences(recorded, capsys):
    assert main(["compare", "s1", "--json"]) == 0
    [verdict] = json.loads(capsys.readouterr().out)
    found = verdict["at_recorded_steps"]
    wanted = read_recorded(recorded, frames.runs(recorded, 1), (0, 1)).differences("unit")["d-mGEM(3)"]
    assert found["at_equal_x"]["mean"] == pytest.approx(wanted.estimate.mean)
    assert found["reach"]["low"] == pytest.approx(wanted.reach.low)
    assert (found["recorded"], found["recorded_seeds"]) == ("GEM, strength 0.5", [0, 1, 2, 3, 4])
    assert (found["significant"], found["comparisons"]) == (wanted.is_significant, 24)
    assert verdict["seeds"] == [0, 1, 2, 3, 4]
    assert verdict["at_equal_x"]["mean"] != found["at_equal_x"]["mean"]


def test_recorded_steps_are_compared_before_any_run_has_ended(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    spec = SweepSpec(base={**BASE, "tasks": 3}, grid={"seed": [0, 1, 2, 3], "splits": [1, 3], "strength": [0.5]})
    filled_store(tmp_path / "runs.db", spec, records=is_gem, finishes=lambda run: False)
    assert main(["compare", "s1", "--json"]) == 0
    [verdict] = json.loads(capsys.readouterr().out)
    assert (verdict["line"], verdict["seeds"], verdict["acc"]) == ("d-mGEM(3)", [], None)
    assert verdict["at_recorded_steps"]["at_equal_x"]["seeds"] == 4


def test_sweep_without_recordings_has_no_difference_at_recorded_steps(store, capsys):
    assert main(["compare", "s1", "--json"]) == 0
    [verdict] = json.loads(capsys.readouterr().out)
    assert verdict["at_recorded_steps"] is None
