"""A table of the paper next to our runs, as files."""

import csv
import io
import json

import pandas as pd
import pytest
from paper_runs import ROWS, TABLE, run

from mgem_core.figures.paper_files import FORMATS, as_file
from mgem_core.figures.paper_table import entries
from mgem_core.paper.selection import find_results


@pytest.fixture
def found():
    runs = [run(seed, 83.0 + 0.1 * seed, validation=80.0, scale="paper") for seed in range(5)]
    return entries(TABLE, "paper", {"ours": find_results(pd.DataFrame(runs), TABLE, "paper")})


def test_every_row_has_printed_numbers_and_ours(found):
    assert list(dict.fromkeys(entry.row.label for entry in found)) == list(ROWS)
    paper, ours = (entry for entry in found if entry.row.label == "GEM")
    assert (paper.source, ours.source) == ("paper", "ours")
    assert ours.differences["acc"].value == pytest.approx(2.66)
    assert [entry.source for entry in found if entry.row.label == "ER"] == [""]


def test_csv_equals_json_and_leaves_out_empty_rows(found):
    from_csv = list(csv.DictReader(io.StringIO(as_file(TABLE, "paper", found, "csv").decode())))
    from_json = json.loads(as_file(TABLE, "paper", found, "json"))
    assert len(from_csv) == len(from_json) == sum(bool(entry.source) for entry in found)
    (ours,) = [one for one in from_json if one["source"] == "ours"]
    assert (ours["method"], ours["seeds"], ours["acc_difference_is_significant"]) == ("GEM", "0 1 2 3 4", True)
    assert ours["acc"] == pytest.approx(83.2)
    assert [float(one["acc"]) for one in from_csv] == [one["acc"] for one in from_json]
    assert any("81.17" in one["note"] for one in from_json)
    assert ours["forgetting"] == pytest.approx(6)
    assert all(one["forgetting"] is None for one in from_json if one["source"] == "paper")


def test_latex_marks_contradictions_and_groups_by_method(found):
    text = as_file(TABLE, "paper", found, "latex").decode()
    assert r"GEM & ours & $83.20 \pm 0.07$ & $88.20 \pm 0.07$ & $-5.00 \pm 0.00$ & $6.00 \pm 0.00$ & 5 \\" in text
    assert r"approx-GEM(4,1)$^\dagger$ & paper & $81.79 \pm 0.10$" in text
    assert text.count(r"\midrule") == len({entry.row.label for entry in found if entry.source})
    assert "Independent & paper & $56.66 \\pm 3.79$ & --- & --- & --- & ---" in text


def test_every_format_can_be_made(found):
    assert all(as_file(TABLE, "paper", found, format) for format in FORMATS)
