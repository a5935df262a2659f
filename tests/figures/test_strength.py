"""Against strength: a measure over q, on an axis that shows both 0 and 10."""

from itertools import pairwise

import numpy as np
import pytest
from exported import exported, exported_csv
from filled_store import SMALL, filled_store
from lines import legend

from mgem_core import UsageError
from mgem_core.analysis import frames, measurements
from mgem_core.analysis.aggregate import View
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures import strength


def of_lines(figure):
    return {trace["name"]: trace for trace in figure["data"] if "customdata" in trace}


@pytest.mark.parametrize("measure", ["acc", "fwd", "bwd", "x", "y"])
def test_line_has_its_measure_at_each_strength(points, measure):
    lines = of_lines(strength.screen(points, View(measure=measure)))
    for name in ("GEM", "p-mGEM(4)"):
        rows = points[points["line"] == name].sort_values("q")
        assert lines[name]["y"] == rows[measure].tolist()
        assert lines[name]["x"] == [strength.position(q) for q in rows["q"]]
        assert lines[name]["error_y"]["array"] == rows[f"{measure}_sem"].tolist()
        assert "error_x" not in lines[name]


def test_axis_shows_small_and_large_strengths():
    places = [strength.position(q) for q in (0, 0.1, 0.3, 1, 3, 10)]
    steps = [after - before for before, after in pairwise(places)]
    assert places[0] == 0
    assert max(steps) < 2 * min(steps)


def test_ticks_are_strengths_and_do_not_overlap(points):
    assert list(strength.ticks(points[points["q"].notna()]).values()) == ["0", "0.1", "0.5"]
    crowded = points.assign(q=[0, 0.001, 0.002, 0.5, 0.501, 1, 2])
    assert list(strength.ticks(crowded).values()) == ["0", "0.5", "1", "2"]


def test_line_without_strength_is_dotted_and_named(points):
    figure = strength.screen(points, View())
    single = of_lines(figure)["Single"]
    assert single["line"]["dash"] == "dot"
    assert set(single["y"]) == {points.loc[points["line"] == "Single", "acc"].item()}
    assert any(label["text"].endswith("Single") for label in figure["layout"]["annotations"])
    axes = strength.printed(points, View()).axes[0]
    assert any(line.get_linestyle() == ":" and set(line.get_ydata()) == set(single["y"]) for line in axes.lines)
    assert legend(axes) == ["GEM", "p-mGEM(4)", "Single"]
    assert axes.get_ylim()[0] <= min(points["acc"]) <= max(points["acc"]) <= axes.get_ylim()[1]


def test_strengths_per_task_are_drawn_at_their_mean(tmp_path):
    store = filled_store(tmp_path / "runs.db", SweepSpec(base=SMALL, grid={"strength": [0.2, [0.5, 0.1]], "seed": [0]}))
    found = measurements.points(store, frames.runs(store, 1), View())
    assert of_lines(strength.screen(found, View()))["GEM"]["x"] == [strength.position(0.2), strength.position(0.3)]


def test_files_have_measure_and_errors(store, points):
    table = exported_csv(store, "strength", View(measure="y"))
    np.testing.assert_array_equal(table["gt_z"], points["y"])
    np.testing.assert_array_equal(table["gt_z_within"], points["y_within"])
    assert "acc" not in table
    assert "ACC" in exported(store, "strength", "latex").decode()


def test_runs_without_strengths_are_an_error(tmp_path):
    store = filled_store(tmp_path / "runs.db", SweepSpec(base=SMALL, grid={"method": ["single"], "seed": [0]}))
    with pytest.raises(UsageError, match="no run has learned its first task with a memory strength"):
        exported(store, "strength", "csv")
