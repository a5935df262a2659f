"""The legend of printed figures: every line has an entry, every entry a line, and nothing is covered or cut off."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from filled_store import SMALL, filled_store, is_gem
from lines import legend
from matplotlib.collections import LineCollection

from mgem_core import UsageError
from mgem_core.analysis.aggregate import View
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures import FIGURES, frontier
from mgem_core.figures.page import Page
from mgem_core.figures.selection import Selection

WITH_LEGEND = [name for name, figure in FIGURES.items() if figure.has_legend]
PRINTED = [name for name, figure in FIGURES.items() if figure.printed]
PAGES = [Page(), Page(columns=2, legend="inside")]
MANY = {"modules": [1, 2, 4], "splits": [1, 2, 6], "strength": [0.1, 0.5], "seed": [0, 1]}


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A store with a sweep of nine lines."""
    spec = SweepSpec(base={**SMALL, "memory": 24}, grid=MANY)
    return filled_store(tmp_path_factory.mktemp("many") / "runs.db", spec, records=is_gem)


def drawn(store, name, page, view=None):
    """Draw a figure, and lay it out at its final size."""
    figure = FIGURES[name]
    page_drawn = figure.printed(figure.data(Selection(store, 1, view=view or View())), view or View(), page)
    page_drawn.set_dpi(100)
    page_drawn.draw_without_rendering()
    return page_drawn


@pytest.mark.parametrize("page", PAGES, ids=str)
@pytest.mark.parametrize("name", PRINTED)
def test_everything_is_inside_the_page(many, name, page):
    if name == "networks":
        page = replace(page, legend="outside")  # it has a line per strength, which are too many for the inside
    figure = drawn(many, name, page, View(difference="best"))  # the longest title
    assert figure.get_figwidth() == page.width
    box, whole = figure.get_tightbbox(), figure.get_size_inches()
    assert box.x0 > -0.01
    assert box.y0 > -0.01
    assert box.x1 < whole[0] + 0.01
    assert box.y1 < whole[1] + 0.01


@pytest.mark.parametrize("page", PAGES, ids=str)
@pytest.mark.parametrize("name", ["frontier", "transfer", "strength", "curves"])
def test_every_line_has_one_entry(many, name, page):
    figure = drawn(many, name, page)
    others = {"adaptive (envelope)", "equal ACC"}
    entries = [entry for entry in legend(figure.axes[0]) if entry not in others]
    lines = FIGURES[name].data(Selection(many, 1))["line"].unique()
    assert len(entries) == len(set(entries))
    if name == "curves":  # lines that coincide have one entry
        assert len(entries) <= len(lines)
    else:
        assert sorted(entries) == sorted(lines)


def test_line_without_points_has_no_entry(points):
    missing = points.assign(x=points["x"].where(points["line"] != "GEM"))
    assert legend(frontier.printed(missing, View()).axes[0]) == ["p-mGEM(4)", "Single"]


def test_envelope_of_one_point_has_no_entry(points):
    rising = np.arange(float(len(points)))
    best = points.assign(x=rising, y=rising)
    assert "adaptive (envelope)" not in legend(frontier.printed(best, View()).axes[0])
    assert "envelope" not in frontier.subtitle(best, View())


@pytest.mark.parametrize("errors", ["between", "seeds", "none"])
@pytest.mark.parametrize("columns", [1, 2])
def test_labels_of_equal_acc_touch_no_line_or_error_bar(many, columns, errors):
    axes = drawn(many, "transfer", Page(columns), View(errors=errors)).axes[0]
    drawn_paths = [line.get_path() for line in axes.lines if line.get_label() != "equal ACC"]
    bars = [path for bars in axes.collections if isinstance(bars, LineCollection) for path in bars.get_paths()]
    assert axes.texts
    for label in axes.texts:
        box = label.get_window_extent()
        assert not any(path.transformed(axes.transData).intersects_bbox(box, filled=False) for path in drawn_paths + bars)


@pytest.mark.parametrize("errors", ["between", "seeds", "none"])
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("name", ["frontier", "transfer", "strength"])
def test_legend_inside_covers_no_point(many, name, columns, errors):
    axes = drawn(many, name, Page(columns, "inside"), View(errors=errors)).axes[0]
    box = axes.get_legend().get_window_extent()
    assert axes.bbox.x0 <= box.x0 < box.x1 <= axes.bbox.x1
    assert axes.bbox.y0 <= box.y0 < box.y1 <= axes.bbox.y1
    for line in axes.lines:
        at = line.get_transform().transform(np.asarray(line.get_xydata(), float))
        for (x0, y0), (x1, y1) in pairwise(at):
            shares = np.linspace(0, 1, 200)[:, None]
            assert not box.count_contains(np.array([[x0, y0]]) + shares * np.array([[x1 - x0, y1 - y0]]))


def test_legend_outside_does_not_make_the_axes_smaller(many, store):
    few, several = (drawn(one, "frontier", Page()) for one in (store, many))
    assert several.get_figheight() > few.get_figheight()
    heights = [figure.axes[0].bbox.height for figure in (few, several)]
    assert heights[0] == pytest.approx(heights[1], rel=0.03)


def test_too_many_entries_for_the_inside(points):
    names = [f"p-mGEM({number}) · trigger always, memory 512" for number in range(60)]
    many = pd.concat([points.assign(line=name, label=name, family="p-mGEM") for name in names])
    with pytest.raises(
        UsageError, match=r"^legend is 'inside', but its 61 entries do not fit into the axes; use outside\.$"
    ):
        frontier.printed(many, View(), Page(legend="inside"))


def test_long_names_are_wrapped(points):
    name = "p-mGEM(4) · trigger always, memory 512, step length of the gradient, split by class, lr 0.03, ridge 0.001"
    figure = frontier.printed(points.assign(line=name), View())
    figure.draw_without_rendering()
    assert figure.legends[0].get_window_extent().x0 >= 0
    assert " ".join(legend(figure.axes[0])[0].split()) == name
