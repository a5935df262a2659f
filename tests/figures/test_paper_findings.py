"""What the figures and tables of the paper show, in a sentence."""

import json

import pandas as pd
import pytest

from mgem_core.analysis import paired
from mgem_core.analysis.significance import Estimate
from mgem_core.figures import paper_findings
from mgem_core.figures.paper_findings import costs_in_words, figure_finding, lines_in_words, table_finding
from mgem_core.figures.paper_table import Entry
from mgem_core.paper import published
from mgem_core.paper.selection import Difference
from mgem_core.paper.tables import FIGURES, TABLES

NETWORKS = pd.DataFrame(
    [
        {"network": network, "line": line, "acc": acc, "chance": 10.0, "seconds_per_step": seconds, "peak_memory_mb": None}
        for network, line, acc, seconds in [
            *[("vgg", "GEM", 50.0, 1.0), ("vgg", "md-GEM", 52.0, 1.5)],
            *[("resnet", "GEM", 50.0, 2.0), ("resnet", "md-GEM", 49.0, 2.2)],
        ]
    ]
).astype({"peak_memory_mb": float})


def test_costs_and_accuracies_of_networks_are_compared_with_gem():
    assert costs_in_words(NETWORKS) == (
        "A step compared with one of GEM, over 2 networks: md-GEM, 1.10 to 1.50 times the time. "
        "Networks with more ACC than with GEM: 1 with md-GEM."
    )


def test_accuracies_by_chance_are_not_compared():
    assert costs_in_words(NETWORKS.assign(acc=10.2)).endswith("No ACC is above chance, so accuracies are not compared.")


def test_without_gem_there_is_nothing_to_compare_with():
    assert costs_in_words(NETWORKS[NETWORKS["line"] == "md-GEM"]) == "There is nothing to compare with GEM."


def test_every_figure_has_a_finding_in_one_whole_sentence():
    for name in FIGURES:
        found = figure_finding(name)
        assert found.endswith(".")
        assert "nan" not in found
        assert "\n" not in found


def test_finding_follows_the_published_results(tmp_path, monkeypatch):
    lines = (published.FOLDER / "figure-4.jsonl").read_text().splitlines()
    before = figure_finding("figure-4")
    monkeypatch.setattr(published, "FOLDER", tmp_path)
    assert figure_finding("figure-4") == ""
    changed = [json.loads(line) for line in lines]
    for line in changed:
        line["acc"] += 20.0
        line["seconds_per_step"] *= 1 + line["label"].startswith("md-GEM")
    (tmp_path / "figure-4.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))
    after = figure_finding("figure-4")
    assert "No ACC is above chance" in before
    assert "more ACC than with GEM" in after
    assert after.split("md-GEM, ")[1] != before.split("md-GEM, ")[1]


def test_lines_without_shared_seeds_are_not_compared():
    assert lines_in_words([]) == "Lines cannot be compared: they share 0 seeds."


def verdict(line, unit, raw):
    unknown = dict.fromkeys(paired.ESTIMATES)
    found = {name: Estimate(mean, mean - 1, mean + 1, 0.5, 4, 1.0) for name, mean in (("unit", unit), ("raw", raw))}
    known = {"at_equal_x": found["unit"], "at_equal_x_other": found["raw"]}
    return paired.Verdict(line, "GEM", (0, 1, 2, 3), **{**unknown, **known})


def test_differences_on_both_axes_are_given_and_changed_signs_named():
    found = lines_in_words([verdict("A", -0.9, 0.1), verdict("B", 0.2, 0.3)])
    assert "per ‖z‖ minus that of GEM is not significant for A and B (−0.9 to +0.2 %" in found
    assert "on raw axes it is +0.1 to +0.3 %" in found
    assert "the sign of A changes" in found
    assert "changes" not in lines_in_words([verdict("B", 0.2, 0.3)])


def entries(*values):
    row = TABLES["table-1-permutations"].rows[0]
    return [Entry(row, "ours", {}, {"acc": Difference(value, 0.1, 5, is_one)}, None) for value, is_one in values]


@pytest.mark.parametrize(("scale", "ending"), [("paper", "in 1 of 2 rows; differences are from −1.5 to +2.0 points.")])
def test_differences_from_the_paper_are_counted(scale, ending):
    found = table_finding(entries((-1.5, True), (2.0, False)), "ours", scale)
    assert found == f"ACC differs significantly from the paper's {ending}"
    assert table_finding(entries((-1.5, True)), "your runs", scale) == ""


def test_differences_at_the_short_scale_are_not_tested():
    assert "not tested" in table_finding(entries((-1.5, False)), "ours", "short")


def test_domains_are_counted(monkeypatch):
    monkeypatch.setattr(paper_findings, "installed_domains", lambda: [("Digit-Five", ["mnist"], ["mnist", "usps"])])
    assert figure_finding("figure-5") == "Domains whose images are on this computer: 1 of 2 of Digit-Five."
