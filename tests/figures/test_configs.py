import json
import shlex

import pytest
from exported import exported
from filled_store import SPEC

from mgem_core import RunConfig
from mgem_core.analysis import frames
from mgem_core.cli import parse
from mgem_core.config.keys import expected_keys
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures.configs import command

CONFIGS = [
    {},
    {"benchmark": "mnist5k-split", "method": "mer", "seed": 3},
    {"method": "single", "iterations": 10},
    {"method": "ewc", "lr": 1e-5, "ewc_lambda": 0.1 + 0.2, "ewc_fisher": "batch"},
    {"modules": {"fc1": 0, "fc2": 0, "fc3": 1}, "tasks": 3, "strength": (0.5, 0.1)},
    {"iterations": 2, "batch_size": 3, "splits": 2, "split_by": "class", "solver": "approx", "trigger": "always"},
    {"ridge": 1e-3, "ridge_kind": "absolute", "snap_every": 5, "snap_splits": 4, "device": "cuda:1", "probe_every": 0},
]


@pytest.mark.parametrize("fields", CONFIGS, ids=str)
def test_command_reproduces_the_config(fields):
    config = RunConfig(**fields).canonical()
    program, *arguments = shlex.split(command(config))
    options = parse(arguments)
    assert program == "mgem"
    assert RunConfig(**{name: getattr(options, name) for name in RunConfig.model_fields}) == config


def test_command_omits_defaults():
    assert command(RunConfig()) == "mgem run --benchmark mnist5k-permutations"
    split = RunConfig(benchmark="mnist5k-split", method="mer", seed=3)
    assert command(split) == "mgem run --benchmark mnist5k-split --method mer --seed 3"


def test_configs_suffice_to_repeat_a_sweep(store):
    document = json.loads(exported(store, "configs", "json"))
    assert document["sweep"] == "quick look"
    assert SweepSpec.model_validate(document["spec"]).runs() == SPEC.runs()
    assert [run["key"] for run in document["runs"]] == expected_keys(SPEC.runs())
    assert [RunConfig(**run["config"]) for run in document["runs"]] == SPEC.runs()
    assert document["reproduce"] == [command(config) for config in SPEC.runs()]
    runs = frames.runs(store, 1)
    for name in ("id", "label", "status", "acc", "fwd", "bwd"):
        assert [run[name] for run in document["runs"]] == list(runs[name])
    assert {run["fingerprint"] for run in document["runs"]} == {"abc"}
    alone = json.loads(exported(store, "configs", "json", sweep=None, runs=[2]))
    assert (alone["sweep"], alone["spec"], len(alone["runs"])) == (None, None, 1)
