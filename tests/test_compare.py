"""What the page Runs lists and tells apart."""

import json
from datetime import UTC, datetime

import compare
import listing
import numpy as np
import pytest

from mgem_core.events import Finished, Stepped, TaskLearned
from mgem_core.store import RunFilter, Store
from mgem_core.sweeps import SweepSpec

SPEC = SweepSpec(base={"tasks": 2, "iterations": 10, "memory": 20}, grid={"modules": [1, 4], "strength": [0.5, 0.9]})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs.db")


def finish(store, run, acc):
    R = np.array([[90.0, 10.0], [acc, acc]])
    store.record([(run, Finished("finished", "", R, acc, 85.0, acc - 85.0, 1.5, 0.01, "abc"))])


def ids(store, **asked):
    return [row["id"] for row in listing.listed(store, RunFilter(**asked))[0]]


def test_the_newest_runs_are_listed_first_and_all_are_counted(store):
    store.submit(SPEC)
    assert ids(store) == [4, 3, 2, 1]
    rows, total = listing.listed(store, RunFilter(), most=3)
    assert ([row["id"] for row in rows], total) == ([4, 3, 2], 4)


def test_every_word_must_be_found_somewhere_in_a_run(store):
    store.submit(SPEC)
    store.submit(SweepSpec(base={**SPEC.base, "benchmark": "mnist5k-rotations"}))
    store.end(store.claim()[0], "failed", "Out of *100%* luck.")
    assert ids(store, text="P-MGEM") == [4, 3]
    assert ids(store, text="rotations") == [5]
    assert ids(store, text="gem queued permutations") == [4, 3, 2]
    assert ids(store, text="100%") == [1]  # no pattern, just text
    assert ids(store, text="r1") == [1]
    for nobody in ("r1 queued", "r99", "_", "x' OR 1"):
        assert ids(store, text=nobody) == []


def test_filters_add_up(store):
    first = store.submit(SPEC)
    store.submit(SweepSpec(base={**SPEC.base, "benchmark": "mnist5k-rotations"}))
    store.cancel([1, 5])
    assert ids(store, statuses=["cancelled"]) == [5, 1]
    assert ids(store, statuses=["cancelled", "queued"], sweep=first) == [4, 3, 2, 1]
    assert ids(store, statuses=["cancelled"], benchmark="mnist5k-rotations") == [5]
    assert listing.benchmarks(store) == ["mnist5k-permutations", "mnist5k-rotations"]


def test_rows_are_told_in_percent_with_a_real_minus(store):
    store.submit(SPEC)
    finish(store, store.claim()[0], 81.234)
    store.claim()
    store.record([(2, Stepped(1, 5, 0.5, 0.0, 0.01, 0))])
    row = {row["id"]: listing.run_row(row, UTC) for row in listing.listed(store, RunFilter())[0]}
    text = {name: cell["text"] for name, cell in row[1]["cells"].items()}
    assert [text[name] for name in ("run", "q", "acc", "bwd", "seconds")] == ["r1", "0.5", "81.23", "−3.77", "1.5"]
    assert row[2]["cells"]["status"]["text"] == "running 75 %"
    assert row[2]["active"]
    assert not row[1]["active"]
    assert row[3]["cells"]["acc"] == {"text": "—", "value": None}
    store.cancel([2])
    assert listing.status(compare.chosen(store, [2])[0]) == "stopping 75 %"


def test_every_column_has_its_cell(store):
    store.submit(SPEC)
    [row, *_], _ = listing.listed(store, RunFilter())
    assert [column["name"] for column in listing.RUN_COLUMNS] == list(listing.run_row(row, None)["cells"])
    [row] = listing.sweeps(store)
    assert [column["name"] for column in listing.SWEEP_COLUMNS] == list(listing.sweep_row(row, None)["cells"])


