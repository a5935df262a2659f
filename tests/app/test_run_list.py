"""The list of runs: which runs a filter selects, and how a row shows a run."""

from datetime import UTC

import pytest
from filled_store import FOUR_RUNS, TWO_TASKS, finish, matrix_with
from runs.run_list import COLUMNS, find_runs, run_colors, run_row, status_text
from runs.selected_runs import load_runs

from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Stepped
from mgem_core.store import RunFilter, Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs.db")


def find(store, most=500, **fields):
    return store.find_runs(RunFilter(**fields), most)[0]


def ids(store, **fields):
    return [row["id"] for row in find(store, **fields)]


def test_newest_runs_come_first_and_all_are_counted(store):
    store.submit(FOUR_RUNS)
    assert ids(store) == [4, 3, 2, 1]
    rows, total = store.find_runs(RunFilter(), 3)
    assert ([row["id"] for row in rows], total) == ([4, 3, 2], 4)


def test_running_runs_are_listed_first_and_queued_ones_last(store):
    store.submit(FOUR_RUNS)
    store.submit(SweepSpec(base={**TWO_TASKS, "benchmark": "mnist5k-rotations"}))
    finish(store, store.claim()[0])
    store.claim()
    store.end(store.claim()[0], "failed", "no luck.")
    rows, total = find_runs(store, RunFilter(), 4)
    assert ([row["id"] for row in rows], total) == ([5, 2, 1, 4], 5)
    assert [row["id"] for row in find_runs(store, RunFilter(statuses=["queued", "finished"]), 4)[0]] == [1, 4, 3]
    assert find_runs(store, RunFilter(text="nothing like it"), 4) == ([], 0)


def test_only_selected_runs_have_colours(store):
    store.submit(FOUR_RUNS)
    colors = run_colors(["r2", "r1"])
    shown = {row["id"]: run_row(row, None, colors)["color"] for row in find(store)}
    assert [shown[2], shown[1]] == list(colors.values())
    assert shown[3] == shown[4] == "transparent"


def test_every_search_word_must_match(store):
    store.submit(FOUR_RUNS)
    store.submit(SweepSpec(base={**TWO_TASKS, "benchmark": "mnist5k-rotations"}))
    store.end(store.claim()[0], "failed", "Out of *100%* luck.")
    assert ids(store, text="P-MGEM") == [4, 3]
    assert ids(store, text="rotations") == [5]
    assert ids(store, text="gem queued permutations") == [4, 3, 2]
    assert ids(store, text="100%") == [1]  # no pattern, just text
    assert ids(store, text="r1") == [1]
    for nobody in ("r1 queued", "r99", "_", "x' OR 1"):
        assert ids(store, text=nobody) == []


def test_filters_are_combined(store):
    first = store.submit(FOUR_RUNS)
    store.submit(SweepSpec(base={**TWO_TASKS, "benchmark": "mnist5k-rotations"}))
    store.cancel([1, 5])
    assert ids(store, statuses=["cancelled"]) == [5, 1]
    assert ids(store, statuses=["cancelled", "queued"], sweep=first) == [4, 3, 2, 1]
    assert ids(store, statuses=["cancelled"], benchmark="mnist5k-rotations") == [5]
    assert store.benchmarks() == ["mnist5k-permutations", "mnist5k-rotations"]


def test_rows_are_in_percent_with_minus_sign(store):
    store.submit(FOUR_RUNS)
    finish(store, store.claim()[0], R=matrix_with(81.234))
    store.claim()
    store.record([(2, Stepped(1, 5, 0.5, 0.0, 0.01, 0))])
    row = {row["id"]: run_row(row, UTC, {}) for row in find(store)}
    text = {name: cell["text"] for name, cell in row[1]["cells"].items()}
    assert [text[name] for name in ("run", "q", "acc", "bwd", "seconds")] == ["r1", "0.5", "81.23", "−3.77", "1.5"]
    assert row[2]["cells"]["status"]["text"] == "running 75 %"
    assert row[2]["active"]
    assert not row[1]["active"]
    assert row[3]["cells"]["acc"] == {"text": "—", "value": None}
    store.cancel([2])
    assert status_text(load_runs(store, [2])[0]) == "stopping 75 %"


def test_every_column_has_a_cell(store):
    store.submit(FOUR_RUNS)
    assert [column["name"] for column in COLUMNS] == list(run_row(find(store)[0], None, {})["cells"])


def test_strengths_per_task_are_listed(store):
    store.submit(SweepSpec(base={"tasks": 3, "strength": (0.5, 0.1)}, grid=[{}, {"method": ["ewc"]}]))
    assert [run_row(row, None, {})["cells"]["q"]["text"] for row in find(store)] == ["—", "0.5, 0.1"]
