"""The selected runs: their settings, their comparison and their curves."""

import json

import numpy as np
import pytest
from filled_store import FOUR_RUNS, TWO_TASKS, finish, matrix_with
from runs import selected_runs
from runs.comparison import compare_fields, comparison_table
from runs.curves import mean_accuracies, read_steps
from runs.selected_runs import load_runs, run_names

from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Stepped, TaskLearned
from mgem_core.store import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs.db")


def test_runs_are_loaded_in_order_if_they_exist(store):
    store.submit(FOUR_RUNS)
    assert [run["id"] for run in load_runs(store, [3, 99, 1, 3, 10**30])] == [3, 1]
    assert load_runs(store, []) == []


def test_names_contain_what_differs(store):
    store.submit(SweepSpec(base=TWO_TASKS, grid=[{"strength": [0.1, 0.9]}, {"method": ["ewc"]}]))
    store.submit(SweepSpec(base=TWO_TASKS, grid={"strength": [0.1], "seed": [1]}))
    assert run_names(load_runs(store, [1])) == ["r1 GEM"]
    assert run_names(load_runs(store, [1, 2, 3])) == ["r1 GEM, q = 0.1", "r2 GEM, q = 0.9", "r3 EWC"]
    assert run_names(load_runs(store, [1, 4])) == ["r1 GEM, seed 0", "r4 GEM, seed 1"]


def test_run_has_only_the_fields_of_its_method(store):
    store.submit(SweepSpec(base={**TWO_TASKS, "modules": 4}))
    store.submit(SweepSpec(base={"method": "ewc", "ewc_lambda": 3.0}))
    gem, ewc = load_runs(store, [1, 2])
    assert selected_runs.non_default_fields(gem["config"]) == ["modules", "tasks", "iterations", "memory"]
    assert selected_runs.non_default_fields(ewc["config"]) == ["ewc_lambda"]
    assert not {"strength", "memory", "mer_beta"} & set(ewc["config"])
    assert "ewc_lambda" not in gem["config"]


def test_unknown_benchmark_has_no_defaults():
    config = {"benchmark": "gone", "method": "gem", "lr": 0.1}
    assert selected_runs.default_values(config) == {}
    assert selected_runs.non_default_fields(config) == list(config)


def test_differing_and_shared_fields_are_separated(store):
    store.submit(FOUR_RUNS)
    differing, shared = compare_fields(load_runs(store, [1, 4]))
    assert differing == ["modules", "strength"]
    assert {"benchmark", "tasks", "lr"} <= set(shared)
    store.submit(SweepSpec(base={**TWO_TASKS, "method": "single"}))
    differing, shared = compare_fields(load_runs(store, [1, 5]))
    assert differing == ["method"]  # only one of the two runs has the other fields


def test_comparison_shows_results_and_differing_fields(store):
    store.submit(FOUR_RUNS)
    for run, acc in ((1, 81.0), (2, 83.004), (3, 83.001)):
        finish(store, run, R=matrix_with(acc))
    runs = load_runs(store, [1, 2, 3, 4])
    columns, rows = comparison_table(runs, compare_fields(runs)[0])
    results = ["run", "label", "status", "acc", "fwd", "bwd", "seconds"]
    assert [column["name"] for column in columns] == [*results, "modules", "strength"]
    assert all(set(row["cells"]) == {column["name"] for column in columns} for row in rows)
    assert [row["cells"]["modules"] for row in rows][1:3] == [{"text": "1", "value": 1}, {"text": "4", "value": 4}]
    assert len({row["color"] for row in rows}) == len(runs)


def test_values_are_readable():
    assert selected_runs.format_value({"fc1": 0, "fc2": 1}) == "fc1 = 0, fc2 = 1"
    values = (0.5, 1e-3, [0.5, 0.1], 4, "gem", None)
    assert [selected_runs.format_value(value) for value in values] == ["0.5", "0.001", "0.5, 0.1", "4", "gem", "—"]


def test_spec_of_runs_describes_exactly_these_runs(store):
    store.submit(FOUR_RUNS)
    store.submit(SweepSpec(base={"method": "mer", "benchmark": "mnist5k-split", "mer_beta": 0.2}))
    runs = load_runs(store, [2, 3, 5])
    spec = selected_runs.spec_of_runs(runs)
    assert [json.loads(run.stored()) for run in spec.runs()] == [run["config"] for run in runs]
    assert set(spec.grids[0]) == {"benchmark", "method", "seed", "strength", "tasks", "iterations", "memory"}


def test_unrepresentable_fields_are_named():
    spec = SweepSpec(base={"ridge": 0.5, "modules": 4})
    assert selected_runs.unrepresentable_fields(spec, spec) == []
    assert selected_runs.unrepresentable_fields(spec, SweepSpec(base={"modules": 4})) == ["ridge"]
    assert selected_runs.unrepresentable_fields(spec, SweepSpec(grid={"seed": []})) == ["all settings"]


def test_curves_are_in_percent_and_milliseconds(store):
    store.submit(FOUR_RUNS)
    assert read_steps(store, 1).empty
    store.record([(1, Stepped(0, 10, 0.5, 0.25, 0.002, 0)), (1, TaskLearned(0, np.array([80.0, 10.0]), 1.0))])
    [row] = read_steps(store, 1).to_dict("records")
    assert (row["violated"], row["ms"], row["loss"]) == (25.0, 2.0, 0.5)
    means = mean_accuracies(np.array([[80.0, 10.0], [60.0, 90.0]]))
    assert list(means["acc"]) == [80.0, 75.0]
    assert list(means["task"] + means["step"]) == [1, 2]
