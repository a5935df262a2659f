"""If a row of R is missing from the store, exactly the values that depend on it are missing everywhere."""

import io
import json
from csv import DictReader

import numpy as np
import pandas as pd
import pytest
from explore.configuration_table import table_rows
from exported import exported
from filled_store import finish
from runs.curves import describe_matrix, mean_accuracies

from mgem_core import UsageError
from mgem_core.analysis import frames, measurements
from mgem_core.analysis.aggregate import View
from mgem_core.analysis.measurements import MeasurementCache
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import TaskLearned
from mgem_core.figures import _latex, matrices
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import line_styles
from mgem_core.metrics import MEASURES, forgetting
from mgem_core.store import Store

R = np.array([[90.0, 10.0, 10.0], [70.0, 85.0, 10.0], [60.0, 75.0, 88.0]])  # the matrix of filled_store
ACC, FWD = R[2].mean(), R.diagonal().mean()


def without(task: int) -> np.ndarray:
    """Return R without the row of this task."""
    return np.where(np.arange(3)[:, None] == task, np.nan, R)


def made(path, missing: dict[int, int], seeds: int = 1) -> Store:
    """Build a store with a finished run of three tasks per seed; `missing` maps runs to the task whose row is missing."""
    store = Store(path)
    store.submit(SweepSpec(base={"tasks": 3, "iterations": 10, "memory": 20}, grid={"seed": list(range(seeds))}))
    while claimed := store.claim():
        run = claimed[0]
        finish(store, run, shift=run - 1.0, missing=(missing[run],) if run in missing else ())
    return store


@pytest.fixture
def gap(tmp_path):
    """Build a store with one finished run that lacks the row of its second task."""
    return made(tmp_path / "runs.db", {1: 1})


def point(store: Store, view: View | None = None) -> pd.Series:
    return measurements.points(store, frames.runs(store, 1), view or View()).iloc[0]


@pytest.mark.parametrize("task", [0, 1, 2])
def test_rows_are_at_their_tasks(tmp_path, task):
    store = made(tmp_path / "runs.db", {1: task})
    matrix = frames.matrix(store, 1)
    np.testing.assert_array_equal(matrix.to_numpy(float), without(task))
    assert list(matrix.index) == [0, 1, 2]
    np.testing.assert_array_equal(MeasurementCache().read(store, [1])[1].R, without(task))


def test_unfinished_run(tmp_path):
    store = Store(tmp_path / "runs.db")
    store.submit(SweepSpec(base={"tasks": 3, "iterations": 10, "memory": 20}))
    store.claim()
    store.record([(1, TaskLearned(1, R[1], 1.0))])
    np.testing.assert_array_equal(frames.matrix(store, 1).to_numpy(float), without(0)[:2])


def test_run_without_rows_has_no_matrix(tmp_path):
    store = made(tmp_path / "runs.db", {})
    with store.database.transaction() as db:
        db.execute("DELETE FROM events WHERE kind = 'TaskLearned'")
    assert frames.matrix(store, 1).empty
    assert np.isnan(point(store)["acc"])
    with pytest.raises(UsageError, match="nothing to show yet"):
        exported(store, "matrix", "csv")


def test_measures_that_need_the_row_are_missing(gap):
    row = point(gap)
    assert row["acc"] == pytest.approx(ACC)
    assert np.isnan(row[["fwd", "bwd", "forgetting"]].to_numpy(float)).all()
    assert row["curve"] == pytest.approx([90.0, np.nan, ACC], nan_ok=True)
    assert row["learned"] == 3
    row = point(gap, View(after=1))
    assert (row["acc"], row["fwd"]) == (90.0, 90.0)
    assert np.isnan(point(gap, View(after=2))["acc"])


def test_acc_needs_the_last_row(tmp_path):
    store = made(tmp_path / "runs.db", {1: 2})
    row = point(store)
    assert np.isnan(row[["acc", "fwd", "bwd", "forgetting"]].to_numpy(float)).all()


def test_incomplete_seeds_are_left_out_of_the_means(tmp_path):
    store = made(tmp_path / "runs.db", {1: 1, 3: 2}, seeds=3)  # each seed is one percent better than the one before
    row = point(store)
    assert row["acc"] == pytest.approx(ACC + 0.5)  # mean of the first two seeds
    assert (row["fwd"], row["bwd"]) == pytest.approx((FWD + 1, ACC - FWD))  # the second seed
    assert row["forgetting"] == pytest.approx(forgetting(R))
    assert row["curve"] == pytest.approx([91.0, 77.5 + 1.5, ACC + 0.5])


