"""Conversion of form values to a SweepSpec, and back."""

from dataclasses import replace
from itertools import product
from typing import get_args

import pytest
from explore import form, form_words
from explore.form_check import expand_form, launched_spec
from explore.partition_bar import network_layers, partition_bar

from mgem_core import RunConfig
from mgem_core.config.sweeps import SweepSpec
from mgem_core.learners import METHOD_OF_FAMILY, METHODS
from mgem_core.paper.presets import PRESETS
from mgem_core.restriction.restriction import CONVENTIONS
from mgem_core.streams import BENCHMARKS


def labels(**values):
    return [run.label for run in form.build_spec({**form.DEFAULTS, "strengths": "0.5", "seeds": "0", **values}).runs()]


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
    assert set(form.build_spec(form.form_values(spec)).runs()) == set(spec.without_recordings().runs())


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_shown(name):
    spec = PRESETS[name].spec
    values = form.form_values(spec)
    problem, runs = expand_form(values, spec)
    assert problem or set(runs) == set(spec.runs())
    assert set(values["benchmarks"]) == {run.benchmark for run in spec.runs()}


def test_run_round_trip():
    base = {"benchmark": "mnist5k-rotations", "modules": 3, "strength": 0.2, "lr": 0.05, "tasks": 3, "trigger": "always"}
    spec = SweepSpec(base=base, grid={"seed": [7]})
    assert form.build_spec(form.form_values(spec)).runs() == spec.runs()


@pytest.mark.parametrize(
    ("values", "name", "sentence"),
    [
        ({"families": []}, "families", "Methods: choose at least one."),
        ({"benchmarks": []}, "benchmarks", "Benchmark: choose at least one."),
        ({"seeds": " "}, "seeds", "Seeds: give at least one, for example 0-5."),
        ({"strengths": ""}, "strengths", "Strengths q: give at least one, for example 0, 0.1, 1."),
        ({"seeds": "0, abc"}, "seeds", "Seeds: “abc” is not a whole number or a range such as 0-9."),
        ({"strengths": "abc"}, "strengths", "Strengths q: “abc” is not a number."),
        ({"families": ["p-mGEM"], "modules": [1]}, "modules", "Modules: p-mGEM needs a number above 1."),
        ({"families": ["d-mGEM"], "splits": []}, "splits", "Splits: d-mGEM needs a number above 1."),
        ({"families": ["md-GEM"], "splits": [1]}, "splits", "Splits: md-GEM needs a number above 1."),
        (
            {"partition": "fc1=0"},
            *("partition", "Custom partition: fc2.weight is in no module; assign every layer or tensor to one."),
        ),
        (
            {"partition": "fc=0"},
            *(
                "partition",
                "Custom partition: fc=0 names no layer; a prefix ends at a dot, for example fc1=0 for all names",
            ),
        ),
        (
            {"memory": 5000},
            *("memory", "Samples kept per task: 5,000 is not possible; a task of 100 steps × 10 samples shows 1000"),
        ),
        ({"strengths": "-1"}, "strengths", "Strengths q: -1 is not from 0 to a million."),
        ({"trigger": []}, "trigger", "When to restrict: choose at least one."),
        ({"families": ["EWC"], "partition": "fc1=0,fc2=0,fc3=1", "strengths": ""}, "strengths", "Strengths q: give"),
        (
            {"network": "conv5"},
            *("network", "Network: conv5 is not possible; it needs images of at least 32 × 32, and MNIST Permutations"),
        ),
        ({"lr": 0.0}, "lr", "Learning rate: 0 is not possible; it must be greater than 0."),
        (
            {"snap_every": 5, "snap_splits": 300},
            *("snap_splits", "Memory splits in snapshots: 300 is not possible; memory holds 256 samples per task."),
        ),
        (
            {"snap_every": 5, "snap_splits": 20, "split_by": ["class"]},
            *("snap_splits", "Memory splits in snapshots: 20 is not possible; a task has 10 classes"),
        ),
    ],
)
def test_invalid_values_are_explained_at_their_fields(values, name, sentence):
    problems, runs = expand_form({**form.DEFAULTS, **values})
    assert list(problems) == [name]
    assert problems[name].startswith(sentence)
    assert not runs


def test_all_lists_that_cannot_be_read_are_explained():
    assert set(expand_form({**form.DEFAULTS, "seeds": "abc", "strengths": "abc"})[0]) == {"seeds", "strengths"}


