import io
import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import filled_store
import numpy as np
import pytest

from mgem_core import RunConfig, UsageError, run
from mgem_core.analysis import frames, measurements
from mgem_core.analysis.aggregate import View
from mgem_core.config.keys import expected_keys
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Finished, Snapped, Started, Stepped, TaskLearned
from mgem_core.store import Store, queue
from mgem_core.store.schema import MIGRATIONS
from mgem_core.streams import BENCHMARKS, Dataset

SPEC = SweepSpec(base={"tasks": 2, "iterations": 10, "memory": 20}, grid={"modules": [1, 4], "seed": [0, 1]})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs.db")


def finish(store, run, acc=80.0, status="finished"):
    filled_store.finish(store, run, R=filled_store.matrix_with(acc), probes=[], status=status)


def test_sweep_is_queued_in_order(store):
    sweep = store.submit(SPEC)
    assert store.counts(sweep)["queued"] == 4
    claimed = [store.claim() for _ in range(5)]
    assert claimed[-1] is None
    assert [config for _, config in claimed[:4]] == SPEC.runs()
    assert store.counts(sweep) == {**dict.fromkeys(store.counts(), 0), "running": 4}


def test_second_sweep_shares_existing_runs(store):
    first = store.submit(SPEC)
    for _ in range(4):
        finish(store, store.claim()[0])
    second = store.submit(SPEC)
    assert store.run_ids(second) == store.run_ids(first)
    assert store.counts(second)["finished"] == 4
    third = store.submit(SPEC, again=True)
    assert store.counts(third)["queued"] == 4


def test_process_claims_only_runs_requested_with_its_code(store, monkeypatch):
    older = store.submit(SPEC)
    monkeypatch.setattr("mgem_core.config.keys.code_version", lambda *run: "newer")
    assert store.claim() is None
    assert not store.has_runs_to_claim()
    newer = store.submit(SPEC)
    assert set(store.run_ids(newer)).isdisjoint(store.run_ids(older))
    claimed = [store.claim()[0] for _ in range(4)]
    assert sorted(claimed) == store.run_ids(newer)
    assert store.claim() is None
    for number in claimed:
        finish(store, number)
    assert store.counts(store.submit(SPEC))["finished"] == 4
    assert store.counts(older)["queued"] == 4
    monkeypatch.undo()
    assert store.claim()[0] in store.run_ids(older)


def test_resume_requests_runs_of_older_code_with_current_code(store, monkeypatch):
    sweep = store.submit(SPEC)
    interrupted = store.claim()[0]
    assert store.requested_with_other_code() == []
    monkeypatch.setattr("mgem_core.config.keys.code_version", lambda *run: "newer")
    store.requeue_interrupted()
    assert store.requested_with_other_code() == store.run_ids(sweep) == store.requested_with_other_code(sweep=sweep)
    assert store.requested_with_other_code([interrupted]) == [interrupted]
    assert store.resume(store.run_ids(sweep)) == 4
    assert store.requested_with_other_code() == []
    assert store.resume(store.run_ids(sweep)) == 0  # these are queued already
    assert store.claim()[0] == interrupted
    keys = expected_keys(SPEC.runs())
    assert [run["key"] for run in store.run_records(sweep=sweep)] == keys


def test_run_resumed_with_other_code_is_not_claimed(store, monkeypatch):
    """Another process resumes the run between the two steps of a claim."""
    store.submit(SweepSpec(base=SPEC.base))
    answers = iter([queue.next_run(store.database), None])
    monkeypatch.setattr(queue, "next_run", lambda database: next(answers))
    with store.database.transaction() as db:
        db.execute("UPDATE runs SET code = 'other'")
    assert store.claim() is None
    assert store.counts()["queued"] == 1


