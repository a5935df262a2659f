"""The page Lens, without a browser."""

import json

import hostile_recordings
import numpy as np
import pytest
from lens import trained
from lens.example_runs import SPEC, example_recordings, file_of
from lens.payload import payload
from lens.sources import example, recorded_sources, train_settings
from lens.trained import MOST_NUMBERS, is_training, trained_as
from pages import open_page, texts
from trained_store import trained_store

from mgem_core import UsageError
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Finished
from mgem_core.lens import recordings

RECORDED = SweepSpec(
    base={"tasks": 2, "iterations": 4, "memory": 12, "probe_every": 0, "snap_every": 2, "snap_splits": 2},
    grid={"strength": [0.0, 1.0], "seed": [0, 1]},
)


def component(app, name):
    [found] = [one for one in app.get("bidi_component") if one.proto.component_name == name]
    return json.loads(found.proto.json)


def lens_data(app):
    return json.loads(component(app, "lens")["payload"])


def trained_data(app):
    return json.loads(component(app, "trained"))


def test_example_is_shown_before_any_training(store):
    app = open_page("lens")
    assert not app.exception
    assert app.selectbox(key="lens of").value == "example"
    assert len(lens_data(app)["recordings"]) == len(SPEC.runs())
    assert "nothing is trained" in texts(app)


def test_recorded_seeds_are_opened_together(store):
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


def test_chosen_settings_are_trained_with_the_recorded_seeds():
    wanted = {"moduleOf": [0, 1, 1, 1, 2, 2], "splits": 6, "strength": 0.25, "solver": "exact", "trigger": "always"}
    configs = example().spec(train_settings(example_recordings()[0].layers, wanted)).runs()
    assert {config.seed for config in configs} == set(range(6))
    assert {config.module_of for config in configs} == {(0, 1, 1, 1, 2, 2)}
    assert {(config.splits, config.strength, config.trigger) for config in configs} == {(6, 0.25, "always")}
    assert {(config.probe_every, config.snap_every) for config in configs} == {(SPEC.base["snap_every"], 0)}
    with pytest.raises(UsageError, match="reload the page"):
        train_settings(example_recordings()[0].layers, {"moduleOf": [0]})


def test_recordings_of_different_configurations_are_not_mixed(store):
    trained_store(store.path, RECORDED)
    one, other = (recordings.of_run(store, source.runs[0]) for source in recorded_sources(store))
    with pytest.raises(UsageError, match="differ in more than their seeds"):
        payload([one, other], "both")


