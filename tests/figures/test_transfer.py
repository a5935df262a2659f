import numpy as np
import pandas as pd
import pytest
from exported import exported
from filled_store import SMALL, filled_store
from lines import drawn_line, legend
from matplotlib.collections import PathCollection

from mgem_core.analysis.aggregate import View
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures import transfer
from mgem_core.figures._labels import SCREEN
from mgem_core.figures.selection import Selection


def test_lines_are_sorted_by_q_and_hollow_while_running(points):
    shuffled = points.iloc[::-1].assign(active=[0, 0, 0, 0, 1, 0, 0])
    axes = transfer.printed(shuffled, View()).axes[0]
    joined, faces = drawn_line(axes, "#0072B2")
    np.testing.assert_array_equal(joined.get_xydata(), points[points["line"] == "GEM"].sort_values("q")[["bwd", "fwd"]])
    assert faces == {"#0072B2": 2, "#FFFFFF": 1}
    assert legend(axes) == ["GEM", "p-mGEM(4)", "Single", "hollow: not final", "equal ACC"]


def test_lines_of_equal_acc_on_paper(points):
    axes = transfer.printed(points, View()).axes[0]
    names = {float(text.get_text().removeprefix("ACC ")) for text in axes.texts}
    sums = [line.get_xydata().sum(axis=1) for line in axes.lines if line.get_zorder() == 1.5]
    assert len(names) >= 2
    assert {round(float(ends[0]), 6) for ends in sums} == names
    for ends in sums:
        np.testing.assert_allclose(ends, ends[0])


def test_lines_of_equal_acc_on_the_screen():
    frame = pd.DataFrame({"bwd": [-5.0, 1.0], "fwd": [80.0, 84.0]})
    lines = transfer.equal_acc(frame)
    assert 2 <= len(lines) <= 7
    assert all(x + y == pytest.approx(acc) for acc, ends in lines.items() for x, y in ends)
    assert all(-6.5 < x < 1.5 and 77.5 < y < 84.5 for ends in lines.values() for x, y in ends)  # near points and errors


def test_single_seed_is_drawn_without_error_bars(tmp_path):
    store = filled_store(tmp_path / "runs.db", SweepSpec(base=SMALL, grid={"strength": [0.2, [0.5, 0.1]], "seed": [0]}))
    assert exported(store, "transfer", "pdf").startswith(b"%PDF-")


def test_points_hidden_in_the_frontier_are_hidden(points):
    front = set(points.loc[points["front"] & points["bwd"].notna(), "key"])
    figure = transfer.screen(points, View(hide_dominated=True))
    assert {key for trace in figure["data"] for key in trace.get("customdata", ())} == front
    axes = transfer.printed(points, View(hide_dominated=True)).axes[0]
    assert sum(len(found.get_offsets()) for found in axes.collections if isinstance(found, PathCollection)) == len(front)
    without_probes = points.assign(x=np.nan, y=np.nan, front=False)
    figure = transfer.screen(without_probes, View(hide_dominated=True))
    assert {key for trace in figure["data"] for key in trace.get("customdata", ())} == set(points["key"])


def test_labels_of_equal_acc_cover_no_point(points):
    layout = transfer.screen(points, View())["layout"]
    labels = [label for label in layout["annotations"] if label["text"].startswith("ACC")]
    assert labels
    ranges = [layout[f"{axis}axis"]["range"] for axis in "xy"]

    def pixel(x, y, plot):
        return [(at - low) / (high - low) * size for at, (low, high), size in zip((x, y), ranges, plot, strict=True)]

    for label in labels:
        assert label["x"] + label["y"] == pytest.approx(float(label["text"].removeprefix("ACC ")))
        for plot in SCREEN:
            left, bottom = pixel(label["x"], label["y"], plot)
            for bwd, fwd in points[["bwd", "fwd"]].dropna().to_numpy():
                x, y = pixel(bwd, fwd, plot)
                assert not (left < x < left + 30 and bottom < y < bottom + 10)


def test_runs_with_fewer_tasks_are_not_drawn_yet(tmp_path):
    spec = SweepSpec(base=SMALL, grid={"strength": [0.0, 0.1, 0.5]})
    store = filled_store(tmp_path / "runs.db", spec, finishes=lambda run: run != 2)  # run 2 has learned two of three tasks
    points = Selection(store, 1).points()
    assert points["learned"].tolist() == [3, 2, 3]
    assert drawn_keys(points, View()) == set(points.loc[points["learned"] == 3, "key"])
    after_two = View(after=2)
    assert drawn_keys(Selection(store, 1, view=after_two).points(), after_two) == set(points["key"])


def drawn_keys(points, view):
    return {key for trace in transfer.screen(points, view)["data"] for key in trace.get("customdata", [])}


def test_zero_acc_label_has_no_sign():
    points = pd.DataFrame({"bwd": [-60.0, 0.0], "fwd": [30.0, 90.0]})
    assert [f"{acc:g}" for acc in transfer.equal_acc(points)] == ["0", "50"]


def test_title_of_a_single_seed_mentions_no_errors():
    points = pd.DataFrame({"seeds": [1, 1], "is_shared": True, "other_seeds": [(), ()]})
    assert transfer.subtitle(points, View()) == "dashed: equal ACC · 1 shared seed"
    assert "standard error" in transfer.subtitle(points.assign(seeds=2), View())
