"""Differences per seed, from which the verdicts are computed."""

import numpy as np
import pytest
from compared import compared_store
from exported import exported, exported_csv

from mgem_core.analysis import paired
from mgem_core.analysis.aggregate import DIFFERENCES, View
from mgem_core.figures import seeds
from mgem_core.figures.selection import Selection


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    return compared_store(tmp_path_factory.mktemp("store") / "runs.db")


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_means_and_intervals_equal_the_verdicts(compared, kind):
    rows = Selection(compared, 1).runs_to_compare()
    names = {"retention": "at_equal_x", "best": "best_acc"}
    verdicts = {verdict.line: getattr(verdict, names.get(kind, kind)) for verdict in paired.compare(rows, "GEM")}
    found = seeds.data(Selection(compared, 1, view=View(difference=kind)))
    for line, group in found.groupby("line"):
        estimate = verdicts.pop(line)
        assert group["mean"].tolist() == [estimate.mean] * 6
        assert (group["low"].iloc[0], group["high"].iloc[0]) == (estimate.low, estimate.high)
        assert group["difference"].mean() == pytest.approx(estimate.mean)
        assert group["seed"].tolist() == [0, 1, 2, 3, 4, 5]
    assert not any(verdicts.values())  # the remaining lines cannot be compared


def test_dot_per_seed_and_mean_per_line(compared):
    found = seeds.data(Selection(compared, 1, view=View(difference="acc")))
    figure = seeds.screen(found, View(difference="acc"))
    assert figure["layout"]["yaxis"]["ticktext"] == ["p-mGEM(2)", "p-mGEM(4)"]
    dots, mean = (trace for trace in figure["data"] if trace["name"] == "p-mGEM(4)")
    assert dots["x"] == found[found["line"] == "p-mGEM(4)"]["difference"].tolist()
    assert mean["x"] == [pytest.approx(np.mean(dots["x"]))]
    low, high = found[found["line"] == "p-mGEM(4)"][["low", "high"]].iloc[0]
    assert mean["error_x"]["array"] == [pytest.approx((high - low) / 2)]
    axes = seeds.printed(found, View(difference="acc")).axes[0]
    drawn = np.concatenate([dots.get_offsets()[:, 0] for dots in axes.collections if len(dots.get_offsets()) == 6])
    assert set(found["difference"]) <= set(drawn)


def test_baseline_of_the_view(compared):
    found = exported_csv(compared, "seeds", View(difference="acc", baseline="p-mGEM(4)"))
    assert set(found["baseline"]) == {"p-mGEM(4)"}
    assert found[found["method"] == "GEM"]["mean"].iloc[0] == pytest.approx(-3.0, abs=0.2)


def test_single_seed_has_no_interval(tmp_path):
    store = compared_store(tmp_path / "runs.db", seeds=1)
    found = exported_csv(store, "seeds", View(difference="acc"))
    assert found["low"].isna().all()
    assert exported(store, "seeds", "pdf", View(difference="acc")).startswith(b"%PDF-")
    assert "---" in exported(store, "seeds", "latex", View(difference="acc")).decode()
    figure = seeds.screen(seeds.data(Selection(store, 1, view=View(difference="acc"))), View(difference="acc"))
    assert not any("error_x" in trace for trace in figure["data"])
