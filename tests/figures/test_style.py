"""Styles of lines: a ramp within each family, ordered by the numbers of modules and splits."""

from itertools import pairwise

import pandas as pd

from mgem_core.figures.style import line_styles, ramp


def styles(*labels: str):
    rows = [{"line": label, "label": label.partition(" · ")[0], "family": label.partition("(")[0]} for label in labels]
    return line_styles(pd.DataFrame(rows))


def brightness(color: str) -> int:
    return sum(int(color[i : i + 2], 16) for i in (1, 3, 5))


def test_lines_are_ordered_by_family_and_number_and_not_by_their_first_run():
    found = styles("p-mGEM(10)", "d-mGEM(2)", "p-mGEM(2)", "GEM", "md-GEM(4,10)", "md-GEM(4,2)")
    assert list(found) == ["GEM", "p-mGEM(2)", "p-mGEM(10)", "d-mGEM(2)", "md-GEM(4,2)", "md-GEM(4,10)"]


def test_more_modules_are_darker():
    found = styles(*(f"p-mGEM({count})" for count in (2, 3, 4, 5, 6)))
    values = [brightness(style.color) for style in found.values()]
    assert values == sorted(values, reverse=True)
    assert min(before - after for before, after in pairwise(values)) >= 40


def test_a_line_that_is_alone_in_its_family_has_its_colour():
    assert styles("GEM")["GEM"].color == ramp("#0072B2", 0, 1) == "#0072B2"


def test_lines_of_one_label_differ_in_their_dashes():
    one, other = styles("p-mGEM(2) · trigger always", "p-mGEM(2) · trigger violation").values()
    assert one.color == other.color
    assert one.dash != other.dash
