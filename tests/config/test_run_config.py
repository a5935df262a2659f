from dataclasses import replace

import pytest
from pydantic import ValidationError

from mgem_core import RunConfig
from mgem_core.config import explain
from mgem_core.networks import NETWORKS
from mgem_core.streams import BENCHMARKS


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({}, "GEM"),
        ({"modules": 4}, "p-mGEM(4)"),
        ({"splits": 2}, "d-mGEM(2)"),
        ({"modules": 4, "splits": 2}, "md-GEM(4,2)"),
        ({"modules": 4, "splits": 2, "solver": "approx"}, "approx-GEM(4,2)"),
        ({"solver": "approx"}, "approx-GEM(1,1)"),
        ({"modules": "layers"}, "p-mGEM(3)"),
        ({"modules": "tensors"}, "p-mGEM(6)"),
        ({"modules": {"fc1": 0, "fc2": 0, "fc3": 1}}, "p-mGEM(2*)"),
        ({"modules": {"fc1": 3, "fc2": 3, "fc3": 3}}, "GEM"),
        ({"method": "single"}, "Single"),
        ({"method": "independent"}, "Independent"),
        ({"method": "ewc"}, "EWC"),
        ({"method": "mer"}, "MER"),
    ],
)
def test_labels_are_the_papers(fields, label):
    assert RunConfig(**fields).label == label


def test_fields_left_out_are_the_benchmarks():
    config = RunConfig(benchmark="mnist5k-split")
    assert (config.network, config.tasks, config.iterations, config.memory) == ("conv-small", 5, 100, 64)
    assert RunConfig(benchmark="mnist5k-split", lr=None, tasks=None) == config


def test_a_benchmark_must_decide_the_fields_that_have_no_other_default(monkeypatch):
    defaults = {name: value for name, value in BENCHMARKS["mnist5k-split"].defaults.items() if name != "tasks"}
    monkeypatch.setitem(BENCHMARKS, "mnist5k-split", replace(BENCHMARKS["mnist5k-split"], defaults=defaults))
    with pytest.raises(ValidationError) as caught:
        RunConfig(benchmark="mnist5k-split")
    assert explain(caught.value) == "tasks is None; it must be a valid integer."
    assert RunConfig(benchmark="mnist5k-split", tasks=2).tasks == 2


def test_a_short_task_has_less_to_remember():
    assert RunConfig(iterations=5).memory == 50
    assert RunConfig(iterations=50).memory == 256
    assert RunConfig(method="single", iterations=5, memory=256).memory == 256


def test_text_is_read_as_the_terminal_gives_it():
    config = RunConfig(modules="fc1=0,fc2=0,fc3=1", strength="0.5,0.1", tasks="3", lr="0.05")
    assert config.modules == {"fc1": 0, "fc2": 0, "fc3": 1}
    assert config.strength == (0.5, 0.1)
    assert config.tasks == 3


