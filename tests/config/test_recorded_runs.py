"""The recordings of a sweep, and which runs they replace."""

import pytest
from pydantic import ValidationError

from mgem_core import RunConfig
from mgem_core.config.recorded_runs import why_not_recorded
from mgem_core.config.sweeps import SweepSpec, configuration_of, default_record, trained_configuration_of
from mgem_core.store import Store

BASE = {"tasks": 3, "iterations": 50, "memory": 24}
RECORD = {"strength": 0.5, "snap_every": 2, "snap_splits": 6}
BASELINE = {"method": "gem", "modules": 1, "splits": 1, "strength": 0.5, "solver": "exact"}


def sweep(record=RECORD, base=BASE, **grid):
    return SweepSpec(base=base, grid={"modules": [1, 4], "strength": [0.0, 0.3], "seed": [0, 1], **grid}, record=record)


def recorded_by_default(**fields):
    return default_record(SweepSpec(base=BASE, grid=fields).runs())


def test_recordings_come_first_and_are_counted_once_per_seed():
    spec = sweep({**RECORD, "modules": 1})
    recordings = spec.recordings()
    assert [(one.label, one.strength, one.seed) for one in recordings] == [("GEM", 0.5, 0), ("GEM", 0.5, 1)]
    assert {(one.tasks, one.memory, one.snap_every, one.snap_splits) for one in recordings} == {(3, 24, 2, 6)}
    assert spec.runs() == [*recordings, *spec.without_recordings().runs()]


def test_sweep_without_record_has_no_recordings():
    assert sweep(record=None).recordings() == []
    assert {run.snap_every for run in sweep(record=None).runs()} == {0}


@pytest.mark.parametrize("measured", [{}, {"probe_every": 10}, {"probe_every": 0, "probe_samples": 100}])
def test_recording_replaces_the_equal_run(measured):
    spec = sweep({**RECORD, "modules": 1, "probe_every": 7}, {**BASE, **measured}, strength=[0.0, 0.5])
    runs = spec.runs()
    assert len(runs) == len(spec.without_recordings().runs()) == 8
    assert [run for run in runs if (run.label, run.strength) == ("GEM", 0.5)] == spec.recordings()


@pytest.mark.parametrize("different", [{"lr": 0.05}, {"trigger": "always"}, {"splits": 2}])
def test_recording_replaces_no_run_with_other_results(different):
    spec = SweepSpec(base={**BASE, "strength": 0.5}, grid={"seed": [0]}, record={**RECORD, **different})
    assert [run.snap_every for run in spec.runs()] == [2, 0]


def test_each_benchmark_and_network_is_recorded():
    benchmarks = ["mnist5k-rotations", "mnist5k-permutations"]
    spec = sweep({**BASELINE, **RECORD}, benchmark=benchmarks, network=["mlp", "conv-small"], splits=[1, 2])
    found = {(one.benchmark, one.network, one.seed) for one in spec.recordings()}
    assert len(found) == len(spec.recordings()) == 8


def test_several_lines_can_be_recorded():
    assert [(one.label, one.seed) for one in sweep().recordings()] == [
        (label, seed) for seed in (0, 1) for label in ("GEM", "p-mGEM(4)")
    ]


def test_recordings_have_the_settings_of_their_own_method():
    """Another method of the sweep may have another learning rate."""
    grid = [{"method": ["single"], "lr": [0.03]}, {"method": ["gem"], "strength": [0.0], "lr": [0.2]}]
    spec = SweepSpec(base=BASE, grid=grid, record={**BASELINE, **RECORD})
    assert [one.lr for one in spec.recordings()] == [0.2]
    only_other = SweepSpec(base=BASE, grid=grid[:1], record={**BASELINE, **RECORD})
    assert [one.lr for one in only_other.recordings()] == [0.03]


def test_more_seeds_are_recorded_as_well():
    more = sweep({**RECORD, "modules": 1}).with_more_seeds(2)
    assert [one.seed for one in more.recordings()] == [0, 1, 2, 3]
    assert len(more.runs()) == 4 * 5


def test_recordings_are_trained_first(tmp_path):
    store = Store(tmp_path / "runs.db")
    store.submit(sweep({**RECORD, "modules": 1}))
    assert [store.claim()[1].snap_every for _ in range(4)] == [2, 2, 0, 0]


def test_specs_of_older_versions_are_read():
    older = SweepSpec.model_validate({"base": BASE, "grid": {"seed": [0]}})
    assert older.record is None
    assert SweepSpec.model_validate_json(sweep().model_dump_json()) == sweep()
    with pytest.raises(ValidationError, match="recorded"):
        SweepSpec.model_validate({"base": BASE, "recorded": {}})


