"""The page Lens, without a browser."""

import json

import pytest
from lens.example_runs import SPEC, example_recordings
from lens.payload import payload
from lens.sources import example, recorded_sources, train_settings
from pages import open_page, texts
from trained_store import trained_store

from mgem_core import UsageError, recordings
from mgem_core.sweeps import SweepSpec

RECORDED = SweepSpec(
    base={"tasks": 2, "iterations": 4, "memory": 12, "probe_every": 0, "snap_every": 2, "snap_splits": 2},
    grid={"strength": [0.0, 1.0], "seed": [0, 1]},
)


def lens_data(app):
    [found] = [one for one in app.get("bidi_component") if one.proto.component_name == "lens"]
    return json.loads(json.loads(found.proto.json)["payload"])


def test_before_anything_was_trained_the_example_is_shown(store):
    app = open_page("lens")
    assert not app.exception
    assert app.selectbox(key="lens of").value == "example"
    assert len(lens_data(app)["recordings"]) == len(SPEC.runs())
    assert "nothing is trained" in texts(app)


def test_recorded_runs_are_opened_together_if_they_differ_in_their_seeds_alone(store):
    trained_store(store.path, RECORDED)
    sources = recorded_sources(store)
    assert [source.seeds for source in sources] == [(0, 1), (0, 1)]
    app = open_page("lens")
    shown = lens_data(app)
    assert [one["seed"] for one in shown["recordings"]] == [0, 1]
    assert shown["recordings"][0]["tasks"][0]["steps"] == [1, 3]
    other = open_page("lens", of=sources[1].key)
    assert other.selectbox(key="lens of").value == sources[1].key
    assert lens_data(other)["used"]["strength"] != shown["used"]["strength"]


def test_what_is_chosen_in_the_lens_can_be_trained_with_the_recorded_seeds():
    wanted = {"moduleOf": [0, 1, 1, 1, 2, 2], "splits": 6, "strength": 0.25, "solver": "exact", "trigger": "always"}
    configs = example().spec(train_settings(example_recordings()[0].layers, wanted)).runs()
    assert {config.seed for config in configs} == set(range(6))
    assert {config.module_of for config in configs} == {(0, 1, 1, 1, 2, 2)}
    assert {(config.splits, config.strength, config.trigger) for config in configs} == {(6, 0.25, "always")}
    with pytest.raises(UsageError, match="reload the page"):
        train_settings(example_recordings()[0].layers, {"moduleOf": [0]})


def test_recordings_of_different_configurations_are_not_mixed(store):
    trained_store(store.path, RECORDED)
    one, other = (recordings.of_run(store, source.runs[0]) for source in recorded_sources(store))
    with pytest.raises(UsageError, match="differ in more than their seeds"):
        payload([one, other], "both")


def test_the_recorded_runs_that_come_with_the_tool_are_those_of_their_configuration():
    for config, recording in zip(SPEC.runs(), example_recordings(), strict=True):
        assert recording.seed == config.seed
        assert (recording.used["strength"], recording.used["trigger"]) == (config.strength, config.trigger)
        assert recording.snapshots[0].sizes.shape == (config.tasks - 1, config.snap_splits)
        assert recording.snapshots[0].sizes.sum() == config.memory
        assert len(recording.snapshots) == -(-config.iterations // config.snap_every)
