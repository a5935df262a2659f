"""The figures of recorded steps: curves, differences, forest, conflict and memory."""

import numpy as np
import pandas as pd
import pytest
from exported import exported, exported_csv
from filled_store import TWO_TASKS, filled_store, is_gem
from lines import legend

from mgem_core import UsageError
from mgem_core.analysis import frames
from mgem_core.analysis.aggregate import View
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures import FIGURES, curves, difference, forest, memory
from mgem_core.figures._bundles import bundles_of, join_names
from mgem_core.figures._recorded import GREY
from mgem_core.figures.selection import Selection
from mgem_core.lens.conflicts import layer_cosines
from mgem_core.lens.recorded_sweep import read_recorded
from mgem_core.lens.recordings import of_run
from mgem_core.lens.steps import steps_of

NAMES = ("curves", "difference", "forest", "conflict", "memory")
GRID = {"modules": [1, 2, 4], "splits": [1, 3], "strength": [0.0, 0.5, 2.0], "seed": list(range(5))}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """A sweep with recordings of GEM at strength 0.5 for five seeds."""
    spec = SweepSpec(base=TWO_TASKS, grid=GRID)
    return filled_store(tmp_path_factory.mktemp("sweep") / "runs.db", spec, records=is_gem)


LINES = ["GEM", "p-mGEM(2)", "p-mGEM(4)", "d-mGEM(3)", "md-GEM(2,3)", "md-GEM(4,3)"]


def recorded(store, **options):
    return read_recorded(store, frames.runs(store, 1), (0, 1), **options)


def test_lines_and_strengths_are_those_of_the_sweep(sweep):
    found = recorded(sweep)
    assert (found.title, [one.seed for one in found.recordings]) == ("GEM, strength 0.5", [0, 1, 2, 3, 4])
    assert sorted(line.name for line in found.lines) == sorted(LINES)
    assert found.strengths == [0.0, 0.5, 2.0]
    rows = exported_csv(sweep, "curves")
    assert set(rows["method"]) == set(LINES)
    assert set(rows.loc[rows["in_sweep"], "q"]) == {0.0, 0.5, 2.0}
    assert (rows.groupby("method")["q"].count() >= 61).all()


def test_points_are_means_with_standard_errors_over_seeds(sweep):
    rows, found = exported_csv(sweep, "curves", View(axes="raw")), recorded(sweep)
    at_half = rows[(rows["method"] == "p-mGEM(4)") & (rows["q"] == 0.5)].iloc[0]
    place = [line.name for line in found.lines].index("p-mGEM(4)")
    x, y, _ = found.curves("raw", strengths=[0.5])[place, :, 0].T
    assert at_half["gs_z"] == pytest.approx(x.mean())
    assert at_half["gt_z_sem"] == pytest.approx(y.std(ddof=1) / 5**0.5)


def test_forest_has_the_differences_at_equal_retention(sweep):
    rows, found = exported_csv(sweep, "forest").set_index("method"), recorded(sweep).differences("unit")
    assert list(rows.index) == LINES[1:]
    for line, one in found.items():
        assert rows.loc[line, "mean"] == pytest.approx(one.estimate.mean)
        assert rows.loc[line, "reach_high"] == pytest.approx(one.reach.high)
        assert rows.loc[line, "is_significant"] == one.is_significant
    assert set(rows["comparisons"]) == {24}


def test_difference_has_a_band_at_each_place(sweep):
    rows, found = exported_csv(sweep, "difference"), recorded(sweep).differences("unit")
    of_line = rows[rows["method"] == "d-mGEM(3)"]
    np.testing.assert_allclose(of_line["share"], np.linspace(0, 1, 101))
    np.testing.assert_allclose(of_line["low"], [one.low for one in found["d-mGEM(3)"].profile])
    assert rows.groupby("method")["mean"].mean().to_dict() == pytest.approx(
        {line: one.estimate.mean for line, one in found.items()}
    )


