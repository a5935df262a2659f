"""The pages, with runs that wait for other code than this server has."""

import pytest
import runner_process
from explore.opened_sources import open_source
from filled_store import TWO_BENCHMARKS
from pages import offered_action, open_page, tables, texts

from mgem_core.runner import work
from mgem_core.runner.status import RunnerStatus

MESSAGE = "they were requested with other code, libraries or data than are installed here."


def press(page, label):
    next(button for button in page.button if button.label == label).click().run()
    return page


@pytest.fixture
def outdated(store, monkeypatch):
    """A sweep of four runs, requested before the code was changed."""
    sweep = store.submit(TWO_BENCHMARKS, "before the update")
    monkeypatch.setattr("mgem_core.config.keys.code_version", lambda *run: "newer")
    return sweep


def notes(sweep):
    live = open_source(f"s{sweep}")
    live.advance()
    return next(message["notes"] for message in live.everything() if message["kind"] == "progress")


def test_explore_offers_to_request_waiting_runs_again(store, outdated):
    assert f"4 runs wait: {MESSAGE} Press *Resume* to request them again." in notes(outdated)
    assert offered_action(open_page("explore")) == "Resume"
    store.resume(store.run_ids(outdated))
    assert store.requested_with_other_code() == []
    assert not any(MESSAGE in note for note in notes(outdated))


def test_runs_page_lists_and_resumes_waiting_runs(store, outdated):
    page = open_page("runs", runs="r1,r2")
    assert tables(page).count("queued for other code") == 4
    press(page, "Resume")
    assert store.requested_with_other_code() == [3, 4]
    assert "This run waits: it was requested with other code" in texts(open_page("runs", runs="r3"))
    assert "This run waits" not in texts(open_page("runs", runs="r1"))


@pytest.fixture
def started(store, monkeypatch):
    """Collect the runners that are started while one of another version is alive."""
    started = []
    monkeypatch.setattr(runner_process, "ensure_runner", work.ensure_runner)
    monkeypatch.setattr(work.subprocess, "Popen", lambda *command, **options: started.append(command))
    lock = work.acquire_lock(0)
    RunnerStatus(77, "id", "that version", "2 workers").write("")
    yield started
    lock.release()


def test_runner_of_another_version_is_shown_while_runs_wait(store, started):
    waiting = "Waiting for another version to finish: process 77 uses other code, libraries or data."
    assert any(waiting in note for note in notes(store.submit(TWO_BENCHMARKS)))
    assert len(started) >= 1  # the new runner asks it to end, and waits


def test_runner_of_another_version_is_otherwise_left_alone(store, started, monkeypatch):
    store.submit(TWO_BENCHMARKS)
    monkeypatch.setattr("mgem_core.config.keys.code_version", lambda *run: "newer")
    for name in ("explore", "runs"):
        assert "Waiting for another version" not in texts(open_page(name))
    assert not started
