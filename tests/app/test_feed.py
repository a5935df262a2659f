"""The feed: what viewers of a source get from the server, at first and while runs train."""

import base64
import gc
import json
import socket
import time
import weakref
from pathlib import Path

import hub as hubs
import numpy as np
import pytest
import session
from boundary import guard_network
from explore import live_source
from explore.opened_sources import open_source
from fed import read_first, read_until, serving, wait_until, watch
from feed import Feed
from filled_store import fill, finish, known_store, probe
from token_gate import require_token
from trained_store import trained_store
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from mgem_core.analysis import frames, measurements
from mgem_core.analysis.aggregate import View
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Snapped, Started, Stepped, TaskLearned
from mgem_core.store import StoreUnavailableError

TWO_TASKS = {"tasks": 2, "iterations": 4, "memory": 12, "probe_every": 2, "device": "cpu"}
RECORDING = {"strength": [0.5], "snap_every": [2], "snap_splits": [2]}
SPEC = SweepSpec(
    base=TWO_TASKS,
    grid=[{**RECORDING, "seed": [1, 0]}, {"modules": [1, 4], "strength": [0.0, 1.0], "seed": [0, 1]}],
)
HEADER = {
    *("kind", "source", "title", "benchmark", "benchmarkTitle", "tasks", "seeds", "strengths", "layers", "partitions"),
    *("lines", "used", "defaults", "cancelled", "rule", "canTrain", "every"),
}


