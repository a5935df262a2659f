import re

import numpy as np
import pandas as pd
import pytest
from exported import exported, exported_csv
from filled_store import SMALL, filled_store
from lines import drawn_line, legend

from mgem_core import UsageError
from mgem_core.analysis import aggregate, frames, measurements
from mgem_core.analysis.aggregate import View
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures import frontier, mark_points


def test_lines_are_sorted_by_q_and_hollow_while_running(points):
    shuffled = points.iloc[::-1].assign(active=[0, 0, 0, 0, 1, 0, 0])
    axes = frontier.printed(shuffled, View()).axes[0]
    joined, faces = drawn_line(axes, "#0072B2")
    np.testing.assert_array_equal(joined.get_xydata(), points[points["line"] == "GEM"].sort_values("q")[["x", "y"]])
    assert faces == {"#0072B2": 2, "#FFFFFF": 1}
    assert legend(axes) == ["GEM", "p-mGEM(4)", "Single", "hollow: not final"]


def test_envelope_is_the_pareto_front_below_all_lines(points):
    points = points.assign(y=-points["x"])  # learning falls as retention grows
    axes = frontier.printed(points, View()).axes[0]
    envelope = next(line for line in axes.lines if line.get_label() == "adaptive (envelope)")
    front = points[points["q"].notna()].sort_values("x")
    assert legend(axes)[-1] == "adaptive (envelope)"
    np.testing.assert_array_equal(envelope.get_xydata(), front[["x", "y"]])
    assert all(line.get_zorder() > envelope.get_zorder() for line in axes.lines if line is not envelope)


def test_hiding_dominated_points(points):
    shown = frontier.screen(points, View(hide_dominated=True))["data"][1:]
    assert sorted(key for trace in shown for key in trace["customdata"]) == sorted(points.loc[points["front"], "key"])


def test_selected_points_have_a_thick_rim(points):
    marked = points["key"].iloc[0]
    traces = mark_points(frontier.screen(points, View()), [marked])["data"][1:]
    rims = {
        key: rim for trace in traces for key, rim in zip(trace["customdata"], trace["marker"]["line"]["width"], strict=True)
    }
    assert all((rim > 1) == (key == marked) for key, rim in rims.items())


def test_long_legend_increases_the_height_only(points):
    many = pd.concat([points.assign(line=f"p-mGEM({i}) · memory {i} · trigger always") for i in range(9)])
    width, height = frontier.printed(many, View()).get_size_inches()
    assert width == 3.5
    assert height > 2.8


def test_latex_has_four_digits(store, points):
    rows = [line for line in exported(store, "frontier", "latex").decode().splitlines() if line.endswith(r" \\")]
    assert r"$\langle g_s, z\rangle" in rows[0]
    for column, name in ((2, "x"), (3, "y")):
        cells = [row.removesuffix(r" \\").split(" & ")[column] for row in rows[1:]]
        shown = [float(re.search(r"-?[\d.]+", cell)[0]) for cell in cells]
        np.testing.assert_allclose(shown, points[name], atol=0.51 * points[name].abs().max() / 1000)


def test_runs_without_probes_have_no_frontier(tmp_path):
    store = filled_store(tmp_path / "runs.db", probed=False)
    reason = "no run has probed task 1 in task 2; at least two tasks and probe_every above 0 are needed"
    with pytest.raises(UsageError, match=reason):
        exported(store, "frontier", "csv")
    assert len(exported_csv(store, "table")) == 7


def test_strengths_per_task_in_files(tmp_path):
    store = filled_store(tmp_path / "runs.db", SweepSpec(base=SMALL, grid={"strength": [0.2, [0.5, 0.1]], "seed": [0]}))
    assert list(exported_csv(store, "frontier")["q"]) == [0.2, "0.5, 0.1"]
    assert exported(store, "frontier", "pdf").startswith(b"%PDF-")