def test_run_with_invalid_config_fails_with_message(store):
    """The code that trains the run is the same, but its config is no longer valid."""
    store.submit(SPEC)
    with store.database.transaction() as db:
        db.execute("UPDATE runs SET config = replace(config, 'mnist5k-permutations', 'gone') WHERE id IN (1, 2)")
    assert store.claim()[0] == 3
    failed = store.run_records([1, 2])
    assert [run["status"] for run in failed] == ["failed", "failed"]
    assert failed[0]["error"].startswith("benchmark is 'gone'; it must be one of")


def test_sweep_of_older_code_is_not_reused(store, monkeypatch):
    first = store.submit(SPEC)
    assert store.find_sweep(SPEC) == first
    monkeypatch.setattr("mgem_core.config.keys.code_version", lambda *run: "newer")
    assert store.find_sweep(SPEC) is None


def claimed_sweeps(store, count):
    """Claim this many runs and return the names of their sweeps."""
    return [next(iter(store.sweeps_of([store.claim()[0]]).values())) for _ in range(count)]


def test_sweeps_take_turns(store):
    store.submit(SweepSpec(base=SPEC.base, grid={"seed": list(range(20))}), "long")
    assert claimed_sweeps(store, 3) == ["long"] * 3
    store.submit(SweepSpec(base=SPEC.base, grid={"seed": [30, 31, 32]}), "quick look")
    assert claimed_sweeps(store, 6) == ["quick look", "long"] * 3
    store.submit(SweepSpec(base=SPEC.base, grid={"seed": [40, 41]}), "later")
    assert claimed_sweeps(store, 4) == ["later", "long"] * 2


def test_resumed_runs_take_turns_with_active_runs(store):
    first = store.submit(SweepSpec(base=SPEC.base, grid={"seed": list(range(5))}), "stopped")
    store.cancel(store.run_ids(first))
    store.submit(SweepSpec(base=SPEC.base, grid={"seed": list(range(10, 20))}), "other")
    assert claimed_sweeps(store, 4) == ["other"] * 4
    store.resume(store.run_ids(first))
    assert claimed_sweeps(store, 5) == ["stopped", "stopped", "other", "stopped", "other"]


def test_runs_with_snapshots_are_trained_first(store):
    store.submit(SweepSpec(base=SPEC.base, grid={"seed": [0, 1], "snap_every": [0, 5]}))
    assert [store.claim()[1].snap_every for _ in range(4)] == [5, 5, 0, 0]


class UnreadableData:
    """A dataset that cannot be read."""

    def __init__(self, monkeypatch, benchmark="mnist5k-rotations"):
        def version():
            raise UsageError("/data/pacs/photo/dog cannot be read (Permission denied); allow it.")

        dataset = Dataset("d", "D", Path, lambda thorough: "", None, "1 MB", version=version)
        monkeypatch.setitem(BENCHMARKS, benchmark, replace(BENCHMARKS[benchmark], dataset=dataset))


def test_unreadable_data_fails_only_its_run(store, monkeypatch):
    grid = {"benchmark": ["mnist5k-rotations", "mnist5k-permutations"], "seed": [0, 1]}
    sweep = store.submit(SweepSpec(base=SPEC.base, grid=grid))
    UnreadableData(monkeypatch)
    assert store.requested_with_other_code() == []
    claimed = [store.claim()[1] for _ in range(2)]
    assert {config.benchmark for config in claimed} == {"mnist5k-permutations"}
    assert store.claim() is None
    failed = [run for run in store.run_records(sweep=sweep) if run["status"] == "failed"]
    assert [run["config"]["benchmark"] for run in failed] == ["mnist5k-rotations"] * 2
    assert {run["error"] for run in failed} == {"/data/pacs/photo/dog cannot be read (Permission denied); allow it."}
    store.cancel(store.run_ids(sweep))
    store.requeue_interrupted()
    assert store.resume(store.run_ids(sweep)) == 2  # the data is still unreadable
    assert store.counts(sweep)["failed"] == 2