def test_another_line_can_be_the_baseline(sweep):
    rows = exported_csv(sweep, "forest", View(baseline="p-mGEM(2)"))
    assert "GEM" in set(rows["method"])
    assert set(rows["baseline"]) == {"p-mGEM(2)"}
    with pytest.raises(UsageError, match="baseline is 'EWC'; it must be one of GEM, "):
        exported(sweep, "difference", "csv", View(baseline="EWC"))
    assert not FIGURES["forest"].is_available(Selection(sweep, 1, view=View(baseline="EWC")))
    assert FIGURES["forest"].is_available(Selection(sweep, 1, view=View(baseline="p-mGEM(2)")))


def test_conflict_is_the_cosine_of_each_layer(sweep):
    rows = exported_csv(sweep, "conflict")
    found = [layer_cosines(steps_of(one, 1), 0) for one in recorded(sweep).recordings]
    wanted = np.mean(found, axis=0)  # [steps, layers]
    np.testing.assert_allclose(rows.pivot(index="step", columns="layer", values="cosine"), wanted)
    steps = steps_of(recorded(sweep).recordings[0], 1)
    gram = steps.gram[0, :2].sum(0)  # the tensors of the first layer
    past = gram[3:].mean(axis=0)  # all splits have the same size
    assert found[0][0, 0] == pytest.approx(past[0] / np.sqrt(gram[0, 0] * past[3:].mean()))


def test_memory_is_compared_with_the_past_task(sweep):
    rows = exported_csv(sweep, "memory", View(axes="raw"))
    means = recorded(sweep).curves("raw").mean(axis=1)
    gem = rows[rows["method"] == "GEM"]
    np.testing.assert_allclose(gem[["gs_z", "memory_z"]], means[0][:, [0, 2]])
    assert list(memory.ticks(30.0).values()) == ["0", "0.1", "0.3", "1", "3", "10", "30"]


def test_all_pairs_are_averaged(store):
    view = View(pair=None, axes="raw")
    rows, pairs = exported_csv(store, "curves", view), [(0, 1), (0, 2), (1, 2)]
    each = [exported_csv(store, "curves", View(pair=pair, axes="raw"))["gs_z"] for pair in pairs]
    np.testing.assert_allclose(rows["gs_z"], np.mean(each, axis=0))
    assert set(exported_csv(store, "conflict", view)["task"]) == {2, 3}
    assert set(exported_csv(store, "conflict", View(pair=None, after=2))["task"]) == {2}


@pytest.mark.parametrize("name", NAMES)
def test_titles_name_the_recorded_steps(sweep, name):
    figure, selection = FIGURES[name], Selection(sweep, 1)
    data, words = figure.data(selection), "at the recorded steps of GEM, strength 0.5 (5 seeds)"
    assert words in figure.subtitle(data, View())
    assert words in figure.printed(data, View()).get_suptitle().replace("\n", " ")
    if figure.screen:
        assert words in figure.screen(data, View())["layout"]["title"]["text"]


@pytest.mark.parametrize("name", NAMES)
def test_printed_text_is_inside_the_page_and_does_not_overlap(sweep, name):
    figure = FIGURES[name].printed(FIGURES[name].data(Selection(sweep, 1)), View())
    figure.set_dpi(100)
    figure.draw_without_rendering()
    page = figure.bbox
    texts = [*figure.texts, *(text for axes in figure.axes for text in (axes.xaxis.label, axes.yaxis.label))]
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        texts += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    texts += [text for one in figure.legends for text in one.texts]
    boxes = [text.get_window_extent() for text in texts if text.get_text() and text.get_visible()]
    boxes = [box for box in boxes if box.width]
    inside = [box.x0 >= page.x0 - 1 and box.x1 <= page.x1 + 1 and box.y0 >= page.y0 - 1 for box in boxes]
    assert all(inside)
    assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.shrunk(0.9, 0.7).overlaps(b.shrunk(0.9, 0.7))]


