"""Recordings that are opened from files."""

import json

import hostile_recordings
import pytest
from explore import recorded_steps
from explore.recording_files import recording_messages
from pages import open_page, workbench
from trained_store import trained_store

from mgem_core import UsageError
from mgem_core.config.sweeps import SweepSpec
from mgem_core.lens import recordings
from mgem_core.paper.published import example

RECORDED = SweepSpec(
    base={"tasks": 2, "iterations": 4, "memory": 12, "probe_every": 0, "snap_every": 2, "snap_splits": 2},
    grid={"strength": [0.0, 1.0]},
)


def upload(*files):
    app = open_page("explore")
    app.session_state["is opening"] = True
    app.run().file_uploader[0].set_value([(name, content, "application/octet-stream") for name, content in files])
    return app.run()


def header_of(app):
    return json.loads(workbench(app)["messages"])[0]


def test_file_is_shown_without_a_feed(store):
    app = upload(("good.lens", example.recording_file(3).read_bytes()))
    data, header = workbench(app), header_of(app)
    assert (data["feed"], data["canTrain"], header["canTrain"]) == (None, False, False)
    assert (header["title"], header["seeds"], header["tasks"]) == ("good.lens", [3], 3)


def test_unreadable_file_is_reported_and_the_page_still_works(store):
    app = upload(("bad.lens", b"PK"))
    assert not app.exception
    assert [error.value.replace("\\", "") for error in app.error] == [
        "'bad.lens' is no recording of mgem, or it is damaged; record it again."
    ]
    assert workbench(app)["source"] == "example"
    both = upload(("bad.lens", b"PK"), ("good.lens", example.recording_file(0).read_bytes()))
    assert "'bad.lens' is no recording of mgem" in both.warning[0].value.replace("\\", "")
    assert header_of(both)["title"] == "good.lens"


def test_incompatible_files_are_reported(store):
    app = upload(("a.lens", example.recording_file(0).read_bytes()), ("b.lens", hostile_recordings.packed()))
    assert not app.exception
    assert "differ in more than their seeds" in app.error[0].value
    assert workbench(app)["source"] == "example"


def test_uploaded_file_is_read_once(store, monkeypatch):
    read, parse = [], recordings.parse
    monkeypatch.setattr(recordings, "parse", lambda *values: read.append(values[1]) or parse(*values))
    app = upload(("a.lens", example.recording_file(0).read_bytes()), ("b.lens", example.recording_file(1).read_bytes()))
    for _ in range(3):
        assert header_of(app.run())["seeds"] == [0, 1]
    assert read == ["a.lens", "b.lens"]


def test_recordings_of_different_configurations_are_not_mixed(store):
    trained_store(store.path, RECORDED)
    with pytest.raises(UsageError, match="differ in more than their seeds"):
        recording_messages([recordings.of_run(store, run) for run in (1, 2)], "both", "files")


def test_long_recordings_are_thinned(monkeypatch):
    all_steps = [one["steps"] for one in recording_messages(example.recordings(), "", "files")[1:]]
    numbers = sum(recording.numbers for recording in example.recordings())
    monkeypatch.setattr(recorded_steps, "MOST_NUMBERS", numbers // 2)
    monkeypatch.setattr(recorded_steps, "MOST_IN_MESSAGE", numbers)
    header, *steps = recording_messages(example.recordings(), "", "files")
    assert header["every"] == 2
    assert [one["steps"] for one in steps] == [found[::2] for found in all_steps]


def test_bundled_recordings_have_their_stated_configuration():
    for config, recording in zip(example.spec().recordings(), example.recordings(), strict=True):
        assert recording.seed == config.seed
        assert (recording.used["strength"], recording.used["trigger"]) == (config.strength, config.trigger)
        assert recording.snapshots[-1].sizes.shape == (config.tasks - 1, config.snap_splits)
        assert recording.snapshots[0].sizes.sum() == config.memory
        assert len(recording.snapshots) == (config.tasks - 1) * -(-config.iterations // config.snap_every)