def test_messages_contain_no_field_names():
    wrong = [{name: 10**9} for name in form.NUMBERS if name not in form.FRACTIONS] + [{"validation": 1.0}]
    for values in [*wrong, {"tasks": 3, "benchmarks": ["digits-domains"], "domains": "uci+mnist"}, {"partition": "fc1=x"}]:
        families = ["GEM", "ER", "EWC", "MER", "A-GEM"]
        for message in expand_form({**form.DEFAULTS, "families": families, "snap_every": 5, **values})[0].values():
            assert not any(f"{name} is" in message or "_" in message.replace("g_", "") for name in RunConfig.model_fields)
            assert "{" not in message


def test_one_module_and_one_split_are_gem():
    assert labels(families=["p-mGEM"], modules=[1, 2]) == ["GEM", "p-mGEM(2)"]
    assert labels(families=["d-mGEM"], splits=[1, 3]) == ["GEM", "d-mGEM(3)"]


def test_counts_are_offered_to_methods_that_use_them():
    assert not form.uses_count("modules", ["GEM", "d-mGEM", "ER"])
    assert form.uses_count("modules", ["A-GEM"])
    assert not form.uses_count("splits", ["GEM", "p-mGEM", "A-GEM"])
    assert form.uses_count("splits", ["approx-GEM"])


def test_default_convention_is_that_of_gems_code():
    assert form.convention_of(form.DEFAULTS) == "on-conflict"
    for name, convention in CONVENTIONS.items():
        fields = {field: [value] for field, value in convention.fields.items()}
        assert form.convention_of({**form.DEFAULTS, **fields}) == name
        assert {
            (run.trigger, run.step_length) for run in expand_form({**form.DEFAULTS, **fields, "strengths": "1"})[1]
        } == {tuple(convention.fields.values())}
    assert form.convention_of({**form.DEFAULTS, "step_length": ["gradient"]}) == form.CUSTOM_CONVENTION


def test_every_choice_has_a_title():
    for name, choice in form_words.CHOICES.items():
        assert list(choice.titles) == list(get_args(RunConfig.model_fields[name].annotation))


def test_recordings_are_added_on_request():
    assert launched_spec({**form.DEFAULTS, "record": True}).record["strength"] == 0.5
    assert launched_spec({**form.DEFAULTS, "record": False}).record is None
    assert launched_spec({**form.DEFAULTS, "families": ["ER"]}).record is None
    assert form.form_values(launched_spec(form.DEFAULTS))["record"]


def test_valid_values_have_no_problem(monkeypatch, tmp_path):
    assert expand_form(form.DEFAULTS)[0] == {}
    monkeypatch.setenv("MGEM_DATA", str(tmp_path))
    missing = expand_form({**form.DEFAULTS, "benchmarks": ["mnist-rotations"]})[0]["benchmarks"]
    assert missing.startswith("Benchmark: mnist-rotations needs MNIST")
    assert missing.endswith("mgem data fetch mnist.")


def test_snapshots_are_off_by_default():
    unrecorded = {**form.DEFAULTS, "record": False}
    assert {run.snap_every for run in expand_form(unrecorded)[1]} == {0}
    chosen = {**unrecorded, "families": ["GEM", "EWC"], "snap_every": 10, "snap_splits": 6}
    problem, runs = expand_form(chosen)
    assert not problem
    assert {(run.method, run.snap_every, run.snap_splits) for run in runs} == {("gem", 10, 6), ("ewc", 0, 0)}
    values = form.form_values(form.build_spec(chosen))
    assert (values["snap_every"], values["snap_splits"]) == (10, 6)


def test_snapshot_splits_are_ignored_without_snapshots():
    values = {**form.DEFAULTS, "snap_splits": 300}
    assert expand_form(values) == expand_form(form.DEFAULTS)
    assert expand_form({**values, "snap_every": 0})[0] == {}


def test_choice_and_order_of_domains():
    values = {**form.DEFAULTS, "record": False, "benchmarks": ["digits-domains"], "seeds": "0", "strengths": "0.5"}
    chosen = {**values, "domains": "uci+mnist, mnist+uci+photographs"}
    problem, runs = expand_form(chosen)
    assert not problem
    assert [(run.domains, run.tasks) for run in runs] == [("uci+mnist", 2), ("mnist+uci+photographs", 3)]
    assert form.form_values(form.build_spec(chosen))["domains"] == "uci+mnist,mnist+uci+photographs"
    assert [run.domains for run in expand_form(values)[1]] == [""]
    assert expand_form({**values, "domains": "uci+usps"})[0]["domains"].startswith("Domains: uci+usps is not possible;")


