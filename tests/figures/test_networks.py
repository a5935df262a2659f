"""Networks: ACC, time and memory of every method with every network."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from mgem_core import UsageError
from mgem_core.analysis.aggregate import View
from mgem_core.figures import networks


def run(network, label, seed, acc, configuration="", **others):
    text = f"{network} {label} {configuration}"
    values = {"network": network, "label": label, "seed": seed, "acc": acc, "configuration": text, "status": "finished"}
    values["benchmark"] = "split-cifar100-10"
    return {**values, "strength": 0.5, "seconds_per_step": 0.1, "validation": 0.1, "validation_acc": np.nan, **others}


def by_network(*runs):
    return networks.by_network(pd.DataFrame(runs)).set_index(["network", "line"])


def test_means_per_method_and_network():
    found = by_network(
        *(run(network, "GEM", seed, acc + seed) for network, acc in (("vgg", 60), ("resnet", 70)) for seed in (0, 1))
    )
    assert found["acc"].to_dict() == {("vgg", "GEM"): 60.5, ("resnet", "GEM"): 70.5}
    assert found["acc_sem"].tolist() == [0.5, 0.5]
    assert found["seeds"].tolist() == [2, 2]


def test_family_with_different_modules_is_one_line():
    found = by_network(run("vgg", "md-GEM(8,2)", 0, 60), run("resnet", "md-GEM(20,2)", 0, 70), run("vgg", "GEM", 0, 50))
    assert set(found.index) == {("vgg", "md-GEM"), ("resnet", "md-GEM"), ("vgg", "GEM")}


def test_two_labels_of_a_family_with_one_network():
    found = by_network(run("vgg", "md-GEM(8,2)", 0, 60), run("vgg", "md-GEM(4,2)", 0, 61))
    assert set(found.index) == {("vgg", "md-GEM(8,2)"), ("vgg", "md-GEM(4,2)")}


def test_best_strength_is_chosen_on_validation():
    runs = [run("vgg", "GEM", 0, 90.0, "q 0", validation_acc=50.0), run("vgg", "GEM", 0, 60.0, "q 1", validation_acc=70.0)]
    assert by_network(*runs)["acc"].tolist() == [60.0]


def test_every_strength_is_a_line_without_validation():
    runs = [run("vgg", "GEM", 0, acc, f"q {q}", strength=q) for q, acc in ((0.0, 90.0), (1.0, 60.0))]
    assert by_network(*runs)["acc"].to_dict() == {("vgg", "GEM at q = 0"): 90.0, ("vgg", "GEM at q = 1"): 60.0}
    with pytest.raises(UsageError, match="GEM at q = 0 has several configurations with vgg"):
        by_network(*runs, run("vgg", "GEM", 0, 70.0, "another rate", strength=0.0))


def test_peak_memory_is_drawn_only_if_measured():
    runs = [run("vgg", "GEM", 0, 60.0), run("resnet", "GEM", 0, 70.0)]
    without = networks.screen(networks.by_network(pd.DataFrame(runs)), View())
    assert [trace["yaxis"] for trace in without["data"]] == ["y", "y2"]
    measured = networks.screen(
        networks.by_network(pd.DataFrame([{**one, "peak_memory_mb": 500.0} for one in runs])), View()
    )
    assert [trace["yaxis"] for trace in measured["data"]] == ["y", "y2", "y3"]
    assert measured["data"][2]["y"] == [500.0, 500.0]
    assert measured["layout"]["xaxis"]["anchor"] == "y3"


def test_panels_do_not_overlap():
    runs = [run("vgg", "GEM", 0, 60.0, peak_memory_mb=1.0)]
    layout = networks.screen(networks.by_network(pd.DataFrame(runs)), View())["layout"]
    domains = [layout[name]["domain"] for name in ("yaxis", "yaxis2", "yaxis3")]
    assert all(lower[1] < upper[0] for upper, lower in pairwise(domains))
    assert (domains[0][1], domains[-1][0]) == (1, pytest.approx(0))


def test_no_finished_run_is_an_error():
    with pytest.raises(UsageError, match="no run has finished"):
        by_network(run("vgg", "GEM", 0, 60.0, status="running"))


def test_subtitle_names_seeds_and_strengths():
    one = [run("vgg", "GEM", 0, 60.0), run("vgg", "Single", 0, 50.0, strength=np.nan)]
    two = [*one, run("vgg", "GEM", 1, 62.0)]
    subtitles = [networks.subtitle(networks.by_network(pd.DataFrame(runs)), View()) for runs in (one, two)]
    assert subtitles[0] == "one seed, so there are no error bars; memory strength 0.5"
    assert subtitles[1] == "means over 1 to 2 seeds, ± standard error; memory strength 0.5"


def test_subtitle_mentions_accuracies_at_chance():
    guessed = [run("vgg", "GEM", 0, 10.4), run("resnet", "GEM", 0, 9.6)]
    learned = [*guessed, run("vgg", "md-GEM(8,2)", 0, 12.0)]
    subtitles = [networks.subtitle(networks.by_network(pd.DataFrame(runs)), View()) for runs in (guessed, learned)]
    assert "no ACC is 1 point or more above chance, 10 %, so accuracies are not drawn" in subtitles[0]
    assert "chance" not in subtitles[1]


def panels(runs):
    """Return the titles of the panels on the screen and in files."""
    rows = networks.by_network(pd.DataFrame(runs))
    layout, printed = networks.screen(rows, View())["layout"], networks.printed(rows, View())
    on_screen = [layout[name]["title"]["text"] for name in sorted(layout) if name.startswith("yaxis")]
    return on_screen, [axes.get_ylabel() for axes in printed.axes]


def test_accuracies_are_drawn_only_if_some_are_above_chance():
    guessed = [run("vgg", "GEM", 0, 10.4), run("resnet", "GEM", 0, 3.0)]  # far below chance nothing was learned either
    assert panels(guessed) == (["time, s per step"],) * 2
    assert "10.4" in networks.latex(networks.by_network(pd.DataFrame(guessed)), View(), "source")
    assert panels([*guessed, run("vgg", "md-GEM(8,2)", 0, 12.0)]) == (["ACC, %", "time, s per step"],) * 2
