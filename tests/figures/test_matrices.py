from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from exported import exported, exported_csv
from filled_store import SMALL, filled_store

from mgem_core.analysis import aggregate, frames, measurements
from mgem_core.analysis.aggregate import View
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Started
from mgem_core.figures import _latex, _print, matrices
from mgem_core.figures.selection import Selection


def as_data(named: dict[str, np.ndarray], tasks: Sequence[str | None] = (None,) * 20) -> pd.DataFrame:
    """Return the figure's data for these matrices, given by name."""
    entries = [(name, 1, i + 1, j + 1, tasks[j], value) for name, R in named.items() for (i, j), value in np.ndenumerate(R)]
    return pd.DataFrame(entries, columns=["name", "runs", "after_task", "on_task", "on_task_name", "accuracy"])


def test_matrix_is_the_mean_over_finished_seeds(tmp_path):
    store = filled_store(tmp_path / "runs.db", finishes=lambda run: run != 8)
    frame = exported_csv(store, "matrix")
    runs = frames.runs(store, 1)
    assert list(dict.fromkeys(frame["name"])) == [
        aggregate.title(row) for _, row in measurements.points(store, runs, View()).iterrows()
    ]
    for name, ids in (("GEM at q = 0", [1]), ("GEM at q = 0.1", [2, 9]), ("Single", [7, 14])):
        rows = frame[frame["name"] == name]
        R = np.mean([frames.matrix(store, run).to_numpy() for run in ids], axis=0)
        np.testing.assert_allclose(rows["accuracy"].to_numpy().reshape(3, 3), R, rtol=1e-15)
        assert set(rows["runs"]) == {len(ids)}
    assert len(exported_csv(store, "matrix", View(after=2))) == 7 * 2 * 3
    assert "accuracy in percent, mean over finished seeds" in exported(store, "matrix", "latex").decode()


def test_unfinished_single_runs_have_a_panel_each(tmp_path):
    store = filled_store(tmp_path / "runs.db", finishes=lambda run: run != 8)
    frame = exported_csv(store, "matrix", sweep=None, runs=[8, 11])
    R = [frames.matrix(store, run).to_numpy() for run in (8, 11)]
    assert [len(one) for one in R] == [2, 3]
    np.testing.assert_array_equal(frame["accuracy"], np.concatenate([one.ravel() for one in R]))
    assert list(dict.fromkeys(frame["name"])) == ["r8: GEM at q = 0, seed 1", "r11: p-mGEM(4) at q = 0, seed 1"]
    assert exported(store, "matrix", "pdf", sweep=None, runs=[8, 11]).startswith(b"%PDF-")
    assert "mean over" not in exported(store, "matrix", "latex", sweep=None, runs=[8, 11]).decode()


def test_task_names_are_omitted_if_seeds_differ(tmp_path):
    store = filled_store(tmp_path / "runs.db", SweepSpec(base=SMALL, grid={"strength": [0.5, 1.0], "seed": [0, 1]}))
    events = {run: list(store.events([run], ["TaskLearned"])) for run in (1, 3)}
    for run, names in ((1, ("USPS", "MNIST", "SVHN (1,083 images)")), (3, ("USPS", "SVHN (1,083 images)", "MNIST"))):
        store.record([(run, Started("GEM", names, 10, 1, 3, 0))])  # recorded after all tasks
    assert events == {run: list(store.events([run], ["TaskLearned"])) for run in (1, 3)}
    mean = matrices.data(Selection(store, 1))
    assert mean["on_task_name"].fillna("").tolist() == [*("USPS", "", "") * 3, *("", "", "") * 3]
    alone = exported_csv(store, "matrix", sweep=None, runs=[3])
    assert alone["on_task_name"].tolist() == ["USPS", "SVHN (1,083 images)", "MNIST"] * 3