def test_marker_size_grows_with_strength(points):
    figure = frontier.screen(points, View())
    for trace in figure["data"][1:]:
        sizes = trace["marker"]["size"]
        assert sizes == sorted(sizes)
        assert len(sizes) == 1 or sizes[0] < sizes[-1]
    labels = {label["text"].partition("</span> ")[2]: (label["x"], label["y"]) for label in figure["layout"]["annotations"]}
    assert labels == {trace["name"]: (trace["x"][-1], trace["y"][-1]) for trace in figure["data"][1:]}


def test_error_bars_are_not_cut_off(points):
    wide = points.assign(x_sem=5.0, y_sem=7.0)
    layout, axes = frontier.screen(wide, View())["layout"], frontier.printed(wide, View()).axes[0]
    printed = {"x": axes.get_xlim(), "y": axes.get_ylim()}
    for axis, error in (("x", 5.0), ("y", 7.0)):
        for low, high in (layout[f"{axis}axis"]["range"], printed[axis]):
            assert low < points[axis].min() - error
            assert high > points[axis].max() + error


def test_error_bars_follow_the_view(points):
    within, between, none = (
        frontier.screen(points, View(errors=errors))["data"][1] for errors in ("within", "between", "none")
    )
    assert within["error_x"]["array"] == points.loc[points["line"] == within["name"], "x_within"].tolist()
    assert between["error_y"]["array"] == points.loc[points["line"] == within["name"], "y_sem"].tolist()
    assert "error_x" not in none


def test_envelope_includes_only_methods_with_strength(points):
    best = points.assign(x=points["x"].where(points["label"] != "Single", 99.0), y=points["y"] + 1.0)
    best.loc[best["label"] == "Single", "y"] = 99.0
    assert 99.0 not in frontier.screen(best, View())["data"][0]["x"]


def test_seeds_are_drawn_as_faint_lines(store):
    view = View(errors="seeds")
    points = measurements.points(store, frames.runs(store, 1), view)
    runs = aggregate.run_measures(frames.runs(store, 1), measurements.read_measurements(store, store.run_ids(1)), view)
    figure = frontier.screen(points, view)
    faint = {trace["uid"]: trace for trace in figure["data"] if trace.get("meta") == "seeds"}
    expected: list[float | None] = []
    for seed in (0, 1):
        of_seed = runs[(runs["line"] == "GEM") & (runs["seed"] == seed)].sort_values("q")
        expected += [*of_seed["x"], None]
    assert faint["GEM_seeds"]["x"] == expected
    assert faint["GEM_seeds"]["opacity"] < 0.5
    assert all("error_x" not in trace for trace in figure["data"])
    low, high = figure["layout"]["xaxis"]["range"]
    assert low < runs["x"].min() < runs["x"].max() < high
    seeds = [line for line in frontier.printed(points, view).axes[0].lines if line.get_alpha() == 0.3]
    assert len(seeds) == 6  # two per line
    np.testing.assert_array_equal(seeds[0].get_xdata(), expected[:3])


def test_many_lines_use_a_legend_of_fixed_height(points):
    few = frontier.screen(points, View())["layout"]
    assert not few["showlegend"]
    assert len(few["annotations"]) == 3
    many = pd.concat([points.assign(line=f"p-mGEM({i})", label=f"p-mGEM({i})", family="p-mGEM") for i in range(2, 20)])
    first_result = many.assign(x=many["x"].where(many["line"] == "p-mGEM(2)"))
    layouts = [frontier.screen(frame, View())["layout"] for frame in (first_result, many)]
    for layout in layouts:
        assert layout["showlegend"]
        assert layout["annotations"] == []
        assert layout["legend"]["maxheight"] <= layout["margin"]["b"]
    assert layouts[0]["margin"] == layouts[1]["margin"]  # the layout does not move when more lines arrive


def test_ambiguous_labels_use_a_legend(points):
    lines = points["line"].replace({"GEM": "GEM · trigger always", "p-mGEM(4)": "GEM · trigger violation"})
    assert frontier.screen(points.assign(line=lines, label="GEM"), View())["layout"]["showlegend"]