def test_resubmitting_a_sweep_requeues_failed_and_cancelled_runs(store):
    store.submit(SPEC)
    one, other = store.claim()[0], store.claim()[0]
    store.end(one, "failed", "no luck")
    store.cancel([other])
    store.end(other, "cancelled", "")
    again = store.submit(SPEC)
    assert store.counts(again)["queued"] == 4


def test_cancel_and_resume(store):
    sweep = store.submit(SPEC)
    running = store.claim()[0]
    store.cancel(store.run_ids(sweep))
    assert store.counts(sweep) == {**dict.fromkeys(store.counts(), 0), "cancelled": 3, "running": 1}
    assert store.runs_to_cancel() == [running]
    store.end(running, "cancelled", "")
    assert store.resume(store.run_ids(sweep)) == 4
    assert store.counts(sweep)["queued"] == 4
    assert store.attempts(running) == 0


def test_result_is_final(store):
    store.submit(SPEC)
    done = store.claim()[0]
    finish(store, done)
    store.end(done, "failed", "too late")
    store.requeue(done, failed=True)
    assert store.database.rows("SELECT status FROM runs WHERE id = ?", done)[0]["status"] == "finished"


def test_new_runner_requeues_interrupted_runs(store):
    store.submit(SPEC)
    one, other = store.claim()[0], store.claim()[0]
    store.cancel([other])
    store.requeue_interrupted()
    assert store.claim()[0] == one
    assert store.attempts(one) == 1  # an interrupted attempt does not count
    assert store.counts()["cancelled"] == 1


def test_resumed_run_replaces_events_after_its_checkpoint(store):
    store.submit(SPEC)
    number, config = store.claim()
    events = [event for event in run(config) if not isinstance(event, Finished)]
    store.record([(number, event) for event in events])
    before = frames.series(store, number, "Stepped")
    store.record([(number, Started("GEM", ("a", "b"), 10, 1, 1, 4))])
    remaining = frames.series(store, number, "Stepped")
    assert len(before) == 20
    assert [tuple(row) for row in remaining[["task", "step"]].to_numpy()][-1] == (1, 4)
    later = [e for e in events if isinstance(e, Stepped | TaskLearned) and (e.task, getattr(e, "step", 99)) > (1, 4)]
    store.record([(number, event) for event in later])
    assert frames.series(store, number, "Stepped").equals(before)
    assert frames.matrix(store, number).shape == (2, 2)


def test_resumed_run_keeps_its_task_names(store):
    store.submit(SPEC)
    number, _ = store.claim()
    names = ("MNIST", "SVHN (1,083 images)")
    for start in ((0, 0), (1, 4)):
        store.record([(number, Started("GEM", names, 10, 1, *start))])
        assert store.run_records([number])[0]["task_names"] == [*names]
    assert store.task_names([number, number + 1]) == {number: [*names], number + 1: []}


def test_snapshots_round_trip(store):
    store.submit(SPEC)
    number, config = store.claim()
    taken = [e for e in run(config.model_copy(update={"snap_every": 5})) if isinstance(e, Snapped)]
    store.record([(number, event) for event in taken])
    for one, back in zip(taken, store.snapshots(number), strict=True):
        lengths = np.sqrt(np.diagonal(one.gram, axis1=1, axis2=2))
        allowed = 1e-6 * lengths[:, :, None] * lengths[:, None]
        assert (np.abs(back.gram - one.gram) <= allowed).all()
        np.testing.assert_array_equal(back.sizes, one.sizes)


def test_snapshots_of_older_versions_are_positive_semidefinite(store):
    """Older versions stored Gram matrices in float32; rounding gives parallel rows negative eigenvalues."""
    rows = np.random.default_rng(0).normal(size=(2, 1, 50)) + 1e-5 * np.random.default_rng(1).normal(size=(2, 8, 50))
    gram = (rows @ rows.swapaxes(1, 2)).astype(np.float32)
    assert np.linalg.eigvalsh(gram.astype(float)).min() < 0
    store.submit(SPEC)
    number, _ = store.claim()
    file = io.BytesIO()
    np.savez_compressed(file, gram=gram, sizes=np.array([[10, 10]]))
    with store.database.transaction() as db:
        db.execute("INSERT INTO snapshots VALUES (?, 1, 5, ?)", (number, file.getvalue()))
    (back,) = store.snapshots(number)
    assert np.linalg.eigvalsh(back.gram).min() > -1e-12 * gram.max()
    np.testing.assert_allclose(back.gram, gram, rtol=1e-5)


