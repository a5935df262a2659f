"""Replacing the store while a page shows it."""

from pathlib import Path

import pytest
from filled_store import TWO_TASKS, known_store
from pages import PAGES, open_page, run_page, tables, texts, workbench
from text import escape_markdown

from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store


@pytest.fixture
def first(store):
    """Build the store that a page shows first, with a finished sweep."""
    return known_store(store.path)


def replace(store: Store, other: Store) -> None:
    """Replace the store by another, as when a copy is restored."""
    for ending in ("-wal", "-shm"):
        Path(f"{store.path}{ending}").unlink(missing_ok=True)
    other.close()
    other.path.replace(store.path)


def notice(store: Store) -> str:
    return f"The store at {escape_markdown(str(store.path))} was replaced; this page now shows the new one."


def test_explore_shows_the_new_store(store, first, tmp_path):
    app = open_page("explore", plots="Map")
    assert "77.50" in tables(app)
    replace(store, known_store(tmp_path / "other.db", shift=5.0))
    assert "82.50" in tables(run_page(app))
    assert "77.50" not in tables(app)
    assert [one.value for one in app.warning] == [notice(store)]
    assert not run_page(app).warning


def test_runs_page_shows_the_new_store(store, first, tmp_path):
    app = open_page("runs", runs="r1")
    assert app.metric[0].value == "77.50"
    replace(store, known_store(tmp_path / "other.db", shift=5.0))
    assert run_page(app).metric[0].value == "82.50"
    assert notice(store) in [one.value for one in app.warning]


def test_new_session_shows_no_notice(store, first, tmp_path):
    open_page("explore", plots="Map")
    replace(store, known_store(tmp_path / "other.db", shift=5.0))
    app = open_page("explore", plots="Map")
    assert "82.50" in tables(app)
    assert not app.warning


def test_cached_tasks_and_speeds_are_replaced(store, first, tmp_path):
    app = open_page("explore", plots="Map")
    assert app.slider(key="after").max == 2
    spec = SweepSpec(base={**TWO_TASKS, "tasks": 3, "benchmark": "mnist5k-split"})  # uses another network
    replace(store, known_store(tmp_path / "other.db", spec=spec))
    assert "(estimate for " in texts(run_page(app))  # no longer measured here
    assert app.slider(key="after").max == 3


@pytest.mark.parametrize("page", PAGES)
def test_deleted_store_is_empty(store, first, page):
    app = open_page(page)
    for ending in ("", "-wal", "-shm"):
        Path(f"{store.path}{ending}").unlink(missing_ok=True)
    assert notice(store) in texts(run_page(app))
    if page == "explore":
        assert workbench(app)["source"] == "example"
    else:
        titles = {"runs": "Nothing has been run yet", "paper": "The paper's claims, and what we find"}
        assert app.title[0].value == titles[page]


def test_click_on_the_old_store_does_not_change_the_new_one(store, first, tmp_path):
    app = open_page("runs", runs="r1,r2")
    replace(store, known_store(tmp_path / "other.db"))
    [button] = [button for button in app.button if button.label == "Delete 2 runs"]
    button.click()
    assert notice(store) in texts(run_page(app))
    assert Store(store.path).counts()["finished"] == 4


def test_nothing_is_launched_into_a_replaced_store(store, first, tmp_path):
    app = open_page("explore", plots="Map")
    replace(store, known_store(tmp_path / "other.db"))
    next(button for button in app.button if button.label == "Launch").click()
    assert notice(store) in texts(run_page(app))
    assert sum(Store(store.path).counts().values()) == 4
    assert sum(first.counts().values()) == 4
