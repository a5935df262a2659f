"""Requests of the workbench: train the chosen settings, run the preset live, add seeds, stop and resume."""

import pytest
import session
from explore import launch, source_choice, training
from explore.component import read_value
from explore.example import example_source
from explore.sources import find_source
from explore.training import handle_trigger, template, train_settings

from mgem_core import UsageError
from mgem_core.config.sweeps import SweepSpec
from mgem_core.paper.presets import EXAMPLE, PRESETS

TWO_TASKS = {"tasks": 2, "iterations": 4, "memory": 12, "device": "cpu"}
SPEC = SweepSpec(
    base=TWO_TASKS,
    grid=[
        {"strength": [0.5], "snap_every": [2], "snap_splits": [2], "seed": [0, 1]},
        {"strength": [0.0, 1.0], "probe_every": [4], "seed": [0, 1]},
    ],
)
WANTED = {"moduleOf": [0, 1, 1, 1, 2, 2], "splits": 2, "strength": 0.25, "solver": "exact"}
WANTED |= {"trigger": "always", "step_length": "free"}


@pytest.fixture
def shown(store, monkeypatch):
    """Collect which sources are opened, toasts and questions."""
    found = {"source": [], "toast": [], "question": []}
    monkeypatch.setattr(session, "put_source_in_url", found["source"].append)
    monkeypatch.setattr(session, "queue_toast", found["toast"].append)
    monkeypatch.setattr(session, "read_once", lambda name, store, subject, read: read())
    monkeypatch.setattr(training, "ask_to_run", lambda *asked: found["question"].append(asked))
    monkeypatch.setattr(launch.runner_process, "wake_runner", lambda: None)
    monkeypatch.setattr(launch, "clear_selection", lambda: None)
    return found


def new_configs(store, sweep):
    spec = SweepSpec.model_validate(store.sweep(sweep)["spec"])
    return [config for config in spec.runs() if config.splits == 2]


def check_wanted(configs, probe_every):
    assert {config.module_of for config in configs} == {(0, 1, 1, 1, 2, 2)}
    assert {(config.splits, config.strength, config.trigger) for config in configs} == {(2, 0.25, "always")}
    assert {(config.probe_every, config.snap_every) for config in configs} == {(probe_every, 0)}


def test_chosen_settings_join_their_sweep_with_all_its_seeds(store, shown):
    store.submit(SPEC)
    handle_trigger(store, find_source(store, "s1"), "train", WANTED)
    assert shown["toast"] == ["2 runs added."]
    assert store.counts(1)["queued"] == 8
    assert {config.seed for config in new_configs(store, 1)} == {0, 1}
    check_wanted(new_configs(store, 1), 4)  # probed like the other trained runs
    handle_trigger(store, find_source(store, "s1"), "train", WANTED)
    assert store.counts(1)["queued"] == 8


def test_settings_chosen_for_the_example_are_a_new_sweep_with_recordings(store, shown):
    handle_trigger(store, example_source(), "train", WANTED)
    assert shown["source"] == ["s1"]
    assert {config.seed for config in new_configs(store, 1)} == set(range(6))
    check_wanted(new_configs(store, 1), 5)  # probed like the trained runs of the example
    assert len(SweepSpec.model_validate(store.sweep(1)["spec"]).runs()) == 12


def test_long_training_is_confirmed_first(store, shown, monkeypatch):
    monkeypatch.setattr(training, "needs_confirmation", lambda store, configs: True)
    store.submit(SPEC)
    handle_trigger(store, find_source(store, "s1"), "train", WANTED)
    [(name, spec, sweep)] = shown["question"]
    assert (name, sweep) == ("md-GEM(3*,2) with strength 0.25", 1)
    assert len(spec.runs()) == 8
    assert store.counts(1)["queued"] == 6


@pytest.mark.parametrize("wanted", [None, 3, {}, {**WANTED, "moduleOf": [0]}, {**WANTED, "moduleOf": "x"}, [1]])
def test_unreadable_settings_are_refused(store, wanted):
    config, _, _ = template(store, example_source())
    with pytest.raises(UsageError, match="reload the page"):
        train_settings(config, wanted)


def test_impossible_settings_are_explained(store, shown):
    store.submit(SPEC)
    handle_trigger(store, find_source(store, "s1"), "train", {**WANTED, "splits": 500})
    [toast] = shown["toast"]
    assert toast.startswith("splits is 500")


def test_preset_is_run_live(store, shown):
    handle_trigger(store, example_source(), "live", None)
    assert shown["source"] == ["s1"]
    assert store.counts(1)["queued"] == len(PRESETS[EXAMPLE].spec.runs())


@pytest.mark.parametrize(("value", "added"), [(2, 2), (0, 0), (-1, 0), (10**9, 0), ("3", 0), (None, 0), ([2], 0)])
def test_seeds_are_added(store, shown, value, added):
    store.submit(SPEC)
    handle_trigger(store, find_source(store, "s1"), "add", value)
    assert store.counts(1)["queued"] == 6 + 3 * added


def test_value_of_a_trigger_is_read():
    assert read_value('{"splits": 2}') == {"splits": 2}
    assert read_value("3") == 3
    assert read_value(3) == 3
    assert read_value("no JSON") is None
    assert read_value("[" * 100_000) is None


def test_runs_are_stopped_and_resumed(store, shown, monkeypatch):
    source = find_source(store, f"s{store.submit(SPEC)}")
    handle_trigger(store, source, "runs", "stop")
    assert (store.counts(1)["cancelled"], shown["toast"]) == (6, ["Stopping. Finished runs keep their results."])
    handle_trigger(store, source, "runs", "resume")
    assert store.counts(1)["queued"] == 6
    handle_trigger(store, example_source(), "runs", "stop")
    assert store.counts(1)["queued"] == 6


def test_another_source_is_shown_unless_it_was_deleted(store, shown, monkeypatch):
    monkeypatch.setattr(source_choice, "clear_selection", lambda: None)
    store.submit(SPEC)
    for key in ("s1", "s2", "example", None):
        handle_trigger(store, example_source(), "source", key)
    assert shown["source"] == ["s1", "example"]