@pytest.mark.parametrize("schema", range(1, len(MIGRATIONS)))
def test_migration_keeps_all_data(tmp_path, schema):
    db = sqlite3.connect(tmp_path / "runs.db")
    db.executescript(";".join([*MIGRATIONS[:schema], f"PRAGMA user_version = {schema}"]))
    db.execute("INSERT INTO sweeps VALUES (3, 'old', '{}', 0)")
    config = RunConfig().model_dump_json()
    values = "(7, 'k', 'GEM', ?, 0, 'finished', 71.5, '[[71.5]]')"
    db.execute(f"INSERT INTO runs (id, key, label, config, created, status, acc, matrix) VALUES {values}", (config,))
    db.execute("INSERT INTO members VALUES (3, 7)")
    db.execute("INSERT INTO events VALUES (7, 0, 5, 'Stepped', '{}')")
    db.execute("INSERT INTO events VALUES (7, 0, 0, 'TaskLearned', '{}')")
    db.execute("INSERT INTO snapshots VALUES (7, 1, 5, x'00')")
    db.commit()
    db.close()
    store = Store(tmp_path / "runs.db")
    assert store.run_ids(3) == [7]
    (run,) = store.run_records()
    assert (run["label"], run["status"], run["acc"], run["matrix"]) == ("GEM", "finished", 71.5, [[71.5]])
    assert (run["notice"], run["traceback"], run["resumed_task"], run["task_names"]) == (None, None, None, None)
    assert store.task_names([7]) == {7: []}
    assert store.count_events(7, 1, 9) == 3
    assert store.submit(SPEC) == 4
    assert store.database.rows("PRAGMA foreign_key_check") == []
    assert store.database.rows("PRAGMA integrity_check")[0][0] == "ok"


def test_ids_of_deleted_runs_are_not_reused(store):
    first = store.submit(SPEC)
    store.checkpoint(1).parent.mkdir()
    store.checkpoint(1).write_bytes(b"state")
    store.cancel(store.run_ids(first))
    store.delete_sweep(first)
    assert not store.checkpoint(1).exists()
    second = store.submit(SPEC)
    assert second == first + 1
    assert store.run_ids(second) == [5, 6, 7, 8]


def test_frames_are_tidy(store):
    sweep = store.submit(SPEC)
    for acc in (80.0, 70.0, 82.0):
        finish(store, store.claim()[0], acc)
    every = frames.runs(store, sweep)
    assert every["status"].tolist() == ["finished"] * 3 + ["queued"]
    assert every["modules"].tolist() == [1, 4, 1, 4]
    table = measurements.points(store, every, View())
    assert table["label"].tolist() == ["GEM", "p-mGEM(4)"]
    assert table["finished"].tolist() == [2, 1]
    assert table["acc"].tolist() == [80.0, 70.0]  # for the seed that both have
    finish(store, store.claim()[0], 72.0)
    table = measurements.points(store, frames.runs(store, sweep), View())
    assert table["acc"].tolist() == [81.0, 71.0]
    assert table["acc_std"][0] == pytest.approx(2**0.5)
    assert table["acc_sem"][0] == pytest.approx(1.0)
    assert frames.speeds(store)["mlp"] > 0


def test_empty_store_has_empty_frames(store):
    assert frames.runs(store).empty
    assert measurements.points(store, frames.runs(store), View()).empty
    assert frames.matrix(store, 1).empty
    assert frames.speeds(store) == {}