# Files


def csv(store: Store, name: str, **selection) -> list[dict[str, str]]:
    return list(DictReader(io.StringIO(exported(store, name, "csv", **selection).decode())))


def test_csv_has_empty_cells(gap):
    cells = [row["accuracy"] for row in csv(gap, "matrix")]
    assert cells == [f"{value}" if value == value else "" for value in without(1).ravel()]
    [row] = csv(gap, "table")
    assert [row[name] for name in ("fwd", "bwd", "forgetting")] == ["", "", ""]
    assert float(row["acc"]) == pytest.approx(ACC)


def test_latex_has_dashes(gap):
    lines = exported(gap, "matrix", "latex").decode().splitlines()
    assert r" & 2 & --- & --- & --- \\" in lines
    assert r" & 3 & 60.00 & 75.00 & 88.00 \\" in lines
    assert r"$74.33$ & --- & --- & --- \\" in exported(gap, "table", "latex").decode()
    assert [_latex.percent(value) for value in (np.nan, np.inf, 72.125)] == ["---", "---", "72.13"]


@pytest.mark.parametrize("format", ["png", "svg", "pdf", "html"])
def test_heat_map_can_be_drawn(gap, format):
    assert len(exported(gap, "matrix", format)) > 1000


def test_heat_map_has_an_empty_row(gap):
    data = matrices.data(Selection(gap, 1))
    axes = matrices.printed(data, View()).axes[0]
    assert [text.get_text() for text in axes.texts] == ["90", "10", "10", "60", "75", "88"]
    [heat] = json.loads(matrices.screen(data, View()).to_json())["data"]
    assert heat["hoverongaps"] is False
    html = exported(gap, "matrix", "html").decode()
    assert "NaN" not in html[html.rindex("Plotly.newPlot(") :]


def test_mean_matrix_is_over_complete_seeds(tmp_path):
    store = made(tmp_path / "runs.db", {1: 1}, seeds=3)
    rows = csv(store, "matrix")
    assert {row["runs"] for row in rows} == {"2"}
    assert [float(row["accuracy"]) for row in rows] == pytest.approx((R + 1.5).ravel())
    each = csv(store, "matrix", sweep=None, runs=[1, 2])
    assert [row["accuracy"] for row in each[3:6]] == ["", "", ""]
    assert [float(row["accuracy"]) for row in each[9:]] == pytest.approx((R + 1).ravel())


def test_mean_matrix_of_incomplete_seeds_has_missing_rows(tmp_path):
    store = made(tmp_path / "runs.db", {1: 1, 2: 2}, seeds=2)
    cells = [row["accuracy"] for row in csv(store, "matrix")]
    assert [float(cell or "nan") for cell in cells] == pytest.approx([*(R[0] + 0.5), *[np.nan] * 6], nan_ok=True)


def test_no_figure_without_known_rows(tmp_path):
    store = made(tmp_path / "runs.db", {1: 0})
    for format in ("png", "html", "latex", "csv"):
        with pytest.raises(UsageError, match="nothing to show"):
            exported(store, "matrix", format, View(after=1))
    with pytest.raises(UsageError, match="nothing to show after task 1"):
        exported(store, "table", "csv", View(after=1))


# Parts of pages


def test_sweep_table_has_dashes_and_a_gap_in_the_curve(gap):
    points = measurements.points(gap, frames.runs(gap, 1), View())
    [row] = table_rows(points, line_styles(points))
    assert [row["cells"][name]["text"] for name in MEASURES] == ["74.33", "—", "—", "—"]
    assert row["cells"]["curve"]["value"] == [90.0, None, pytest.approx(ACC)]
    json.dumps(row, allow_nan=False)  # the browser reads it


def test_curves_and_text_of_single_runs_have_the_gap():
    assert mean_accuracies(without(1))["acc"].tolist() == pytest.approx([90.0, np.nan, ACC], nan_ok=True)
    assert describe_matrix(without(1), []) == "90, 10, 10; —, —, —; 60, 75, 88"
    named = "after USPS: 90, 10, 10; after MNIST: —, —, —; after SVHN: 60, 75, 88"
    assert describe_matrix(without(1), ["USPS", "MNIST", "SVHN"]) == named
