"""The estimated duration of a sweep: from speeds that ship with the tool, or from runs of this machine."""

import pytest
from filled_store import SPEC, filled_store

from mgem_core import RunConfig
from mgem_core.analysis import estimate as estimates
from mgem_core.analysis import frames, machine
from mgem_core.analysis.estimate import Estimate, estimate
from mgem_core.config.reference_speeds import reference_computation, reference_speeds
from mgem_core.config.sweeps import SweepSpec, estimate_seconds, relative_work
from mgem_core.paper.presets import PRESETS
from mgem_core.store import Store

CONV5 = RunConfig(benchmark="split-cifar100", tasks=2, iterations=10, memory=32, device="cpu")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs.db")


@pytest.fixture
def half_speed(monkeypatch):
    monkeypatch.setattr(estimates, "slowness", lambda: 2.0)


def test_empty_store_uses_shipped_speeds(store, half_speed):
    expected = estimate(store, [CONV5, CONV5.model_copy(update={"seed": 1})], workers=2)
    assert expected.seconds == pytest.approx(2 * reference_speeds()["conv5"].seconds_per_sample * relative_work(CONV5))
    assert expected.phrases[0] == "2 runs"
    assert expected.phrases[1].startswith("about ")
    assert expected.phrases[1].endswith(" (estimate for conv5 on 2 cores)")


def test_runs_that_are_queued_already_have_no_second_estimate(store, half_speed):
    spec = SweepSpec(base={"tasks": 2}, grid={"seed": [0, 1]})
    store.submit(spec)
    assert estimate(store, spec.runs(), workers=2).phrases == ["2 runs", "training now"]
    more = SweepSpec(base={"tasks": 2}, grid={"seed": [0, 1, 2]}).runs()
    assert estimate(store, more, workers=2).phrases[1].startswith("about ")
    assert estimate(store, spec.runs(), 2, again=True).phrases[1].startswith("about ")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_an_estimate(store, half_speed, name):
    runs = PRESETS[name].spec.runs()
    expected = estimate(store, runs, workers=2)
    assert expected.seconds > 0
    assert all(config.network in expected.basis for config in runs)


def test_papers_scale_takes_hours_and_must_be_confirmed(store, half_speed):
    for name in ("table-1-cifar", "figure-4"):
        expected = estimate(store, PRESETS[name].spec.runs(), workers=2)
        assert expected.seconds > 3600
        assert expected.to_confirm.startswith("this may take about ")
    assert not estimate(store, PRESETS["quick-look"].spec.runs(), workers=2).to_confirm


def test_speeds_of_this_machine_take_precedence(tmp_path, monkeypatch):
    def fail() -> float:
        raise AssertionError("the machine was measured although it is not needed")

    monkeypatch.setattr(estimates, "slowness", fail)
    store = filled_store(tmp_path / "runs.db", finishes=lambda run: run <= 4)
    configs = SPEC.runs()
    expected = estimate(store, configs, workers=1)
    assert expected.seconds == estimate_seconds(store.without_result(configs), frames.speeds(store), 1)
    assert "estimate" not in expected.phrases[-1]


def test_only_networks_without_finished_runs_are_named(tmp_path, half_speed):
    store = filled_store(tmp_path / "runs.db", finishes=lambda run: run <= 4)
    both = estimate(store, [*SPEC.runs(), CONV5], workers=1)
    assert both.basis == "conv5 on 1 core"
    assert both.seconds > estimate(store, [CONV5], workers=1).seconds


def test_estimates_for_a_gpu_name_their_basis(store, half_speed, monkeypatch):
    monkeypatch.setattr(estimates, "expected_device", lambda wanted: "cuda")
    assert estimate(store, [CONV5], workers=2).basis == "conv5 on 2 cores, without a GPU"


def test_unknown_network_has_no_estimate(store, half_speed, monkeypatch):
    monkeypatch.setattr(estimates, "reference_speeds", dict)
    assert estimate(store, [CONV5], workers=2).phrases == ["1 run", "duration unknown until the first runs have finished"]


@pytest.mark.parametrize(
    ("runs", "seconds", "sentence"),
    [
        (1, 3599.0, ""),
        (1, 3600.0, "this may take about 60 min"),
        (9_999, 10.0, ""),
        (10_000, 10.0, "this is a sweep of 10,000 runs"),
        (10_000, 7200.0, "this may take about 2.0 h"),
        (1, None, ""),
    ],
)
def test_long_and_large_sweeps_are_to_be_confirmed(runs, seconds, sentence):
    assert Estimate(runs, 0, seconds).to_confirm == sentence


def test_machine_is_measured_once(monkeypatch):
    machine.slowness.cache_clear()
    times = iter([3 * reference_computation()])
    monkeypatch.setattr(machine, "measure_computation", lambda: next(times))
    assert machine.slowness() == pytest.approx(3)
    assert machine.slowness() == pytest.approx(3)
    machine.slowness.cache_clear()


def test_measurement_ends_and_is_positive(monkeypatch):
    monkeypatch.setattr(machine, "SECONDS", 0.01)
    assert 0 < machine.measure_computation() < 10
