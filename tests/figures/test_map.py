"""The map shows values, or paired differences to a baseline and their significance."""

import numpy as np
import pandas as pd
import pytest
from compared import STRENGTHS, compared_store
from exported import exported, exported_csv
from filled_store import SMALL, filled_store
from matplotlib.colors import to_hex

from mgem_core import UsageError
from mgem_core.analysis import frames
from mgem_core.analysis.aggregate import View
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures import FIGURES, map
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import contrast


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    return compared_store(tmp_path_factory.mktemp("store") / "runs.db")


def cells_of(store, view=View()):  # noqa: B008
    return map.data(Selection(store, 1, view=view))


def test_cell_is_the_mean_paired_difference_at_equal_strength(compared):
    runs = frames.runs(compared, 1).set_index(["label", "strength", "seed"])["acc"].sort_index()
    cells = cells_of(compared)
    assert list(zip(cells["line"], cells["q"], strict=True))[:6] == [
        (line, q) for line in ("p-mGEM(2)", "p-mGEM(4)") for q in STRENGTHS
    ]
    for cell in cells[cells["line"] != "Single"].to_dict("records"):
        difference = runs[cell["line"], cell["q"]] - runs["GEM", cell["q"]]
        assert cell["value"] == pytest.approx(difference.mean())
        assert cell["seeds"] == 6


def test_parentheses_mark_differences_that_are_not_significant(compared):
    lines, columns, values, shades, texts = map.grid(cells_of(compared), View())
    assert (lines, columns[1:]) == (["p-mGEM(2)", "p-mGEM(4)", "Single"], ["0", "0.5", "1"])
    assert all(text.startswith("(") and text.endswith(")") for text in texts[0][1:])
    assert all(text.startswith("+3.") or text.startswith("+2.") for text in texts[1][1:])
    assert texts[2] == [""] * 4  # a line without strengths has no cell to compare
    assert np.isnan(values[2]).all()
    assert (shades[0][1:] == map.PALE * values[0][1:]).all()
    assert (shades[1][1:] == values[1][1:]).all()
    assert "6 seeds; in ( ): not significant" in map.subtitle(cells_of(compared), View())


def test_holm_correction_over_all_cells(compared):
    """No corrected p is below the uncorrected one, and the smallest is multiplied by the number of cells."""
    from mgem_core.analysis import paired, significance

    cells = cells_of(compared).dropna(subset=["value"])
    _, tables = paired.shared_tables(Selection(compared, 1).runs_to_compare())
    alone = [
        significance.estimate(difference).p
        for line in ("p-mGEM(2)", "p-mGEM(4)")
        for difference in paired.at_each_strength(tables[line], tables["GEM"], "acc").T
    ]
    assert all(p >= q for p, q in zip(cells["p"], alone, strict=True))
    assert cells["p"].min() == pytest.approx(len(alone) * min(alone))


def test_three_seeds_are_never_significant(tmp_path):
    store = compared_store(tmp_path / "runs.db", seeds=3, shift=20.0)
    cells = cells_of(store)
    assert not cells["is_significant"].any()
    assert "not significant (at least 4 shared seeds are needed)" in map.subtitle(cells, View())


def test_baseline_can_be_any_line(compared):
    other = cells_of(compared, View(baseline="p-mGEM(4)"))
    assert other[other["line"] == "GEM"]["value"].tolist() == pytest.approx([-3.0] * 3, abs=0.2)
    single = cells_of(compared, View(baseline="Single"))
    assert single["value"].notna().all()
    with pytest.raises(UsageError, match=r"baseline is 'EWC'; it must be one of GEM, p-mGEM\(2\), p-mGEM\(4\), Single\."):
        cells_of(compared, View(baseline="EWC"))


