"""The list of sweeps: what a search finds, and the best ACC of each."""

import pytest
import streamlit as st
from filled_store import FOUR_RUNS, TWO_TASKS, finish, matrix_with
from runs.sweep_list import COLUMNS, find_sweeps, read_best_accuracies, sweep_row

from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store


@pytest.fixture
def store(tmp_path):
    st.session_state.clear()
    return Store(tmp_path / "runs.db")


def rows(store, text=""):
    """Return the rows of the sweeps that match a search, as the page shows them."""
    found = find_sweeps(store.sweeps(), text)
    best = read_best_accuracies(store, found)
    return [sweep_row({**row, "acc": best[row["id"]]}, None) for row in found]


def test_every_column_has_a_cell(store):
    store.submit(FOUR_RUNS)
    [row] = rows(store)
    assert [column["name"] for column in COLUMNS] == list(row["cells"])


def test_sweeps_show_status_and_best_accuracy(store):
    store.submit(FOUR_RUNS, "First try")
    finish(store, store.claim()[0], R=matrix_with(70.0))
    finish(store, store.claim()[0], R=matrix_with(75.5))
    store.submit(SweepSpec(base=TWO_TASKS, grid={"modules": [2]}), "Second")
    assert [row["key"] for row in rows(store)] == ["s2", "s1"]
    assert [row["key"] for row in rows(store, "TRY first")] == ["s1"]
    assert [row["key"] for row in rows(store, "s2")] == ["s2"]
    [row] = rows(store, "first")
    assert row["cells"]["status"]["text"] == "2 queued, 2 finished"
    assert row["cells"]["done"]["value"] == 0.5
    assert row["cells"]["acc"]["text"] == "75.50"


def test_best_accuracy_is_that_of_the_best_configuration(store):
    sweep = store.submit(SweepSpec(base={"tasks": 2}, grid={"modules": [1, 4], "seed": [0, 1, 2]}))
    for acc in (90.0, 60.0, 80.0, 70.0):  # modules 1 and 4, for one seed after the other
        finish(store, store.claim()[0], R=matrix_with(acc))
    store.cancel(store.run_ids(sweep))
    [row] = rows(store)
    assert row["cells"]["acc"]["value"] == 85.0
    assert row["cells"]["done"]["value"] == pytest.approx(4 / 6)


def test_best_accuracy_follows_finished_and_deleted_runs(store):
    store.submit(FOUR_RUNS)
    assert rows(store)[0]["cells"]["acc"]["text"] == "—"
    for acc in (70.0, 80.0):
        finish(store, store.claim()[0], R=matrix_with(acc))
    assert rows(store)[0]["cells"]["acc"]["value"] == 80.0
    store.delete([2])
    assert rows(store)[0]["cells"]["acc"]["value"] == 70.0


def test_seeds_of_older_versions_count_towards_the_configuration(store):
    """The older version stored a field that only matters to another method."""
    store.submit(SweepSpec(base={**TWO_TASKS, "modules": 4}))
    finish(store, store.claim()[0], R=matrix_with(90.0))
    with store.database.transaction() as db:
        db.execute("UPDATE runs SET config = json_set(config, '$.ewc_lambda', 12345.0)")
    store.submit(SweepSpec(base={**TWO_TASKS, "modules": 4}, grid={"seed": [0, 1]}))
    finish(store, store.claim()[0], R=matrix_with(70.0))
    assert store.run_ids(2) == [1, 2], "the second sweep should share the run of the first"
    assert store.best_accuracies([1, 2]) == {1: 90.0, 2: 80.0}


def test_shared_runs_belong_to_all_their_sweeps(store):
    first = store.submit(FOUR_RUNS, "First")
    store.submit(SweepSpec(base=TWO_TASKS, grid={"modules": [4], "strength": [0.5, 0.9]}), "Second")
    assert store.count_shared_runs(first) == 2
    assert store.sweeps_of([1]) == {1: "First"}
    assert store.sweeps_of([1, 3]) == {1: "First", 2: "Second"}
