"""The page Runs, without a browser: its lists, its details, and the effect of its buttons on the store."""

import json

import numpy as np
import pytest
from filled_store import FOUR_RUNS, fill
from pages import open_page, run_page, texts
from streamlit.testing.v1 import AppTest

from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Started, Stepped
from mgem_core.store import Store


@pytest.fixture
def finished(store):
    """A sweep of four runs that learned their two tasks."""
    sweep = store.submit(FOUR_RUNS, "First")
    fill(store, lambda run, config: (np.array([[90.0, 10.0], [80.0 + run, 85.0]]), []))
    return sweep


def open_runs(**query) -> AppTest:
    page = open_page("runs", **query)
    assert not page.exception
    return page


def press(page: AppTest, label: str) -> AppTest:
    [button] = [button for button in page.button if button.label == label]
    assert not button.disabled
    button.click()
    return run_page(page)


def count(store: Store) -> int:
    return sum(store.counts().values())


def test_empty_store_has_a_message(store):
    assert "Nothing has been run yet" in texts(open_runs())


def test_lists_show_their_counts(store, finished):
    page = open_runs()
    assert "4 runs" in texts(page)
    assert "Select a run" in texts(page)
    page.text_input(key="find").set_value("p-mgem r3")
    assert "1 run " in texts(run_page(page)) + " "
    page.text_input(key="find").set_value("nothing like it")
    assert "No run matches" in texts(run_page(page))
    page = open_runs(list="Sweeps")
    assert "1 sweep" in texts(page)
    assert "Select a sweep" in texts(page)


def test_filters_come_from_the_url(store, finished):
    store.submit(SweepSpec(base=FOUR_RUNS.base, grid={"benchmark": ["mnist5k-rotations"], "seed": [0, 1, 2]}), "Second")
    assert "7 runs" in texts(open_runs())
    assert "3 runs" in texts(open_runs(sweep="s2"))
    assert "3 runs" in texts(open_runs(status="queued"))
    assert "4 runs" in texts(open_runs(benchmark="mnist5k-permutations"))
    assert "2 runs" in texts(open_runs(find="p-mGEM finished"))


def test_unknown_ids_in_the_url_are_reported(store, finished):
    page = open_runs(runs="r99,hello,r99999999999999999999999,r1", sweep="s7")
    assert page.warning[0].value == (
        "There is no sweep s7 in this store. There is no run r99, hello, r99999999999999999999999 in this store."
    )
    assert "r1 · GEM" in page.subheader[0].value
    assert page.query_params["runs"] == "r1"
    assert "sweep" not in page.query_params
    assert not run_page(page).warning


def test_single_run_is_shown_in_full(store, finished):
    page = open_runs(runs="r3")
    assert "r3 · p-mGEM\\(4\\)" in page.subheader[0].value
    assert [metric.value for metric in page.metric] == ["84.00", "87.50", "−3.50", "7.00", "1.5", "10.00"]
    settings = page.table[0].value
    assert list(settings["setting"].str.split(r"\*\*").str[1]) == [
        *("benchmark", "method", "seed", "modules", "tasks", "iterations", "memory")
    ]
    assert list(settings["value"])[3:] == ["4", "2", "10", "20"]


def captions_of_tasks(page: AppTest) -> list[str]:
    texts = [caption.value.replace("\\", "") for caption in page.caption]
    return [text for text in texts if text.startswith("Tasks in order")]


def test_task_names_are_shown_once_unless_runs_differ(store, finished):
    assert captions_of_tasks(open_runs(runs="r1,r2")) == []  # stored without names, as by an older version
    for run, names in ((1, ("USPS", "SVHN (*)")), (2, ("USPS", "SVHN (*)")), (3, ("SVHN (*)", "USPS"))):
        store.record([(run, Started("GEM", names, 10, 1, 2, 0))])
    assert captions_of_tasks(open_runs(runs="r1")) == ["Tasks in order: USPS · SVHN (*)"]
    assert captions_of_tasks(open_runs(runs="r1,r2")) == ["Tasks in order: USPS · SVHN (*)"]
    both = ["Tasks in order: USPS · SVHN (*)", "Tasks in order: SVHN (*) · USPS"]
    assert captions_of_tasks(open_runs(runs="r2,r3")) == both
    page = open_runs(runs="r3")
    assert any("after SVHN (*): 90, 10; after USPS: 83, 85" in str(one.proto) for one in page.get("bidi_component"))


def test_failed_run_shows_its_error(store):
    store.submit(FOUR_RUNS)
    store.end(store.claim()[0], "failed", "no *luck* today.")
    page = open_runs(runs="r1")
    assert page.error[0].value == "no \\*luck\\* today."
    assert not page.metric
    assert "There are no curves" in texts(page)