def test_deleting_a_sweep_keeps_shared_runs(store):
    first = store.submit(SPEC)
    other = store.submit(SweepSpec(base=SPEC.base, grid={"modules": [4], "seed": [0, 1]}))
    shared = store.run_ids(other)
    for _ in range(3):
        finish(store, store.claim()[0])
    last = store.claim()[0]
    store.delete_sweep(first)
    assert store.run_ids(other) == shared
    assert [row["id"] for row in store.database.rows("SELECT id FROM runs ORDER BY id")] == shared
    assert [row["id"] for row in store.database.rows("SELECT id FROM sweeps")] == [other]
    store.delete_sweep(other)  # one of its runs has not ended
    assert store.run_ids(other) == [last]
    finish(store, last)
    store.delete_sweep(other)
    assert sum(store.counts().values()) == 0
    assert store.database.rows("SELECT id FROM sweeps") == []


def test_deleting_removes_ended_runs_and_their_events(store):
    sweep = store.submit(SPEC)
    number, _ = store.claim()
    store.record([(number, Stepped(0, 1, 0.5, 0.0, 0.01, 0))])
    store.delete(store.run_ids(sweep))
    assert store.counts(sweep)["running"] == 1  # active runs are not deleted
    finish(store, number)
    store.cancel(store.run_ids(sweep))
    store.delete(store.run_ids(sweep))
    assert not store.database.rows("SELECT 1 FROM runs")
    assert not store.database.rows("SELECT 1 FROM events")
    assert not store.database.rows("SELECT 1 FROM sweeps")
    store.compact()


def test_sweeps_have_names(store):
    first, second = store.submit(SPEC), store.submit(SPEC, "mine")
    store.rename(second, "ours")
    assert [row["name"] for row in store.database.rows("SELECT name FROM sweeps")] == [f"sweep {first}", "ours"]


def test_damaged_file_is_rejected_unchanged(tmp_path):
    path = tmp_path / "runs.db"
    path.write_bytes(b"this is no database" * 100)
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is damaged or not a store of mgem"):
        Store(path)
    assert path.read_bytes() == before


def test_newer_schema_is_rejected_unchanged(tmp_path):
    path = tmp_path / "runs.db"
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(UsageError, match="newer version of mgem"):
        Store(path)
    assert path.read_bytes() == before


def test_configs_round_trip(store):
    spec = SweepSpec(grid={"modules": [{"fc1": 0, "fc2": 0, "fc3": 1}], "strength": [(0.1, 0.2, 0.3, 0.4)]})
    store.submit(spec)
    assert store.claim()[1] == spec.runs()[0] == RunConfig(**spec.runs()[0].model_dump())


def test_run_with_unknown_config_waits_until_resumed(store):
    store.submit(SPEC)
    with store.database.transaction() as db:
        db.execute("UPDATE runs SET config = replace(config, 'mnist5k-permutations', 'gone'), code = '' WHERE id = 1")
    assert store.claim()[0] == 2
    assert store.requested_with_other_code() == [1]
    assert store.resume([1]) == 0
    row = store.database.rows("SELECT status, error FROM runs WHERE id = 1")[0]
    assert row["status"] == "failed"
    assert row["error"].startswith("benchmark is 'gone'; it must be one of")
    with store.database.transaction() as db:
        db.execute("UPDATE runs SET status = 'finished', seconds = 1 WHERE id = 1")
    assert frames.speeds(store) == {}


def test_last_request_wins_between_cancel_and_resume(store):
    store.submit(SPEC)
    one, other = store.claim()[0], store.claim()[0]
    store.cancel([one])
    store.resume([one])
    store.requeue(one, failed=False)
    store.cancel([other])
    store.requeue(other, failed=False)
    statuses = {row["id"]: row["status"] for row in store.database.rows("SELECT id, status FROM runs")}
    assert (statuses[one], statuses[other]) == ("queued", "cancelled")