def test_hover_text_fits_on_a_phone():
    names = ["USPS", "clipart: aircraft carrier, basketball, cello, dishwasher, eyeglasses"]
    [heat_map] = matrices.screen(as_data({"GEM": np.eye(2)}, names), View()).data
    text = heat_map.hovertext[0][1]
    assert text.replace("<br>", " ") == f"task 2 · {names[1]} after task 1 · USPS"
    assert max(map(len, text.split("<br>"))) <= 40
    [unnamed] = matrices.screen(as_data({"GEM": np.eye(2)}), View()).data
    assert unnamed.hovertext[0][1] == "task 2<br>after task 1"


def test_at_most_twelve_configurations_are_drawn(tmp_path, monkeypatch):
    strengths = [i / 10 for i in range(14)]
    store = filled_store(tmp_path / "runs.db", SweepSpec(base=SMALL, grid={"strength": strengths}))
    drawn = []
    monkeypatch.setattr(_print, "as_bytes", lambda figure, format: drawn.append(figure) or b"")
    exported(store, "matrix", "png")
    assert drawn[0].get_suptitle() == "the first 12 of 14 configurations"
    assert sum(bool(axes.images) for axes in drawn[0].axes) == 12
    assert "the first 12 of 14 configurations" in exported(store, "matrix", "html").decode()
    assert exported_csv(store, "matrix")["name"].nunique() == 14
    table = exported(store, "matrix", "latex").decode()
    assert table.count(r"\midrule") == 14
    assert table.count("\\\\\n") == 1 + 14 * 3


@pytest.mark.parametrize(("count", "tasks"), [(1, 2), (2, 20), (3, 2), (4, 7), (5, 2), (8, 20)])
def test_heat_maps_share_a_scale(count, tasks):
    named = {f"GEM at q = {i}": np.arange(tasks * tasks).reshape(tasks, tasks) + 10.0 * i for i in range(count)}
    figure = matrices.printed(as_data(named), View())
    images = [axes.images[0] for axes in figure.axes if axes.images]
    for image, R in zip(images, named.values(), strict=True):
        np.testing.assert_array_equal(image.get_array(), R)
        assert image.get_clim() == (0, tasks * tasks - 1 + 10 * (count - 1))
    numbers = [text.get_text() for text in images[0].axes.texts]
    assert numbers == ([f"{value:.0f}" for value in named["GEM at q = 0"].flat] if tasks <= 10 else [])


def test_matrices_of_different_heights():
    R = np.arange(9.0).reshape(3, 3)
    figure = matrices.screen(as_data({"finished": R, "running": R[:2]}), View())
    for heat_map, expected in zip(figure.data, (R, R[:2]), strict=True):
        np.testing.assert_array_equal(heat_map.z, expected)


def test_halves_are_rounded_up():
    data = as_data({"GEM": np.array([[72.5, 71.5], [0.49, 99.51]])})
    assert [text.get_text() for text in matrices.printed(data, View()).axes[0].texts] == ["73", "72", "0", "100"]
    assert [_latex.percent(value) for value in (72.125, 72.375, 9.0, 0.004)] == ["72.13", "72.38", "9.00", "0.00"]


def test_heat_maps_have_the_order_of_tables(tmp_path):
    spec = SweepSpec(base=SMALL, grid={"modules": [2, 1], "strength": [3.0, 0.5], "seed": [0]})
    names = Selection(filled_store(tmp_path / "runs.db", spec), 1)
    order = ["p-mGEM(2) at q = 0.5", "p-mGEM(2) at q = 3", "GEM at q = 0.5", "GEM at q = 3"]
    assert matrices.data(names)["name"].unique().tolist() == order


def test_strength_in_a_title_is_not_wrapped():
    figure = matrices.printed(as_data({f"d-mGEM(2) at q = 0.{number}": np.eye(3) for number in range(3)}), View())
    assert [axes.get_title().replace("\N{NO-BREAK SPACE}", " ").split("\n")[1] for axes in figure.axes[:3]] == [
        "q = 0.0",
        "q = 0.1",
        "q = 0.2",
    ]