@pytest.fixture
def feed(monkeypatch):
    monkeypatch.setattr(hubs, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(hubs, "ACTIVE_SECONDS", 0.02)
    monkeypatch.setattr(live_source, "PROGRESS_SECONDS", 0.05)
    return Feed(open_source)


@pytest.fixture
def port(store, feed):
    with serving(feed) as port:
        yield port


def snapped(task, step, tensors=6, splits=2):
    M = 2 + task + task * splits
    return Snapped(task, step, np.tile(np.eye(M), (tensors, 1, 1)), np.full((task, splits), 6))


def of_kind(kind):
    return lambda message: message["kind"] == kind


def test_first_messages_of_a_trained_sweep(store, port):
    trained_store(store.path, SPEC)
    with watch(port, "s1") as viewer:
        first = read_first(viewer)
        [verdicts] = read_until(viewer, of_kind("verdicts"))
    [header] = first["header"]
    assert set(header) == HEADER
    assert (header["source"], header["tasks"], header["seeds"], header["every"]) == ("s1", 2, [0, 1], 1)
    assert header["benchmark"] == "mnist5k-permutations"
    assert header["strengths"] == [0.0, 0.5, 1.0]
    assert [line["name"] for line in header["lines"]] == ["GEM", "p-mGEM(4)"]
    assert header["used"]["strength"] == [0.5]
    assert header["canTrain"]
    assert [(one["recording"], one["task"], one["steps"]) for one in first["snapshots"]] == [(0, 1, [1, 3]), (1, 1, [1, 3])]
    recorded = next(run for run, config in store.run_values(["id", "config"]) if json.loads(config)["snap_every"])
    stored = [factors for _, _, factors, _ in store.packed_snapshots(recorded)]
    sent = np.frombuffer(base64.b64decode(first["snapshots"][1]["factors"]), "<f4")  # the first run has seed 1
    np.testing.assert_array_equal(sent, np.stack(stored).ravel())
    assert first["snapshots"][0]["sizes"] == [[[6, 6]], [[6, 6]]]
    [configurations] = first["configurations"]
    assert [one["index"] for one in configurations["items"]] == list(range(5))
    assert {(one["label"], one["q"]) for one in configurations["items"]} == {
        *(("GEM", 0.0), ("GEM", 0.5), ("GEM", 1.0)),
        *(("p-mGEM(4)", 0.0), ("p-mGEM(4)", 1.0)),
    }
    [runs] = first["runs"]
    assert sum(run["isRecording"] for run in runs["items"]) == 2
    for run in runs["items"]:
        assert (run["status"], run["progress"], np.shape(run["R"])) == ("finished", 1.0, (2, 2))
        assert list(run["pairs"]) == ["0,1"]
        assert len(run["pairs"]["0,1"]) == 6
    [progress] = first["progress"]
    assert (progress["counts"]["finished"], progress["share"], progress["isActive"]) == (10, 1.0, False)
    assert progress["recordings"] == [2, 2]
    assert progress["msPerStep"] > 0
    assert progress["notes"] == []
    assert "At least 4 shared seeds are needed" in verdicts["sentences"][0]
    assert verdicts["seedsToAdd"] == 3


def test_configurations_have_the_keys_of_the_points(store, port):
    known_store(store.path, SPEC)
    with watch(port, "s1") as viewer:
        [configurations] = read_first(viewer)["configurations"]
    points = measurements.points(store, frames.runs(store, 1), View())
    assert [one["key"] for one in configurations["items"]] == points["key"].tolist()
    assert [one["line"] for one in configurations["items"]] == points["line"].tolist()


def test_viewer_gets_increments_while_a_run_trains(store, port):
    store.submit(SPEC)
    with watch(port, "s1") as viewer:
        first = read_first(viewer)
        assert first["header"][0]["seeds"] == [0, 1]  # none of them has started
        assert "snapshots" not in first
        run, config = store.claim()
        assert config.snap_every
        store.record([(run, Started("GEM", ("a", "b"), 4, 10, 0, 0)), (run, Stepped(0, 4, 1.0, 0.0, 0.01, 0))])
        store.record([(run, TaskLearned(0, np.array([90.0, 10.0]), 1.0))])
        last = read_until(viewer, lambda one: one["kind"] == "runs" and one["items"][0]["R"])[-1]
        [item] = last["items"]
        assert (item["id"], item["status"], item["R"], item["pairs"]) == (run, "running", [[90.0, 10.0]], {})
        for step in (1, 3):
            store.record([(run, snapped(1, step)), (run, probe(1, np.array([0.5]), 2.0))])
            last = read_until(viewer, of_kind("snapshots"))[-1]
            assert (last["recording"], last["task"], last["steps"]) == (1, 1, [step])  # seed 1 is the second
        finish(store, run, R=np.array([[90.0, 10.0], [70.0, 85.0]]), probes=[probe(1, np.array([0.5]), 2.0)])
        last = read_until(viewer, lambda one: one["kind"] == "runs" and one["items"][0]["status"] == "finished")[-1]
        assert last["items"][0]["R"] == [[90.0, 10.0], [70.0, 85.0]]
        assert last["items"][0]["pairs"]["0,1"] == [0.5, 2.0, 0.5, 2.0, pytest.approx(0.5 / 1.5), pytest.approx(0.8)]
        done = read_until(viewer, lambda one: one["kind"] == "progress" and one["counts"]["finished"] == 1)[-1]
        assert done["recordings"] == [1, 2]
        assert done["isActive"]
    with watch(port, "s1") as late:  # whoever comes later gets the same steps in one message
        [snapshots] = read_first(late)["snapshots"]
    assert snapshots["steps"] == [1, 3]


def test_added_seeds_and_configurations_are_announced(store, port):
    known_store(store.path, SPEC)
    with watch(port, "s1") as viewer:
        read_first(viewer)
        store.extend(1, SPEC.with_more_seeds(1))
        messages = read_until(viewer, of_kind("runs"))
        [header] = [message for message in messages if message["kind"] == "header"]
        assert header["seeds"] == [0, 1, 2]
        assert {run["seed"] for run in messages[-1]["items"]} == {2}
        more = SweepSpec(base=SPEC.base, grid=[*SPEC.with_more_seeds(1).grids, {"method": ["er"], "seed": [0]}])
        store.extend(1, more)
        messages = read_until(viewer, of_kind("configurations"))
        assert messages[-1]["items"][-1]["label"] == "ER"
        assert messages[-1]["items"][-1]["moduleOf"] is None


def test_viewers_share_one_hub_that_ends_after_them(store, feed, port, monkeypatch):
    monkeypatch.setattr(hubs, "GRACE_SECONDS", 0.0)
    known_store(store.path, SPEC)
    opened = []
    feed.open_source = lambda key: opened.append(key) or open_source(key)
    with watch(port, "s1") as one, watch(port, "s1") as other:
        assert read_first(one)["header"] == read_first(other)["header"]
        assert opened == ["s1"]
        [hub] = map(weakref.ref, feed.hubs.values())
    wait_until(lambda: not feed.hubs)
    wait_until(lambda: not gc.collect() and hub() is None)


class Chatter:
    """A source with a megabyte of news at every look."""

    is_active, count = True, 0

    def everything(self):
        return [{"kind": "header", "count": self.count}]

    def advance(self):
        self.count += 1
        return [{"kind": "news", "count": self.count, "text": "x" * 1_000_000}]


def test_viewer_that_never_reads_is_disconnected_and_delays_nobody(feed, monkeypatch):
    monkeypatch.setattr(hubs, "MOST_WAITING_CHARACTERS", 3_000_000)
    feed.open_source = lambda key: Chatter()
    with serving(feed) as port, watch(port, "s1", max_queue=1) as idle, watch(port, "s1") as busy:
        counts = [message["count"] for message in read_until(busy, lambda message: message["count"] == 60)]
        assert counts == list(range(counts[0], 61))
        with pytest.raises(ConnectionClosed) as closed:
            read_until(idle, lambda message: message["count"] == 1000)
        assert closed.value.rcvd is None or closed.value.rcvd.code == hubs.BEHIND


class Costly:
    """A source of which every look takes CPU time."""

    is_active, spent = True, 0.0

    def everything(self):
        return [{"kind": "header"}]

    def advance(self):
        start = time.thread_time()
        while time.thread_time() - start < 0.02:
            pass
        self.spent += time.thread_time() - start
        return [{"kind": "news", "spent": self.spent}]


def test_hub_uses_only_its_share_of_a_core(feed, monkeypatch):
    monkeypatch.setattr(hubs, "BURST_SECONDS", 0.1)
    costly = Costly()
    feed.open_source = lambda key: costly
    start = time.monotonic()
    with serving(feed) as port, watch(port, "s1") as viewer:
        read_until(viewer, lambda message: message.get("spent", 0.0) > 0.2)
        assert costly.spent < hubs.BURST_SECONDS + hubs.MOST_TIME * (time.monotonic() - start) + 0.1


def test_deleted_sweep_is_gone(store, port):
    known_store(store.path, SPEC)
    with watch(port, "s1") as viewer:
        read_first(viewer)
        store.delete_sweep(1)
        assert "was deleted" in read_until(viewer, of_kind("gone"))[-1]["message"]
        with pytest.raises(ConnectionClosed):
            viewer.recv(timeout=20)


def test_replaced_store_is_gone(store, port, tmp_path):
    known_store(store.path, SPEC)
    other = known_store(tmp_path / "other.db", SPEC, shift=5.0)
    with watch(port, "s1") as viewer:
        read_first(viewer)
        for ending in ("-wal", "-shm"):
            Path(f"{store.path}{ending}").unlink(missing_ok=True)
        other.close()
        other.path.replace(store.path)
        assert "was replaced" in read_until(viewer, of_kind("gone"))[-1]["message"]
    with watch(port, "s1") as viewer:
        assert read_first(viewer)["runs"][0]["items"][0]["R"][0][0] == 95.0


@pytest.mark.parametrize(
    "source",
    [
        "s99",
        "r99",
        "",
        "s",
        "x",
        "s-1",
        "s1;DROP%20TABLE%20runs",
        "%00",
        "s" + "9" * 400,
        "s1&source=s2",
        "%F0%9F%92%A9",
        "../x",
    ],
)
def test_unknown_source_is_answered_with_one_sentence(store, feed, port, source):
    with watch(port, source) as viewer:
        message = json.loads(viewer.recv(timeout=20))
        assert message["kind"] == "gone"
        assert message["message"].startswith("There is no ")
        assert message["message"].isprintable()
        with pytest.raises(ConnectionClosed):
            viewer.recv(timeout=20)
    wait_until(lambda: not feed.hubs)


def test_unusable_store_is_answered_with_one_sentence(store, port, monkeypatch):
    def fail():
        raise StoreUnavailableError("runs.db cannot be opened.")

    monkeypatch.setattr(session, "shared_store", fail)
    with watch(port, "s1") as viewer:
        assert read_first(viewer)["gone"][0]["message"] == "runs.db cannot be opened."


def test_error_of_the_store_is_a_note_until_it_has_passed(store, port, monkeypatch):
    known_store(store.path, SPEC)
    with watch(port, "s1") as viewer:
        read_first(viewer)
        read = live_source.LiveSource._read_changes

        def fail(self):
            raise StoreUnavailableError("runs.db could not be read: disk I/O error.")

        monkeypatch.setattr(live_source.LiveSource, "_read_changes", fail)
        store.rename(1, "a change")
        noted = read_until(viewer, lambda one: one["kind"] == "progress" and one["notes"])[-1]
        assert noted["notes"] == ["runs.db could not be read: disk I/O error."]
        assert noted["counts"]["finished"] == 10
        monkeypatch.setattr(live_source.LiveSource, "_read_changes", read)
        assert read_until(viewer, of_kind("progress"))[-1]["notes"] == []


def test_run_that_is_recorded_again_with_other_code_starts_again(store, port):
    trained_store(store.path, SPEC)
    with watch(port, "s1") as viewer:
        read_first(viewer)
        with store.database.transaction() as db:
            db.execute("UPDATE runs SET key = 'other' WHERE id = 1")
        with pytest.raises(ConnectionClosed) as closed:
            read_until(viewer, lambda message: False)
        assert closed.value.rcvd.code == hubs.RESTARTED
    with watch(port, "s1") as viewer:
        assert len(read_first(viewer)["snapshots"]) == 2


def test_example_is_sent_without_a_store(port):
    with watch(port, "example") as viewer:
        messages = read_until(viewer, of_kind("configurations"))
    assert messages[0]["seeds"] == list(range(6))
    assert messages[0]["canTrain"]
    assert {message["recording"] for message in messages if message["kind"] == "snapshots"} == set(range(6))


def test_viewer_that_sends_messages_is_not_disturbed(store, port):
    known_store(store.path, SPEC)
    with watch(port, "s1") as viewer:
        viewer.send("hello")
        viewer.send(b"\x00" * 1000)
        read_first(viewer)


def test_runner_is_kept_alive_while_runs_wait(store, port, monkeypatch):
    checked = []
    monkeypatch.setattr("runner_process.check_runner", lambda store: checked.append(store) or ("error", "It is broken."))
    store.submit(SPEC)
    with watch(port, "s1") as viewer:
        assert read_first(viewer)["progress"][0]["notes"] == ["It is broken."]
        wait_until(lambda: len(checked) > 2)
        fill(store)
        done = read_until(viewer, lambda one: one["kind"] == "progress" and not one["isActive"])[-1]
        assert "It is broken." not in done["notes"]


@pytest.mark.parametrize(
    "headers", [{"host": "evil.test"}, {"origin": "http://evil.test"}, {"origin": "null"}, {"origin": "http://127.0.0.1:1"}]
)
def test_other_sites_are_refused(store, feed, headers):
    with serving(feed, guard_network) as port, pytest.raises(InvalidStatus) as refused:
        watch_as(port, **headers)
    assert refused.value.response.status_code == 403


def watch_as(port, host="127.0.0.1", **headers):
    connection = socket.create_connection(("127.0.0.1", port))
    address = f"ws://{host}:{port}/feed?source=example"
    return connect(address, sock=connection, proxy=None, additional_headers=headers)


def test_own_pages_are_admitted(store, feed):
    with serving(feed, guard_network) as port:
        origin = {"origin": f"http://127.0.0.1:{port}"}
        with watch(port, "example", additional_headers=origin) as viewer:
            assert json.loads(viewer.recv(timeout=20))["kind"] == "header"


def test_viewer_without_the_token_is_refused(store, feed):
    with serving(feed, lambda app: require_token(app, "secret")) as port, pytest.raises(InvalidStatus) as refused:
        watch(port, "example")
    assert refused.value.response.status_code == 403
