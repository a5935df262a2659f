"""Results of reading the store that all sessions share."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import session
import shared_results
from shared_results import SharedResults

from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store

SPEC = SweepSpec(base={"tasks": 2, "iterations": 4, "memory": 12})


class Clock:
    """The clocks that `shared_results` uses; reading takes `cost` seconds of CPU time."""

    def __init__(self):
        self.now = self.spent = 100.0

    def monotonic(self):
        return self.now

    def thread_time(self):
        return self.spent


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(shared_results, "time", clock := Clock())
    return clock


@pytest.fixture
def writer(store):
    """Another process that writes into the same store."""
    return Store(store.path)


def test_sessions_share_a_result_until_the_store_changes(store, writer):
    results, read = SharedResults(), []

    def ask(subject="s1"):
        return results.get("runs", store, subject, lambda: read.append(subject) or len(read))

    assert [ask(), ask()] == [1, 1]
    assert ask("s2") == 2
    writer.submit(SPEC)
    assert [ask(), ask()] == [3, 3]
    assert read == ["s1", "s2", "s1"]


def test_another_store_has_other_results(store, tmp_path):
    results, other = SharedResults(), Store(tmp_path / "other" / "runs.db")
    assert results.get("runs", store, None, lambda: "one") == "one"
    assert results.get("runs", other, None, lambda: "other", may_lag=True) == "other"


def test_lists_are_subjects(store):
    results = SharedResults()
    assert results.get("runs", store, ([1, [2]], "x"), lambda: "one") == "one"
    assert results.get("runs", store, ([1, [3]], "x"), lambda: "other") == "other"


def test_only_those_who_may_lag_get_an_old_result_for_a_while(store, writer, clock):
    results, cost = SharedResults(), 0.2

    def ask(may_lag, value):
        def read():
            clock.spent += cost
            return value

        return results.get("runs", store, None, read, may_lag)

    ask(False, "old")
    writer.submit(SPEC)
    clock.now += 0.9 * cost / shared_results.MOST_TIME
    assert ask(True, "new") == "old"
    assert ask(False, "new") == "new"
    writer.submit(SPEC)
    clock.now += 1.1 * cost / shared_results.MOST_TIME
    assert ask(True, "newer") == "newer"


def test_session_gets_current_results_unless_it_may_lag(store, writer, clock):
    def read():
        clock.spent += 1.0
        return store.counts()["queued"]

    def ask():
        return session.read_once("queued runs", store, None, read)

    assert ask() == 0
    writer.submit(SPEC)
    with session.lagging():
        assert ask() == 0
        with session.lagging(False):
            assert ask() == 1


def test_sessions_wait_for_the_one_that_reads(store):
    results, read, is_reading, may_end = SharedResults(), [], threading.Event(), threading.Event()

    def slow():
        read.append(1)
        is_reading.set()
        may_end.wait(20)
        return "the result"

    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(results.get, "runs", store, None, slow) for _ in range(3)]
        assert is_reading.wait(20)
        assert results.get("sweeps", store, None, lambda: "not blocked") == "not blocked"
        may_end.set()
        assert [one.result(20) for one in asked] == ["the result"] * 3
    assert len(read) == 1


def test_error_is_not_remembered(store):
    results = SharedResults()
    with pytest.raises(ZeroDivisionError):
        results.get("runs", store, None, lambda: 1 / 0)
    assert results.get("runs", store, None, lambda: 1) == 1


def test_oldest_results_are_forgotten(store):
    results, read = SharedResults(most=2), []
    for subject in ("a", "b", "a", "c", "a", "b"):
        results.get("runs", store, subject, lambda subject=subject: read.append(subject))
    assert read == ["a", "b", "c", "b"]