def test_a_strength_per_past_task_is_listed(store):
    store.submit(SweepSpec(base={"tasks": 3, "strength": (0.5, 0.1)}, grid=[{}, {"method": ["ewc"]}]))
    rows = listing.listed(store, RunFilter())[0]
    assert [listing.run_row(row, None)["cells"]["q"]["text"] for row in rows] == ["—", "0.5, 0.1"]


def test_sweeps_tell_their_statuses_and_their_best(store):
    store.submit(SPEC, "First try")
    finish(store, store.claim()[0], 70.0)
    finish(store, store.claim()[0], 75.5)
    store.submit(SweepSpec(base=SPEC.base, grid={"modules": [2]}), "Second")
    assert [row["id"] for row in listing.sweeps(store)] == [2, 1]
    assert [row["id"] for row in listing.sweeps(store, "TRY first")] == [1]
    assert [row["id"] for row in listing.sweeps(store, "s2")] == [2]
    row = listing.sweep_row(listing.sweeps(store, "first")[0], None)
    assert row["cells"]["status"]["text"] == "2 queued, 2 finished"
    assert row["cells"]["done"]["value"] == 0.5
    assert row["cells"]["acc"]["text"] == "75.50"


def test_a_sweep_is_as_good_as_its_best_configuration_and_done_but_for_what_was_cancelled(store):
    sweep = store.submit(SweepSpec(base={"tasks": 2}, grid={"modules": [1, 4], "seed": [0, 1, 2]}))
    for acc in (90.0, 60.0, 80.0, 70.0):  # modules 1 and 4, seed after seed
        finish(store, store.claim()[0], acc)
    store.cancel(store.run_ids(sweep))
    [row] = [listing.sweep_row(row, None)["cells"] for row in listing.sweeps(store)]
    assert row["acc"]["value"] == 85.0
    assert row["done"]["value"] == pytest.approx(4 / 6)


def test_shared_runs_are_known_to_all_their_sweeps(store):
    first = store.submit(SPEC, "First")
    store.submit(SweepSpec(base=SPEC.base, grid={"modules": [4], "strength": [0.5, 0.9]}), "Second")
    assert store.count_shared_runs(first) == 2
    assert listing.sweeps_of(store, [1]) == {1: "First (s1)"}
    assert listing.sweeps_of(store, [1, 3]) == {1: "First (s1)", 2: "Second (s2)"}


def test_moments_name_the_year_only_if_it_is_another():
    now = datetime.now(UTC)
    assert listing.when(datetime(2001, 2, 3, 4, 5, tzinfo=UTC).timestamp(), UTC) == "3 Feb 2001 04:05"
    assert str(now.year) not in listing.when(now.timestamp(), UTC)


def test_chosen_runs_come_in_the_order_asked_for_and_only_if_they_exist(store):
    store.submit(SPEC)
    assert [run["id"] for run in compare.chosen(store, [3, 99, 1, 3, 10**30])] == [3, 1]
    assert compare.chosen(store, []) == []


def test_names_tell_runs_apart(store):
    store.submit(SweepSpec(base=SPEC.base, grid=[{"strength": [0.1, 0.9]}, {"method": ["ewc"]}]))
    store.submit(SweepSpec(base=SPEC.base, grid={"strength": [0.1], "seed": [1]}))
    assert compare.names(compare.chosen(store, [1])) == ["r1 GEM"]
    assert compare.names(compare.chosen(store, [1, 2, 3])) == ["r1 GEM, q = 0.1", "r2 GEM, q = 0.9", "r3 EWC"]
    assert compare.names(compare.chosen(store, [1, 4])) == ["r1 GEM, seed 0", "r4 GEM, seed 1"]


def test_a_run_tells_its_own_fields_and_none_of_other_methods(store):
    store.submit(SweepSpec(base={**SPEC.base, "modules": 4}))
    store.submit(SweepSpec(base={"method": "ewc", "ewc_lambda": 3.0}))
    gem, ewc = compare.chosen(store, [1, 2])
    assert compare.own(gem["config"]) == ["modules", "tasks", "iterations", "memory"]
    assert compare.own(ewc["config"]) == ["ewc_lambda"]
    assert not {"strength", "memory", "mer_beta"} & set(ewc["config"])
    assert "ewc_lambda" not in gem["config"]


