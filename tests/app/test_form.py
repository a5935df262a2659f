"""Conversion of form values to a SweepSpec, and back."""

from dataclasses import replace
from itertools import product

import pytest
from explore import form
from explore.partition_bar import network_layers, partition_bar

from mgem_core.config.sweeps import SweepSpec
from mgem_core.learners import METHOD_OF_FAMILY, METHODS
from mgem_core.paper.presets import PRESETS
from mgem_core.streams import BENCHMARKS


def labels(**values):
    return [run.label for run in form.build_spec({**form.DEFAULTS, "strengths": [0.5], "seeds": [0], **values}).runs()]


def test_families_use_their_counts():
    counts = {"modules": [2, 4], "splits": [2, 3]}
    assert labels(families=["GEM"], **counts) == ["GEM"]
    assert labels(families=["p-mGEM"], **counts) == ["p-mGEM(2)", "p-mGEM(4)"]
    assert labels(families=["d-mGEM"], **counts) == ["d-mGEM(2)", "d-mGEM(3)"]
    assert labels(families=["md-GEM"], modules=[4], splits=[2]) == ["md-GEM(4,2)"]
    assert labels(families=["approx-GEM"], modules=[4], splits=[2]) == ["approx-GEM(4,2)"]
    assert labels(families=["Single", "EWC"], **counts) == ["Single", "EWC"]


def test_custom_partition_is_a_separate_method():
    custom = {"partition": "fc1=0,fc2=0,fc3=1"}
    assert labels(families=["GEM"], **custom) == ["GEM", "p-mGEM(2*)"]
    assert labels(families=["p-mGEM"], modules=[4], **custom) == ["p-mGEM(4)", "p-mGEM(2*)"]


@pytest.mark.parametrize("name", ["quick-look", "modules-against-strength", "splits-against-strength", "digit-domains"])
def test_preset_round_trip(name):
    spec = PRESETS[name].spec
    assert set(form.build_spec(form.form_values(spec)).runs()) == set(spec.runs())


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_shown(name):
    spec = PRESETS[name].spec
    values = form.form_values(spec)
    problem, runs = form.expand_form(values, spec)
    assert problem or set(runs) == set(spec.runs())
    assert set(values["benchmarks"]) == {run.benchmark for run in spec.runs()}


def test_run_round_trip():
    base = {"benchmark": "mnist5k-rotations", "modules": 3, "strength": 0.2, "lr": 0.05, "tasks": 3, "trigger": "always"}
    spec = SweepSpec(base=base, grid={"seed": [7]})
    assert form.build_spec(form.form_values(spec)).runs() == spec.runs()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"families": []}, "Choose at least one method."),
        ({"benchmarks": []}, "Choose at least one benchmark."),
        ({"seeds": []}, "Choose at least one seed."),
        ({"strengths": []}, "Choose at least one memory strength."),
        ({"families": ["p-mGEM"], "modules": []}, "p-mGEM needs a number of modules greater than 1; add one."),
        ({"families": ["d-mGEM"], "splits": []}, "d-mGEM needs a number of splits greater than 1; add one."),
        ({"families": ["md-GEM"], "splits": []}, "md-GEM needs a number of splits greater than 1; add one."),
        (
            {"partition": "fc1=0"},
            "modules is {'fc1': 0}; 'fc2.weight' is in no module; assign every layer or tensor to one.",
        ),
        (
            {"memory": 5000},
            "Samples kept per task is 5000; a task of 100 iterations × 10 samples shows 1000",
        ),
        ({"strengths": [-1.0]}, "strength is -1.0; it must be a number from 0 to a million"),
        ({"trigger": []}, "Choose at least one trigger."),
        ({"families": ["EWC"], "partition": "fc1=0,fc2=0,fc3=1", "strengths": []}, "Choose at least one memory strength."),
        ({"network": "conv5"}, "network is 'conv5'; it needs images of at least 32 × 32, and mnist5k-permutations has"),
        ({"lr": 0.0}, "Learning rate is 0.0; it must be greater than 0."),
        (
            {"snap_every": 5, "snap_splits": 300},
            "Memory splits in snapshots is 300; memory holds 256 samples per task.",
        ),
        (
            {"snap_every": 5, "snap_splits": 20, "split_by": ["class"]},
            "Memory splits in snapshots is 20; a task has 10 classes, and splits are by class.",
        ),
    ],
)
def test_invalid_values_are_explained(values, sentence):
    problem, runs = form.expand_form({**form.DEFAULTS, **values})
    assert problem.startswith(sentence)
    assert not runs


def test_valid_values_have_no_problem(monkeypatch, tmp_path):
    assert form.expand_form(form.DEFAULTS)[0] == ""
    monkeypatch.setenv("MGEM_DATA", str(tmp_path))
    missing = form.expand_form({**form.DEFAULTS, "benchmarks": ["mnist-rotations"]})[0]
    assert missing.startswith("mnist-rotations needs MNIST")
    assert missing.endswith("mgem data fetch mnist.")


def test_snapshots_are_off_by_default():
    assert {run.snap_every for run in form.expand_form(form.DEFAULTS)[1]} == {0}
    chosen = {**form.DEFAULTS, "families": ["GEM", "EWC"], "snap_every": 10, "snap_splits": 6}
    problem, runs = form.expand_form(chosen)
    assert not problem
    assert {(run.method, run.snap_every, run.snap_splits) for run in runs} == {("gem", 10, 6), ("ewc", 0, 0)}
    values = form.form_values(form.build_spec(chosen))
    assert (values["snap_every"], values["snap_splits"]) == (10, 6)