def test_values_equal_the_table(compared):
    cells = cells_of(compared, View(cells="values"))
    table = exported_csv(compared, "table")
    expected = table.set_index(["method", "q"])["acc"]
    for cell in cells[cells["line"] != "Single"].to_dict("records"):
        assert cell["value"] == expected[cell["line"], cell["q"]]
    lines, columns, _, _, texts = map.grid(cells, View(cells="values"))
    assert lines == ["GEM", "p-mGEM(2)", "p-mGEM(4)", "Single"]
    assert columns == ["—", "0", "0.5", "1"]
    assert texts[0][0] == "" != texts[3][0]


def test_colour_scales(compared):
    cells = cells_of(compared)
    heat = map.screen(cells, View())["data"][0]
    assert heat["zmin"] == -heat["zmax"] == -cells["value"].abs().max()
    middle = heat["colorscale"][len(heat["colorscale"]) // 2]
    assert middle[0] == 0.5
    assert contrast(middle[1], "#FFFFFF") < 1.2
    values = cells_of(compared, View(cells="values"))
    heat = map.screen(values, View(cells="values"))["data"][0]
    assert (heat["zmin"], heat["zmax"]) == (values["value"].min(), values["value"].max())


def test_printed_numbers_have_contrast(compared):
    for view in (View(), View(cells="values")):
        figure = map.printed(cells_of(compared, view), view)
        axes = figure.axes[0]
        [image] = axes.images
        assert axes.texts
        for text in axes.texts:
            j, i = (round(at) for at in text.get_position())
            cell = to_hex(image.cmap(image.norm(image.get_array()[i, j])))
            assert contrast(to_hex(text.get_color()), cell) >= 4.5


@pytest.mark.parametrize("measure", ["x", "y"])
def test_small_numbers_have_two_digits(compared, measure):
    view = View(measure=measure, cells="differences")
    texts = [text for row in map.grid(cells_of(compared, view), view).texts for text in row if text]
    assert all("." in text for text in texts)


def test_latex_equals_the_cells(compared):
    table = exported(compared, "map", "latex").decode()
    assert r"method & no $q$ & $q = 0$ & $q = 0.5$ & $q = 1$ \\" in table
    assert "p-mGEM(2) & --- & $(" in table
    assert "minus that of GEM at the same q" in table


def test_single_line_cannot_be_compared(tmp_path):
    from filled_store import SMALL, filled_store

    from mgem_core.config.sweeps import SweepSpec

    store = filled_store(tmp_path / "runs.db", SweepSpec(base=SMALL, grid={"strength": [0.0, 1.0]}))
    for name in ("map", "seeds"):
        with pytest.raises(UsageError, match="nothing to compare: all runs belong to one line, GEM"):
            exported(store, name, "csv")
        assert not FIGURES[name].is_available(Selection(store, 1))
    assert len(exported_csv(store, "map", View(cells="values"))) == 2


def test_many_rows_increase_the_height(compared):
    cells = cells_of(compared)
    many = pd.concat([cells.assign(line=cells["line"] + f" · memory {i}") for i in range(12)])
    assert map.screen(cells, View())["layout"]["height"] == 420
    assert map.screen(many, View())["layout"]["height"] > 36 * 20


def test_strengths_per_task_are_in_the_column_of_their_mean(tmp_path):
    spec = SweepSpec(base=SMALL, grid={"strength": [0.15, 0.5, [0.1, 0.2]]})
    view = View(cells="values")
    _, columns, _, _, texts = map.grid(cells_of(filled_store(tmp_path / "runs.db", spec), view), view)
    assert columns == ["0.15", "0.5"]
    assert all(texts[0])


def test_runs_with_fewer_tasks_are_not_shown_yet(tmp_path):
    spec = SweepSpec(base=SMALL, grid={"strength": [0.0, 0.1, 0.5]})
    store = filled_store(tmp_path / "runs.db", spec, finishes=lambda run: run != 2)
    assert cells_of(store, View(cells="values"))["q"].tolist() == [0.0, 0.5]