def test_a_benchmark_of_another_version_has_no_defaults():
    config = {"benchmark": "gone", "method": "gem", "lr": 0.1}
    assert compare.defaults(config) == {}
    assert compare.own(config) == list(config)


def test_differing_fields_come_before_equal_ones(store):
    store.submit(SPEC)
    differ, same = compare.differing(compare.chosen(store, [1, 4]))
    assert differ == ["modules", "strength"]
    assert {"benchmark", "tasks", "lr"} <= set(same)
    store.submit(SweepSpec(base={**SPEC.base, "method": "single"}))
    differ, same = compare.differing(compare.chosen(store, [1, 5]))
    assert differ == ["method"]  # of the others, one of the two knows nothing


def test_runs_stand_side_by_side_with_the_best_in_bold(store):
    store.submit(SPEC)
    for run, acc in ((1, 81.0), (2, 83.004), (3, 83.001)):
        finish(store, run, acc)
    columns, rows = compare.side_by_side(compare.chosen(store, [1, 2, 3, 4]), ["red", "blue"])
    results = ["run", "label", "status", "acc", "fwd", "bwd", "seconds"]
    assert [column["name"] for column in columns] == [*results, "modules", "strength"]
    assert all(set(row["cells"]) == {column["name"] for column in columns} for row in rows)
    assert [row["cells"]["acc"]["bold"] for row in rows] == [False, True, True, False]
    assert [row["cells"]["modules"] for row in rows][1:3] == [{"text": "1", "value": 1}, {"text": "4", "value": 4}]
    assert [row["color"] for row in rows] == ["red", "blue", None, None]


def test_values_read_as_people_write_them():
    assert compare.value({"fc1": 0, "fc2": 1}) == "fc1 = 0, fc2 = 1"
    assert [compare.value(one) for one in (0.5, 1e-3, [0.5, 0.1], 4, "gem", None)] == [
        *("0.5", "0.001", "0.5, 0.1", "4", "gem", "—")
    ]


def test_more_like_this_comes_to_just_these_runs(store):
    store.submit(SPEC)
    store.submit(SweepSpec(base={"method": "mer", "benchmark": "mnist5k-split", "mer_beta": 0.2}))
    runs = compare.chosen(store, [2, 3, 5])
    spec = compare.more_like(runs)
    assert [json.loads(run.stored()) for run in spec.runs()] == [run["config"] for run in runs]
    assert set(spec.grids[0]) == {"benchmark", "method", "seed", "strength", "tasks", "iterations", "memory"}


def test_what_a_form_loses_is_named():
    spec = SweepSpec(base={"ridge": 0.5, "modules": 4})
    assert compare.lost(spec, spec) == []
    assert compare.lost(spec, SweepSpec(base={"modules": 4})) == ["ridge"]
    assert compare.lost(spec, SweepSpec(grid={"seed": []})) == ["all of it"]


def test_curves_are_in_percent_and_milliseconds(store):
    store.submit(SPEC)
    assert compare.steps(store, 1).empty
    store.record([(1, Stepped(0, 10, 0.5, 0.25, 0.002, 0)), (1, TaskLearned(0, np.array([80.0, 10.0]), 1.0))])
    [row] = compare.steps(store, 1).to_dict("records")
    assert (row["violated"], row["ms"], row["loss"]) == (25.0, 2.0, 0.5)
    means = compare.accuracies(np.array([[80.0, 10.0], [60.0, 90.0]]))
    assert list(means["acc"]) == [80.0, 75.0]
    assert list(means["task"] + means["step"]) == [1, 2]


def test_texts_of_others_are_not_read_as_markdown():
    assert listing.plain("a*b_c [d](e) $f$") == r"a\*b\_c \[d\]\(e\) \$f\$"