def test_invalid_record_is_explained():
    with pytest.raises(ValidationError, match="snap_splits is 30; memory holds 24 samples per task"):
        sweep({**RECORD, "snap_splits": 30}).runs()


def test_default_record_is_gem_at_half_strength():
    convention = {"trigger": "violation", "step_length": "free"}
    assert recorded_by_default(modules=[1, 4]) == {**BASELINE, **convention, "snap_every": 2, "snap_splits": 6}


@pytest.mark.parametrize("convention", [("violation", "free"), ("always", "free"), ("always", "gradient")])
def test_default_record_has_the_convention_of_the_runs(convention):
    """At strength 0, which comes first, the trigger has no effect, and runs do not keep it."""
    trigger, step_length = convention
    record = recorded_by_default(strength=[0.0, 0.3], trigger=[trigger], step_length=[step_length])
    assert (record["trigger"], record["step_length"]) == convention


@pytest.mark.parametrize(
    ("splits", "fields", "recorded"),
    [
        ([1], {}, 6),
        ([1, 2, 3, 6], {}, 6),
        ([1, 4], {}, 4),
        ([2, 4, 6], {}, 12),
        ([5, 4], {}, 5),
        ([1, 2], {"memory": [4]}, 2),
        ([2, 3], {"memory": [5]}, 3),
        ([1, 2], {"benchmark": ["mnist5k-split"], "split_by": ["class"]}, 2),
    ],
)
def test_recorded_splits_can_be_joined_to_those_of_the_runs(splits, fields, recorded):
    assert recorded_by_default(splits=splits, **fields)["snap_splits"] == recorded


def test_at_least_25_steps_of_each_task_are_recorded():
    assert recorded_by_default(iterations=[100])["snap_every"] == 4
    assert recorded_by_default(iterations=[7])["snap_every"] == 1
    assert recorded_by_default(iterations=[200, 60])["snap_every"] == 2


def test_one_recording_per_seed_if_options_vary():
    grid = {"ridge": [1e-3, 1e-7], "splits": [2], "split_by": ["class", "order"], "solver": ["exact", "approx"]}
    spec = SweepSpec(base=BASE, grid={**grid, "trigger": ["always", "violation"], "seed": [0, 1]}).with_default_record()
    assert [(one.seed, one.ridge, one.split_by, one.trigger) for one in spec.recordings()] == [
        (seed, 1e-3, "class", "always") for seed in (0, 1)
    ]


def test_shared_options_are_recorded_without_being_repeated():
    spec = SweepSpec(base=BASE, grid={"ridge": [1e-3], "lr": [0.05], "strength": [0.0, 1.0]}).with_default_record()
    assert "ridge" not in spec.record
    assert [(one.ridge, one.lr, one.strength) for one in spec.recordings()] == [(1e-3, 0.05, 0.5)]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"method": ["single", "er"]}, "these runs have no method of the GEM family"),
        ({"tasks": [1]}, "tasks is 1; curves need 2 to 5 tasks"),
        ({"tasks": [3, 6]}, "tasks is 6; curves need 2 to 5 tasks"),
        ({"network": ["mlp", "conv-small"]}, "network is mlp, conv-small; curves need a single network"),
        (
            {"benchmark": ["mnist-rotations"], "probe_every": [0]},
            "probe_every is 0, and snapshots of mnist-rotations cost as much as probes; set it to at least 1",
        ),
    ],
)
def test_nothing_is_recorded_where_curves_are_of_no_use(fields, reason):
    runs = SweepSpec(base=BASE, grid=fields).runs()
    assert default_record(runs) is None
    assert why_not_recorded(runs) == reason
    assert SweepSpec(base=BASE, grid=fields, record=RECORD).with_default_record().recordings() == []


@pytest.mark.parametrize(
    "fields", [{"probe_every": [0]}, {"benchmark": ["mnist-rotations"]}, {"method": ["single", "gem"]}, {"tasks": [2, 5]}]
)
def test_default_record_exists_where_curves_are_affordable(fields):
    assert recorded_by_default(**fields)


def test_snapshots_make_no_other_configuration_of_results():
    """But the lens does not mix recordings of different steps."""
    recorded, other, unrecorded = (
        RunConfig(**BASE, probe_every=0, **fields).stored()
        for fields in ({"snap_every": 5, "snap_splits": 6, "seed": 3}, {"snap_every": 2}, {})
    )
    assert trained_configuration_of(recorded) == trained_configuration_of(other) == configuration_of(unrecorded)
    assert len({configuration_of(recorded), configuration_of(other), configuration_of(unrecorded)}) == 3


def test_configurations_of_other_versions_ignore_snapshots_too():
    stored = '{"benchmark":"of tomorrow","seed":1,"snap_every":%s}'
    assert trained_configuration_of(stored % '5,"snap_splits":6') == trained_configuration_of(stored % 0)