def test_bundled_recordings_have_their_stated_configuration():
    for config, recording in zip(SPEC.runs(), example_recordings(), strict=True):
        assert recording.seed == config.seed
        assert (recording.used["strength"], recording.used["trigger"]) == (config.strength, config.trigger)
        assert recording.snapshots[0].sizes.shape == (config.tasks - 1, config.snap_splits)
        assert recording.snapshots[0].sizes.sum() == config.memory
        assert len(recording.snapshots) == -(-config.iterations // config.snap_every)


def recorded(store):
    """A recorded configuration in the store."""
    trained_store(store.path, SweepSpec(base={**RECORDED.base, "strength": 0.5}, grid={"seed": [0, 1]}))
    [source] = recorded_sources(store)
    return source


def train(store, source, **settings):
    trained_store(store.path, SweepSpec(base={**source.spec({}).base, **settings}, grid={"seed": [0, 1]}))


def test_trained_runs_are_found_with_their_probes(store):
    source = recorded(store)
    assert trained_as(store, source, {})["configurations"] == []  # the recorded runs took no probes
    train(store, source, splits=2, strength=1.0, trigger="always", device="auto")
    [found] = trained_as(store, source, {})["configurations"]
    assert (found["moduleOf"], found["splits"], found["strength"]) == ([0] * 6, 2, 1.0)
    assert (found["solver"], found["trigger"]) == ("exact", "always")
    assert [(run["seed"], run["status"]) for run in found["runs"]] == [(0, "finished"), (1, "finished")]
    [part] = found["runs"][0]["tasks"]
    assert (part["task"], part["steps"]) == (1, lens_data(open_page("lens"))["recordings"][0]["tasks"][0]["steps"])
    run = next(record["id"] for record in store.run_records() if record["config"].get("splits") == 2)
    [first, *_] = [data for _, _, data in store.events([run], ["Probed"])]
    expected = [*first["gs_z"], first["gt_z"], first["norm_z"], *first["norm_gs"], first["norm_gt"]]
    np.testing.assert_allclose(part["values"][0], expected, rtol=1e-6)


@pytest.mark.parametrize(
    "other", [{"lr": 0.05}, {"memory": 10}, {"step_length": "gradient"}, {"method": "agem"}, {"tasks": 3}]
)
def test_runs_with_other_fixed_settings_are_not_shown_as_trained(store, other):
    source = recorded(store)
    train(store, source, **other)
    assert trained_as(store, source, {})["configurations"] == []


@pytest.mark.parametrize(("probe_every", "counts"), [(1, True), (3, False), (0, False)])
def test_only_fully_probed_runs_count_as_trained(store, probe_every, counts):
    source = recorded(store)
    assert source.config["snap_every"] == 2
    train(store, source, strength=1.0, probe_every=probe_every)
    assert bool(trained_as(store, source, {})["configurations"]) == counts


def test_recordings_of_a_retrained_run_can_be_opened(store):
    spec = SweepSpec(base={**RECORDED.base, "strength": 0.5}, grid={"seed": [0, 1]})
    trained_store(store.path, spec)
    store.submit(spec, "again", again=True)
    trained_store(store.path, spec)
    trained_store(store.path, SweepSpec(base={**RECORDED.base, "strength": 2.0}))
    newest, older = recorded_sources(store)
    assert older.replaced
    assert open_page("lens", of=f"r{older.replaced[0]}").selectbox(key="lens of").value == older.key != newest.key


def test_trigger_without_effect_is_not_compared(store):
    source = recorded(store)
    train(store, source, strength=0.0, trigger="always")
    [found] = trained_as(store, source, {})["configurations"]
    assert found["trigger"] is None


def test_measured_run_of_a_seed_comes_before_a_training_one(store):
    source = recorded(store)
    spec = source.spec({"strength": 1.0})
    store.submit(spec, "now")
    [found] = trained_as(store, source, {})["configurations"]
    assert [run["status"] for run in found["runs"]] == ["queued", "queued"]
    assert is_training(trained_as(store, source, {}))
    trained_store(store.path, spec)
    store.submit(SweepSpec(base={**spec.base, "probe_every": 1}, grid={"seed": [0, 1]}), "again")
    [found] = trained_as(store, source, {})["configurations"]
    assert [run["status"] for run in found["runs"]] == ["finished", "finished"]


def test_diverged_run_is_reported_and_has_no_point(store):
    source = recorded(store)
    store.submit(source.spec({"strength": 1.0}), "diverging")
    while claimed := store.claim():
        run, _ = claimed
        nothing = np.full((2, 2), np.nan)
        store.record([(run, Finished("diverged", "the loss is not finite", nothing, *[np.nan] * 5, ""))])
    [found] = trained_as(store, source, {})["configurations"]
    assert {run["status"] for run in found["runs"]} == {"diverged"}
    assert not any(run["tasks"] for run in found["runs"])
    assert not is_training(trained_as(store, source, {}))


def test_oldest_configurations_are_omitted_if_the_list_is_too_long(store, monkeypatch):
    source = recorded(store)
    for strength in (1.0, 2.0):
        train(store, source, strength=strength)
    numbers = 2 * 2 * 5  # seeds, probed steps, numbers of a probe with one past task
    assert numbers < MOST_NUMBERS
    monkeypatch.setattr(trained, "MOST_NUMBERS", numbers)
    found = trained_as(store, source, {})
    assert [one["strength"] for one in found["configurations"]] == [2.0]
    assert found["left_out"] == 1


def test_page_sends_trained_runs_to_the_lens(store):
    source = recorded(store)
    train(store, source, strength=1.0)
    app = open_page("lens")
    assert trained_data(app)["source"] == lens_data(app)["source"] == source.key
    assert [one["strength"] for one in trained_data(app)["configurations"]] == [1.0]
    other = open_page("lens", of="example")
    assert trained_data(other) == {"source": "example", "configurations": [], "left_out": 0}
    assert lens_data(other)["source"] == "example"


def upload(*files):
    app = open_page("lens")
    app.file_uploader[0].set_value([(name, content, "application/octet-stream") for name, content in files])
    return app.run()


def test_unreadable_file_is_reported_and_the_page_still_works(store):
    app = upload(("bad.lens", b"PK"))
    assert not app.exception
    assert [error.value.replace("\\", "") for error in app.error] == [
        "'bad.lens' is no recording of mgem, or it is damaged; record it again."
    ]
    assert lens_data(app)["source"] == "example"
    both = upload(("bad.lens", b"PK"), ("good.lens", file_of(0).read_bytes()))
    assert len(both.error) == 1
    assert [one["name"] for one in lens_data(both)["recordings"]] == ["good.lens"]


def test_incompatible_files_are_reported(store):
    app = upload(("a.lens", file_of(0).read_bytes()), ("b.lens", hostile_recordings.packed()))
    assert not app.exception
    assert "differ in more than their seeds" in app.error[0].value
    assert lens_data(app)["source"] == "example"


def test_uploaded_file_is_read_once(store, monkeypatch):
    read, parse = [], recordings.parse
    monkeypatch.setattr(recordings, "parse", lambda *values: read.append(values[1]) or parse(*values))
    app = upload(("a.lens", file_of(0).read_bytes()), ("b.lens", file_of(1).read_bytes()))
    for _ in range(3):
        assert [one["seed"] for one in lens_data(app.run())["recordings"]] == [0, 1]
    assert read == ["a.lens", "b.lens"]