def test_a_config_survives_json():
    mapping = {"fc1": 0, "fc2": 0, "fc3": 1}
    for fields in ({}, {"strength": (0.1, 0.2, 0.3, 0.4)}, {"modules": mapping}, {"modules": "layers"}):
        config = RunConfig(**fields)
        again = RunConfig.model_validate_json(config.model_dump_json())
        assert again == config
        assert hash(again) == hash(config)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"modules": 0}, "modules is 0; it must be from 1 to 6, the number of this network's parameter tensors."),
        ({"modules": 2.5}, 'modules is 2.5; it must be a whole number, "layers", "tensors", or a mapping like'),
        (
            {"modules": {"fc1": 0}},
            "modules is {'fc1': 0}; 'fc2.weight' is in no module; assign every layer or tensor to one.",
        ),
        (
            {"modules": "layer"},
            'modules is \'layer\'; it must be a whole number, "layers", "tensors", or a mapping like',
        ),
        (
            {"modules": "fc1=0,fc2=0,fc4=0"},
            "modules is {'fc1': 0, 'fc2': 0, 'fc4': 0}; 'fc4' is no layer or tensor of this network; "
            "its parts are fc1, fc2, fc3.",
        ),
        ({"network": "vgg"}, f"network is 'vgg'; it must be one of {', '.join(NETWORKS)}."),
        ({"splits": 0}, "splits is 0; it must be greater than or equal to 1."),
        ({"splits": 300}, "splits is 300; memory holds 256 samples per task."),
        ({"splits": 11, "split_by": "class"}, "splits is 11; a task has 10 classes, and splits are by class."),
        ({"strength": (0.1, 0.2)}, "strength is (0.1, 0.2); 5 tasks have 4 past tasks, so it must be that many."),
        ({"strength": float("inf")}, "strength is inf; it must be a number from 0 to a million"),
        ({"memory": 2000}, "memory is 2000; a task of 100 iterations × 10 samples shows 1000 different ones"),
        ({"benchmark": "mnist5k-split", "tasks": 6}, "tasks is 6; mnist5k-split has at most 5."),
        ({"lr": float("nan")}, "lr is nan; it must be a finite number."),
        ({"seed": -1}, "seed is -1; it must be greater than or equal to 0."),
        ({"solver": "magic"}, "solver is 'magic'; it must be one of exact, approx."),
        ({"colour": "red"}, "colour is no field of a run; there are benchmark, method,"),
        ({"benchmark": 3}, f"benchmark is 3; it must be one of {', '.join(BENCHMARKS)}."),
        ({"iterations": "many"}, "iterations is 'many'; it must be a valid integer."),
        ({"device": "gpu"}, "device is 'gpu'; it must be auto, cpu, cuda, cuda:N or mps."),
    ],
)
def test_every_bad_value_gets_one_sentence(fields, sentence):
    with pytest.raises(ValidationError) as caught:
        RunConfig(**fields)
    assert explain(caught.value).startswith(sentence)
    assert "\n" not in explain(caught.value)


@pytest.mark.parametrize(
    ("fields", "is_warned"),
    [
        ({"strength": 1.0}, False),  # these seven were trained on 20 permutations of MNIST
        ({"strength": 3.0}, True),
        ({"splits": 2, "strength": 0.3}, False),
        ({"splits": 2, "strength": 1.0}, True),
        ({"modules": 4, "solver": "approx", "strength": 0.3}, False),
        ({"modules": 4, "solver": "approx", "strength": 1.0}, True),  # one seed of four fell to 16 %
        ({"modules": 4, "splits": 2, "solver": "approx", "strength": 0.3}, True),
        ({"tasks": 3, "trigger": "always", "strength": 3.0}, False),  # these three on 3 tasks of built-in digits
        ({"tasks": 3, "trigger": "always", "strength": 10.0}, True),
        ({"tasks": 3, "strength": 10.0}, True),
        ({"splits": 2, "strength": 1.0, "strength_per": "task"}, False),
        ({"splits": 2, "strength": 3.0, "strength_per": "task"}, True),
        ({"tasks": 5, "strength": 3.0}, True),  # these two on Digit-Five, where the first ended 18 points lower
        ({"tasks": 5, "strength": 1.0}, False),
        ({"strength": (5.0, 0.0, 0.0), "tasks": 4}, False),
        ({"strength": (10.0, 10.0, 10.0), "tasks": 4}, True),
        ({"strength": 3.0, "step_length": "gradient"}, False),
        ({"strength": 3.0, "strength_kind": "margin"}, False),
        ({"strength": 3.0, "method": "single"}, False),
        ({"strength": 3.0, "tasks": 1}, False),
    ],
)
def test_a_run_whose_floors_add_up_to_a_collapse_is_warned_of(fields, is_warned):
    caution = RunConfig(**{"tasks": 20, **fields}).caution
    assert bool(caution) == is_warned
    if is_warned:
        assert "try a strength of at most" in caution