def test_only_chosen_domains_need_data(monkeypatch, tmp_path):
    monkeypatch.setenv("MGEM_DATA", str(tmp_path))
    values = {**form.DEFAULTS, "benchmarks": ["digit-five"]}
    assert expand_form({**values, "domains": "synthetic"})[0] == {}
    assert expand_form({**values, "domains": "synthetic+usps"})[0]["benchmarks"].startswith(
        "Benchmark: digit-five needs USPS"
    )
    assert expand_form(values)[0]["benchmarks"].startswith("Benchmark: digit-five needs MNIST")


def test_partition_bar_has_a_block_per_tensor():
    html = partition_bar(network_layers("mlp", "mnist5k-permutations"), 3)
    assert html.count("<span title=") == 6
    assert len({part.split(";")[0] for part in html.split("background:")[1:]}) == 3
    assert "fc1.weight: 78,400 parameters, module 1" in html


def test_blocks_of_a_partition_bar_can_shrink():
    html = partition_bar(network_layers("resnet18", "mnist5k-permutations"), 4)
    assert html.count("<span title=") == 62
    assert html.count("1 0;min-width:0;") == 62  # no block has a minimum width
    assert "gap:0px" in html


def test_partition_bar_shows_the_chosen_network(monkeypatch):
    digits = BENCHMARKS["mnist5k-permutations"]
    monkeypatch.setitem(BENCHMARKS, "photos", replace(digits, name="photos", shape=(3, 32, 32), classes=100))
    assert "fc1.weight: 307,200 parameters, module 1" in partition_bar(network_layers("mlp", "photos"), "layers")
    assert "conv5.bias: 100 parameters, module 9" in partition_bar(network_layers("conv5", "photos"), "layers")
    assert "fc.bias: 100 parameters, module 62" in partition_bar(network_layers("resnet18", "photos"), "tensors")
    assert network_layers("conv5", "mnist5k-permutations") == []


def test_agem_uses_modules_and_partitions():
    wanted = {
        **form.DEFAULTS,
        "record": False,
        "families": ["A-GEM"],
        "modules": [1, 3, 4],
        "partition": "fc1=0,fc2=0,fc3=1",
    }
    problem, runs = expand_form(wanted)
    assert problem == {}
    assert {run.label for run in runs} == {"A-GEM", "A-GEM(3)", "A-GEM(4)", "A-GEM(2*)"}
    values = form.form_values(form.build_spec(wanted))
    assert (values["families"], values["modules"], values["partition"]) == (["A-GEM"], [1, 3, 4], "fc1=0,fc2=0,fc3=1")


def test_new_method_uses_its_form_values(monkeypatch):
    fields = ("modules", "splits", "strength", "trigger", "memory")
    mine = replace(METHODS["agem"], name="mine", label=lambda config: "Mine", fields=fields, options={})
    monkeypatch.setitem(METHODS, "mine", mine)
    monkeypatch.setitem(METHOD_OF_FAMILY, "Mine", "mine")
    wanted = {
        **form.DEFAULTS,
        "record": False,
        "families": ["Mine"],
        "modules": [1, 4],
        "splits": [1, 3],
        "strengths": "0.1, 0.5",
        "seeds": "0",
    }
    problem, runs = expand_form(wanted)
    assert problem == {}
    assert {(run.modules, run.splits, run.strength) for run in runs} == set(product([1, 4], [1, 3], [0.1, 0.5]))
    assert expand_form({**wanted, "trigger": []})[0] == {"trigger": "When to restrict: choose at least one."}
    assert expand_form({**wanted, "split_by": []})[0] == {}


def test_options_of_a_method_are_part_of_the_form():
    chosen = {
        "record": False,
        "families": ["ER", "EWC"],
        "seeds": "0",
        "ewc_lambda": 2.5,
        "ewc_fisher": ["batch", "sample"],
    }
    values = {**form.DEFAULTS, **chosen}
    problem, runs = expand_form(values)
    assert problem == {}
    assert {(run.ewc_lambda, run.ewc_fisher) for run in runs if run.method == "ewc"} == {(2.5, "batch"), (2.5, "sample")}
    assert len(runs) == 3  # ER does not use them
    assert expand_form({**values, "families": ["ER"], "ewc_lambda": -1.0})[0] == {}
    spec = form.build_spec(values)
    shown = form.build_spec(form.form_values(spec))
    assert {run.canonical() for run in shown.runs()} == {run.canonical() for run in spec.runs()}


def test_every_option_of_every_method_has_a_widget():
    options = {name for method in METHODS.values() for name in method.options}
    assert options <= form.DEFAULTS.keys()
    for family, method in METHOD_OF_FAMILY.items():
        assert set(form.used_options([family])) == set(METHODS[method].options)
