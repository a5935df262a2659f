"""The progress of a sweep: its speed and remaining time, from runs that train or ended recently."""

import json
import time

import pytest
from filled_store import SMALL, TWO_TASKS, finish

from mgem_core.analysis import progress as progresses
from mgem_core.analysis.progress import SweepProgress, sweep_progress
from mgem_core.config.sweeps import SweepSpec, relative_work
from mgem_core.events import Started, Stepped
from mgem_core.store import Store

EQUAL = SweepSpec(base=TWO_TASKS, grid={"seed": list(range(8))})
NOW = 1_000_000.0


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: NOW)
    return Store(tmp_path / "runs.db")


def set_times(store: Store, run: int, started: float, ended: float | None = None, **columns: float) -> None:
    """Set when a run started and ended, in seconds before now."""
    values = {"started": NOW - started, "ended": None if ended is None else NOW - ended, **columns}
    with store.database.transaction() as db:
        db.execute(f"UPDATE runs SET {', '.join(f'{name} = ?' for name in values)} WHERE id = ?", (*values.values(), run))


def finish_next(store: Store, started: float, ended: float, status: str = "finished") -> None:
    run, _ = store.claim()
    finish(store, run, status=status)
    set_times(store, run, started, ended)


def train_next(store: Store, started: float, steps: int, seconds_per_step: float = 0.01) -> int:
    """Take this many steps of the next run, of 2 × 10."""
    run, _ = store.claim()
    task, step = divmod(steps, 10)
    if steps:
        store.record([(run, Stepped(task, step, 0.5, 0.0, seconds_per_step, 0))])
    set_times(store, run, started)
    return run


def test_nothing_is_known_before_the_first_step(store):
    sweep = store.submit(EQUAL)
    assert sweep_progress(store, sweep).speed == []
    train_next(store, started=1, steps=0)
    found = sweep_progress(store, sweep)
    assert (found.seconds_left, found.ms_per_step, found.runs_per_minute) == (None, None, None)
    assert found.is_active


def test_speed_is_that_of_two_workers_together(store):
    sweep = store.submit(EQUAL)
    for started, ended in ((20, 10), (20, 10), (10, 0), (10, 0)):
        finish_next(store, started, ended)
    found = sweep_progress(store, sweep)
    assert found.runs_per_minute == pytest.approx(12)
    assert found.seconds_left == pytest.approx(20)  # four of equal length are left
    assert found.ms_per_step == pytest.approx(10)
    assert found.speed == ["20 s left", "10 ms per step", "12 runs per minute"]


def test_running_runs_count_with_their_part(store):
    sweep = store.submit(EQUAL)
    finish_next(store, 15, 5)
    finish_next(store, 15, 5)
    train_next(store, started=5, steps=10)
    train_next(store, started=5, steps=10)
    found = sweep_progress(store, sweep)
    assert found.runs_per_minute == pytest.approx(12)
    assert found.seconds_left == pytest.approx(25)


def test_time_left_is_known_before_the_first_run_has_ended(store):
    sweep = store.submit(EQUAL)
    train_next(store, started=10, steps=2, seconds_per_step=0.25)
    found = sweep_progress(store, sweep)
    assert found.seconds_left == pytest.approx(10 / 0.1 * 7.9)
    assert found.ms_per_step == pytest.approx(250)
    assert found.runs_per_minute is None


def test_pauses_do_not_count(store):
    sweep = store.submit(EQUAL)
    finish_next(store, 1010, 1000)
    finish_next(store, 10, 0)
    found = sweep_progress(store, sweep)
    assert found.runs_per_minute == pytest.approx(6)
    assert found.seconds_left == pytest.approx(60)


def test_only_recent_runs_count(store, monkeypatch):
    sweep = store.submit(EQUAL)
    finish_next(store, 5010, 5000)  # more than an hour ago
    assert sweep_progress(store, sweep).seconds_left is None
    finish_next(store, 30, 20)
    finish_next(store, 2, 0)
    assert sweep_progress(store, sweep).runs_per_minute == pytest.approx(10)
    monkeypatch.setattr(progresses, "RECENT_RUNS", 1)
    assert sweep_progress(store, sweep).runs_per_minute == pytest.approx(30)


def test_last_run_is_trained_by_one_worker(store):
    sweep = store.submit(SweepSpec(base=TWO_TASKS, grid={"seed": [0, 1, 2]}))
    finish_next(store, 10, 0)
    finish_next(store, 10, 0)
    train_next(store, started=0, steps=0)
    assert sweep_progress(store, sweep).seconds_left == pytest.approx(10)


def test_runs_of_different_length_are_weighted_by_their_work(store):
    spec = SweepSpec(base={**SMALL, "seed": 0}, grid=[{"method": ["single"]}, {"tasks": [2], "iterations": [1000]}])
    first, second = spec.runs()
    sweep = store.submit(spec)
    finish_next(store, 10, 0)
    expected = 10 * relative_work(second) / relative_work(first)
    assert expected > 20
    assert sweep_progress(store, sweep).seconds_left == pytest.approx(expected)


def test_resumed_run_counts_from_its_checkpoint(store):
    sweep = store.submit(SweepSpec(base=TWO_TASKS))
    run, _ = store.claim()
    store.record([(run, Started("GEM", ("a", "b"), 10, 1, task=1, step=0)), (run, Stepped(1, 5, 0.5, 0.0, 0.01, 0))])
    set_times(store, run, started=8)
    assert sweep_progress(store, sweep).seconds_left == pytest.approx(8)  # a quarter in 8 s, and a quarter is left


def test_ended_sweep_has_no_time_left(store):
    sweep = store.submit(SweepSpec(base=TWO_TASKS, grid={"seed": [0, 1]}))
    finish_next(store, 10, 0)
    finish_next(store, 10, 0, status="diverged")
    found = sweep_progress(store, sweep)
    assert found.seconds_left is None
    assert found.speed == []
    assert not found.is_active
    assert found.share == 1


def test_run_of_another_version_does_not_fail(store):
    sweep = store.submit(EQUAL)
    finish_next(store, 10, 0)
    with store.database.transaction() as db:
        db.execute("UPDATE runs SET config = replace(config, 'mnist5k-permutations', 'gone') WHERE id = 8")
    assert sweep_progress(store, sweep).seconds_left == pytest.approx(60)  # six of known length


def test_progress_can_be_sent_as_json(store):
    sweep = store.submit(EQUAL)
    finish_next(store, 10, 0)
    sent = json.loads(json.dumps(sweep_progress(store, sweep).plain()))
    assert sent["counts"]["finished"] == 1
    assert sent == {
        **{"counts": sent["counts"], "share": 0.125, "secondsLeft": pytest.approx(70)},
        **{"msPerStep": pytest.approx(10), "runsPerMinute": pytest.approx(6), "isActive": True},
    }


def test_small_numbers_have_two_digits():
    counts = {**dict.fromkeys(("running", "finished", "failed", "diverged", "cancelled"), 0), "queued": 1}
    assert SweepProgress(counts, 0.5, 7200.0, 0.4567, 2.34).speed == [
        "2.0 h left",
        "0.46 ms per step",
        "2.3 runs per minute",
    ]