def test_differences_that_are_not_significant_are_grey():
    shared = {"recorded": "GEM, strength 0.5", "recorded_seeds": 6, "seeds": 6, "baseline": "GEM", "comparisons": 24}
    rows = pd.DataFrame(
        [
            {"line": f"p-mGEM({count})", "label": f"p-mGEM({count})", "family": "p-mGEM", "is_significant": count == 2}
            | {"mean": 1.0, "low": 0.5, "high": 1.5, **shared}
            for count in (2, 3)
        ]
    )
    colors = forest.colors(rows)
    assert colors["p-mGEM(2)"] != GREY == colors["p-mGEM(3)"]
    traces = forest.screen(rows, View())["data"]
    assert [trace["marker"]["color"] for trace in traces] == list(colors.values())


def test_curves_that_coincide_have_one_name():
    shared = {"recorded": "GEM, strength 0.5", "recorded_seeds": 6}
    rows = pd.DataFrame(
        [
            {"line": f"p-mGEM({count})", "label": f"p-mGEM({count})", "family": "p-mGEM", "q": x, "in_sweep": False}
            | {"x": x, "y": 1 - x * x + (0.5 if count == 4 else 1e-4 * count), **shared}
            for count in (2, 3, 4)
            for x in np.linspace(0, 1, 30)
        ]
    )
    assert legend(curves.printed(rows, View()).axes[0]) == ["p-mGEM(2–3)", "p-mGEM(4)"]


def test_names_are_joined_as_on_the_page():
    ordered = ["GEM", *(f"p-mGEM({count})" for count in (2, 3, 4, 6)), "d-mGEM(2)", "d-mGEM(3)", "d-mGEM(6)", "md-GEM(2,2)"]
    assert join_names(ordered[1:5], ordered) == "p-mGEM(2–6)"
    assert join_names(["d-mGEM(2)", "d-mGEM(6)"], ordered) == "d-mGEM(2, 6)"
    assert join_names(["GEM", "p-mGEM(3)", "p-mGEM(4)"], ordered) == "GEM, p-mGEM(3–4)"
    assert join_names(["md-GEM(2,2)"], ordered) == "md-GEM(2,2)"


def test_bundles_are_curves_that_are_nowhere_far_apart():
    line = np.stack([np.arange(10.0), np.arange(10.0)], axis=1)
    denser = np.repeat(line, 3, axis=0)
    longer = np.vstack([line, [[30.0, 30.0]]])
    assert bundles_of([line, denser + 0.1, longer, line + 5], 0.5) == [[0, 1], [2], [3]]


def test_a_seed_without_a_common_range_is_mentioned():
    rows = pd.DataFrame({"recorded": ["GEM, strength 0.5"], "recorded_seeds": [4], "seeds": [3], "baseline": ["GEM"]})
    assert difference.subtitle(rows, View()).endswith("(3 of 4 seeds)")


def test_gem_with_the_most_seeds_and_the_usual_strength_is_used(tmp_path):
    spec = SweepSpec(base=TWO_TASKS, grid={"modules": [1, 2], "strength": [0.3, 3.0], "seed": [0, 1]})
    store = filled_store(tmp_path / "runs.db", spec, records=lambda config: config.modules == 1 or config.seed == 0)
    assert recorded(store).title == "GEM, strength 0.3"
    store = filled_store(tmp_path / "other.db", spec, records=lambda config: config.modules == 2 or config.seed == 0)
    assert recorded(store).title == "p-mGEM(2), strength 0.3"


def test_runs_without_a_result_are_not_used(tmp_path):
    spec = SweepSpec(base=TWO_TASKS, grid={"strength": [0.5], "seed": [0, 1]})
    store = filled_store(tmp_path / "runs.db", spec, records=is_gem, finishes=lambda run: run == 1)
    store.cancel([2])
    store.requeue_interrupted()
    assert set(exported_csv(store, "curves")["recorded_seeds"]) == {1}
    assert of_run(store, 2).seed == 1


def test_sweep_without_recordings_says_how_to_record(tmp_path):
    store = filled_store(tmp_path / "runs.db", SweepSpec(base=TWO_TASKS, grid={"strength": [0.5]}))
    for name in NAMES:
        assert not FIGURES[name].is_available(Selection(store, 1))
        with pytest.raises(UsageError, match="no run has recorded steps; record some with mgem sweep --record"):
            exported(store, name, "csv")
    assert FIGURES["conflict"].name_parts(View()) == ["task1-task2"]
