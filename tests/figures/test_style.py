"""Styles of lines: a ramp within each family, ordered by the numbers of modules and splits."""

import tomllib
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from mgem_core.figures.style import DARK_BACKGROUND, contrast, line_styles, luminance, ramp
from mgem_core.learners import FAMILIES


def styles(*labels: str):
    rows = [{"line": label, "label": label.partition(" · ")[0], "family": label.partition("(")[0]} for label in labels]
    return line_styles(pd.DataFrame(rows))


def test_lines_are_sorted_by_family_and_number():
    found = styles("p-mGEM(10)", "d-mGEM(2)", "p-mGEM(2)", "GEM", "md-GEM(4,10)", "md-GEM(4,2)")
    assert list(found) == ["GEM", "p-mGEM(2)", "p-mGEM(10)", "d-mGEM(2)", "md-GEM(4,2)", "md-GEM(4,10)"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("count", [2, 3, 5, 6])
def test_ramp_has_contrast_on_light_and_dark_pages(family, count):
    colors = [style.color for style in styles(*(f"{family}({number})" for number in range(2, 2 + count))).values()]
    lights = [luminance(color) for color in colors]
    assert lights == sorted(lights, reverse=True)
    for color in colors:
        assert contrast(color, "#FFFFFF") > 2.1
        assert contrast(color, DARK_BACKGROUND) > 2.1
    steps = [contrast(*pair) for pair in pairwise(colors)]
    assert min(steps) > 1.2  # contrast of neighbours in a ramp of six, in grey
    assert max(steps) < 1.1 * min(steps)


def test_dark_background_equals_the_theme():
    config = tomllib.loads((Path(__file__).parents[2] / "app" / ".streamlit" / "config.toml").read_text())
    assert config["theme"]["dark"]["backgroundColor"] == DARK_BACKGROUND


def test_single_line_has_the_colour_of_its_family():
    assert styles("GEM")["GEM"].color == ramp("#0072B2", 0, 1) == "#0072B2"


def test_families_of_one_colour_differ_in_shade():
    assert len({style.color for style in styles(*FAMILIES).values()}) == len(FAMILIES)


def test_lines_with_equal_labels_differ_in_dashes():
    one, other = styles("p-mGEM(2) · trigger always", "p-mGEM(2) · trigger violation").values()
    assert one.color == other.color
    assert one.dash != other.dash