def test_snapshot_splits_are_ignored_without_snapshots():
    values = {**form.DEFAULTS, "snap_splits": 300}
    assert form.expand_form(values) == form.expand_form(form.DEFAULTS)
    assert form.expand_form({**values, "snap_every": 0})[0] == ""


def test_choice_and_order_of_domains():
    values = {**form.DEFAULTS, "benchmarks": ["digits-domains"], "seeds": [0], "strengths": [0.5]}
    chosen = {**values, "domains": "uci+mnist, mnist+uci+photographs"}
    problem, runs = form.expand_form(chosen)
    assert not problem
    assert [(run.domains, run.tasks) for run in runs] == [("uci+mnist", 2), ("mnist+uci+photographs", 3)]
    assert form.form_values(form.build_spec(chosen))["domains"] == "uci+mnist,mnist+uci+photographs"
    assert [run.domains for run in form.expand_form(values)[1]] == [""]
    assert form.expand_form({**values, "domains": "uci+usps"})[0].startswith(
        "domains is 'uci+usps'; digits-domains has mnist"
    )


def test_only_chosen_domains_need_data(monkeypatch, tmp_path):
    monkeypatch.setenv("MGEM_DATA", str(tmp_path))
    values = {**form.DEFAULTS, "benchmarks": ["digit-five"]}
    assert form.expand_form({**values, "domains": "synthetic"})[0] == ""
    assert form.expand_form({**values, "domains": "synthetic+usps"})[0].startswith("digit-five needs USPS")
    assert form.expand_form(values)[0].startswith("digit-five needs MNIST")


def test_partition_bar_has_a_block_per_tensor():
    html = partition_bar(network_layers("mlp", "mnist5k-permutations"), 3)
    assert html.count("<span title=") == 6
    assert len({part.split(";")[0] for part in html.split("background:")[1:]}) == 3
    assert "fc1.weight: 78,400 parameters, module 1" in html


def test_partition_bar_shows_the_chosen_network(monkeypatch):
    digits = BENCHMARKS["mnist5k-permutations"]
    monkeypatch.setitem(BENCHMARKS, "photos", replace(digits, name="photos", shape=(3, 32, 32), classes=100))
    assert "fc1.weight: 307,200 parameters, module 1" in partition_bar(network_layers("mlp", "photos"), "layers")
    assert "conv5.bias: 100 parameters, module 9" in partition_bar(network_layers("conv5", "photos"), "layers")
    assert "fc.bias: 100 parameters, module 62" in partition_bar(network_layers("resnet18", "photos"), "tensors")
    assert network_layers("conv5", "mnist5k-permutations") == []


def test_agem_uses_modules_and_partitions():
    wanted = {**form.DEFAULTS, "families": ["A-GEM"], "modules": [3, 4], "partition": "fc1=0,fc2=0,fc3=1"}
    problem, runs = form.expand_form(wanted)
    assert problem == ""
    assert {run.label for run in runs} == {"A-GEM", "A-GEM(3)", "A-GEM(4)", "A-GEM(2*)"}
    values = form.form_values(form.build_spec(wanted))
    assert (values["families"], values["modules"], values["partition"]) == (["A-GEM"], [3, 4], "fc1=0,fc2=0,fc3=1")


def test_new_method_uses_its_form_values(monkeypatch):
    fields = ("modules", "splits", "strength", "trigger", "memory")
    mine = replace(METHODS["agem"], name="mine", label=lambda config: "Mine", fields=fields, options={})
    monkeypatch.setitem(METHODS, "mine", mine)
    monkeypatch.setitem(METHOD_OF_FAMILY, "Mine", "mine")
    wanted = {**form.DEFAULTS, "families": ["Mine"], "modules": [4], "splits": [3], "strengths": [0.1, 0.5], "seeds": [0]}
    problem, runs = form.expand_form(wanted)
    assert problem == ""
    assert {(run.modules, run.splits, run.strength) for run in runs} == set(product([1, 4], [1, 3], [0.1, 0.5]))
    assert form.expand_form({**wanted, "trigger": []})[0] == "Choose at least one trigger."
    assert form.expand_form({**wanted, "split_by": []})[0] == ""


def test_options_of_a_method_are_part_of_the_form():
    chosen = {"families": ["ER", "EWC"], "seeds": [0], "ewc_lambda": 2.5, "ewc_fisher": ["batch", "sample"]}
    values = {**form.DEFAULTS, **chosen}
    problem, runs = form.expand_form(values)
    assert problem == ""
    assert {(run.ewc_lambda, run.ewc_fisher) for run in runs if run.method == "ewc"} == {(2.5, "batch"), (2.5, "sample")}
    assert len(runs) == 3  # ER does not use them
    assert form.expand_form({**values, "families": ["ER"], "ewc_lambda": -1.0})[0] == ""
    spec = form.build_spec(values)
    shown = form.build_spec(form.form_values(spec))
    assert {run.canonical() for run in shown.runs()} == {run.canonical() for run in spec.runs()}


def test_every_option_of_every_method_has_a_widget():
    options = {name for method in METHODS.values() for name in method.options}
    assert options <= form.DEFAULTS.keys()
    for family, method in METHOD_OF_FAMILY.items():
        assert set(form.used_options([family])) == set(METHODS[method].options)