def test_version_changes_with_every_write(tmp_path):
    store, other = Store(tmp_path / "runs.db"), Store(tmp_path / "runs.db")
    first = store.version()
    store.counts()
    assert store.version() == first
    other.submit(SweepSpec())
    second = store.version()
    assert second != first
    store.rename(1, "mine")
    assert store.version() != second


def test_two_stores_have_different_versions(tmp_path):
    first, again, other = Store(tmp_path / "a.db"), Store(tmp_path / "a.db"), Store(tmp_path / "b.db")
    assert len({first.version(), again.version(), other.version()}) == 3


def test_store_is_current_until_its_file_is_replaced(tmp_path):
    store = Store(tmp_path / "runs.db")
    store.submit(SweepSpec())
    assert store.is_current()
    other = Store(tmp_path / "other.db")
    other.close()
    (tmp_path / "other.db").replace(tmp_path / "runs.db")
    assert not store.is_current()
    opened = Store(tmp_path / "runs.db")
    assert opened.is_current()
    (tmp_path / "runs.db").unlink()
    assert not opened.is_current()


def test_concurrent_creation_makes_one_store(tmp_path):
    paths = [tmp_path / f"{number}.db" for number in range(80)]
    together = threading.Barrier(3)

    def create_all() -> None:
        for path in paths:
            together.wait(20)
            Store(path).close()

    with ThreadPoolExecutor(3) as makers:
        for made in [makers.submit(create_all) for _ in range(3)]:
            made.result()


def test_runs_stored_with_fewer_fields_have_the_same_configuration(store):
    """A new method adds fields that stored runs of other methods do not have."""
    spec = SweepSpec(base={"tasks": 2}, grid={"seed": [0, 1]})
    store.submit(spec)
    with store.database.transaction() as db:
        for run, config in enumerate(spec.runs(), 1):
            fields = {**json.loads(config.model_dump_json()), "ewc_lambda": 99.0}
            del fields["er_replays"]
            db.execute("UPDATE runs SET config = ? WHERE id = ?", (json.dumps(fields, separators=(",", ":")), run))
    for _ in range(2):
        finish(store, store.claim()[0])
    sweep = store.submit(SweepSpec(base={"tasks": 2}, grid={"seed": [0, 1, 2]}))
    assert store.run_ids(sweep) == [1, 2, 3]
    assert measurements.points(store, frames.runs(store, sweep), View())["runs"].tolist() == [3]
    assert "er_replays" not in store.run_records([3])[0]["config"]


def test_queued_run_is_not_queued_twice(store):
    first = store.submit(SPEC)
    assert store.run_ids(store.submit(SPEC)) == store.run_ids(first)


def test_extending_seeds_queues_only_new_runs(store):
    sweep = store.submit(SPEC)
    while claimed := store.claim():
        finish(store, claimed[0])
    more = SPEC.with_more_seeds(3)
    assert sorted({config.seed for config in more.runs()}) == [0, 1, 2, 3, 4]
    assert store.extend(sweep, more) == 6
    assert store.counts(sweep) == {**dict.fromkeys(store.counts(), 0), "finished": 4, "queued": 6}
    assert store.sweep(sweep)["spec"] == json.loads(more.model_dump_json())
    assert store.extend(sweep, more) == 0


def test_threads_share_a_store(store):
    """All sessions of a dashboard share one store."""
    store.submit(SweepSpec(base=SPEC.base, grid={"seed": list(range(40))}))
    claimed, errors = [], []

    def work():
        try:
            while one := store.claim():
                finish(store, one[0])
                claimed.append(one[0])
                assert sum(store.counts().values()) == 40
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(claimed) == list(range(1, 41))


def test_readers_do_not_wait_for_a_waiting_writer(store):
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = threading.Thread(target=store.submit, args=[SPEC])
    waiting.start()
    assert store.counts()["queued"] == 0
    assert waiting.is_alive()
    other.execute("ROLLBACK")
    waiting.join()
    assert store.counts()["queued"] == 4