def test_several_runs_are_compared(store, finished):
    page = open_runs(runs="r1,r3,r4")
    assert page.subheader[0].value == "3 runs"
    assert {"benchmark", "tasks"} <= set(page.table[0].value["setting"])  # equal in all runs
    assert not {"strength", "modules"} & set(page.table[0].value["setting"])


def shown_colors(page, key: str) -> dict[str, str]:
    """Return the colours of the rows of a table, by run."""
    [table] = [
        one for one in page.get("bidi_component") if f"-{key}" in one.proto.id and "table" in one.proto.component_name
    ]
    return {row["key"]: row["color"] for row in json.loads(json.loads(table.proto.json))["rows"]}


def test_run_has_the_same_colour_in_list_comparison_and_curves(store, finished):
    page = open_runs(runs="r4,r1,r3")
    compared = shown_colors(page, "comparison")
    listed = shown_colors(page, "runs table")
    assert list(compared) == ["r4", "r1", "r3"]
    assert {run: listed[run] for run in compared} == compared
    assert len(set(compared.values())) == 3
    [loss] = [one for one in page.get("bidi_component") if "loss of" in str(one.proto.json)]
    lines = json.loads(json.loads(loss.proto.json)["figure"])["data"]
    assert [line["line"]["color"] for line in lines] == list(compared.values())


def test_page_has_a_title(store, finished):
    assert [title.value for title in open_runs().title] == ["Runs"]


def test_many_runs_are_selected_and_deleted(store, finished):
    page = press(open_runs(find="p-mGEM"), "Select these 2")
    assert page.query_params["runs"] == "r4,r3"
    assert "Delete 2 runs and their results?" in texts(page)
    page = press(page, "Delete 2 runs")
    assert count(store) == 2
    assert "runs" not in page.query_params


def test_stop_and_resume(store):
    store.submit(FOUR_RUNS)
    page = press(open_runs(runs="r1,r2"), "Stop")
    assert store.counts()["cancelled"] == 2
    page = press(page, "Resume")
    assert store.counts()["queued"] == 4
    assert [button.disabled for button in page.button if button.label == "Resume"] == [True]


def test_active_runs_are_not_deleted(store, finished):
    store.submit(FOUR_RUNS, again=True)
    page = open_runs(runs="r1,r5")
    assert "1 run has not ended and will be kept" in texts(page)
    page = press(page, "Delete 1 run")
    assert count(store) == 7
    assert page.query_params["runs"] == "r5"


def test_sweep_is_renamed(store, finished):
    page = open_runs(list="Sweeps", sweep="s1")
    page.text_input(key="name of s1").set_value(" Better ")
    press(page, "Rename")
    assert [row["name"] for row in store.database.rows("SELECT name FROM sweeps")] == ["Better"]


def test_deleting_a_sweep_keeps_shared_runs(store, finished):
    store.submit(SweepSpec(base=FOUR_RUNS.base, grid={"modules": [4], "strength": [0.5, 0.9]}), "Second")
    page = open_runs(list="Sweeps", sweep="s1")
    assert "2 runs that no other sweep contains" in texts(page)
    assert "2 runs that other sweeps also contain will be kept" in texts(page)
    page = press(page, "Delete s1")
    assert [row["id"] for row in store.database.rows("SELECT id FROM runs ORDER BY id")] == [3, 4]
    assert "1 sweep" in texts(page)


def test_active_sweep_cannot_be_deleted(store):
    store.submit(FOUR_RUNS)
    store.claim()
    press(open_runs(list="Sweeps", sweep="s1"), "Stop")
    assert store.runs_to_cancel() == [1]
    assert store.counts()["cancelled"] == 3


def test_store_is_compacted(store, finished):
    store.record([(1, Stepped(0, step, 0.5, 0.0, 0.01, 0)) for step in range(2000)])
    store.delete([1])
    page = open_runs(list="Sweeps")
    assert "deleting runs left another" in texts(page)
    page = press(page, "Compact")
    assert "deleting runs left another" not in texts(page)


def test_more_like_this_fills_the_form_on_explore(store, finished):
    store.submit(SweepSpec(base={"tasks": 2, "method": "single"}), "Newer")
    page = press(open_runs(runs="r3"), "More like this")
    assert page.selectbox(key="preset").label == "What to run"
    assert page.query_params["sweep"] == f"s{finished}"  # the sweep of the run, although there is a newer one
    assert page.session_state["run families"] == ["p-mGEM"]
    assert page.session_state["run modules"] == [4]
    assert page.session_state["run tasks"] == 2
    assert page.session_state["run seeds"] == "0"


def test_sweep_opens_on_explore(store, finished):
    store.submit(FOUR_RUNS, "Second")
    page = press(open_runs(list="Sweeps", sweep="s1"), "Open on Explore")
    assert page.query_params["sweep"] == "s1"
    assert page.selectbox(key="preset").label == "What to run"
