"""Differences between the rows of a table of the paper, within the seeds that they share."""

import pandas as pd
import pytest

from mgem_core import RunConfig
from mgem_core.figures.paper_differences import in_words, row_differences, with_differences
from mgem_core.figures.paper_table import Entry
from mgem_core.paper.selection import Result
from mgem_core.paper.tables import TABLES

ROWS = {row.label: row for row in TABLES["table-1-permutations"].rows}
GEM = {1: 80.0, 2: 70.0, 3: 90.0, 4: 85.0, 5: 60.0}  # seeds differ much more than methods


def entry(label, acc, chosen_on=(), source="ours"):
    result = Result({}, {"acc": acc}, tuple(acc), RunConfig(), 0, chosen_on, 0, 0)
    return Entry(ROWS[label], source, {}, {}, result)


def shifted(*shifts):
    return {seed: GEM[seed] + shift for seed, shift in zip(GEM, shifts, strict=False)}


def test_a_small_difference_in_all_seeds_is_significant():
    entries = [
        entry("GEM", GEM),
        entry("d-GEM", shifted(0.5, 0.6, 0.4, 0.5, 0.5)),
        entry("EWC", shifted(-9, -8, -9, -7, -9)),
    ]
    more, less = in_words(row_differences(entries, "ours"))
    assert more == "More ACC than GEM: d-GEM +0.50 (95 % CI +0.41 to +0.59, 5 seeds)."
    assert less.startswith("Less ACC than GEM: EWC −8.40 (95 % CI −9.51 to −7.29")


def test_a_difference_that_varies_between_seeds_is_not_significant():
    entries = [entry("GEM", GEM), entry("d-GEM", shifted(3, -1, 2, -1, 2))]
    (unclear,) = in_words(row_differences(entries, "ours"))
    assert unclear.startswith("Not significant, corrected for 1 comparison: d-GEM +1.00 (")


def test_significance_is_corrected_for_the_number_of_rows():
    barely = shifted(0.2, 0.8, 0.5, 0.0, 0.7)
    alone = row_differences([entry("GEM", GEM), entry("d-GEM", barely)], "ours")
    assert alone[0].significant
    others = [entry(label, shifted(3, -1, 2, -1, 2)) for label in ("m-GEM", "md-GEM", "ER", "MER")]
    assert not row_differences([entry("GEM", GEM), entry("d-GEM", barely), *others], "ours")[0].significant


@pytest.mark.parametrize(
    "row",
    [entry("d-GEM", shifted(5, 5, 5)), entry("d-GEM", shifted(5, 5, 5, 5, 5), (1, 2)), entry("d-GEM", {7: 1.0, 8: 2.0})],
    ids=["three seeds", "chosen on two of five", "other seeds"],
)
def test_rows_with_few_seeds_besides_those_of_the_choice_are_not_compared(row):
    assert in_words(row_differences([entry("GEM", GEM), row], "ours")) == [
        "Fewer than 4 seeds besides the one on which settings were chosen: d-GEM."
    ]


def test_a_row_with_a_collapsed_seed_is_not_compared():
    entries = [entry("GEM", GEM), entry("d-GEM", {**GEM, 3: 15.9})]
    assert in_words(row_differences(entries, "ours")) == [
        "Not compared, because some seeds collapsed: d-GEM (ACC 15.9 in seed 3)."
    ]


def test_sources_are_not_mixed_and_without_gem_there_is_nothing_to_compare_with():
    entries = [entry("GEM", GEM, source="your runs"), entry("d-GEM", GEM), entry("EWC", GEM, source="your runs")]
    assert row_differences(entries, "ours") == []
    assert [one.label for one in row_differences(entries, "your runs")] == ["EWC"]


def test_files_have_the_differences_of_each_source():
    entries = [entry("GEM", GEM), entry("d-GEM", shifted(0.5, 0.6, 0.4, 0.5, 0.5)), entry("EWC", {7: 1.0})]
    rows = pd.DataFrame({"method": ["GEM", "d-GEM", "EWC"], "source": "ours"})
    found = with_differences(rows, entries).set_index("method")
    assert found.loc["d-GEM", "acc_minus_gem"] == pytest.approx(0.5)
    assert found.loc["d-GEM", "acc_minus_gem_low"] == pytest.approx(0.41, abs=0.01)
    assert found["acc_minus_gem_is_significant"].tolist() == [False, True, False]
    assert found["acc_minus_gem"].isna().tolist() == [True, False, True]
