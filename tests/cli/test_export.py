"""`mgem export` as a person or a script uses it."""

import json

import pytest
from exported import exported
from filled_store import SMALL, filled_store

from mgem_core.analysis.aggregate import View
from mgem_core.cli import main
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures.files import export
from mgem_core.figures.page import Page
from mgem_core.figures.selection import Selection
from mgem_core.store import Store


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A home with a sweep, and an empty working folder."""
    monkeypatch.setenv("MGEM_HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    filled_store(tmp_path / "home" / "runs.db")
    return tmp_path / "here"


def stored(here):
    return Store(here.parent / "home" / "runs.db")


def test_default_file_name(here, capsys):
    assert main(["export", "s1", "--what", "frontier", "--format", "svg"]) == 0
    name = "quick-look-s1_frontier_per-unit_task1-task2.svg"
    assert capsys.readouterr().out == f"{name}\n"
    assert [path.name for path in here.iterdir()] == [name]
    assert (here / name).read_bytes() == exported(stored(here), "frontier", "svg")


def test_view_options_are_applied(here, capsys):
    view = ["--axes", "cosine", "--pair", "2,3", "--after", "3"]
    assert main(["export", "s1", "--what", "frontier", "--format", "csv", *view, "-o", "mine.csv"]) == 0
    assert capsys.readouterr().out == "mine.csv\n"
    expected = exported(stored(here), "frontier", "csv", View(axes="cosine", pair=(1, 2), after=3))
    assert (here / "mine.csv").read_bytes() == expected
    assert main(["export", "s1", "--what", "frontier", "--format", "csv", "--pair", "mean"]) == 0
    expected = exported(stored(here), "frontier", "csv", View(pair=None))
    assert (here / "quick-look-s1_frontier_per-unit_mean-of-pairs.csv").read_bytes() == expected


def test_plots_show_requested_measure_and_baseline(here, capsys):
    options = ["--measure", "fwd", "--baseline", "p-mGEM(4)", "--difference", "best", "--errors", "seeds"]
    view = View(measure="fwd", baseline="p-mGEM(4)", difference="best", errors="seeds")
    names = {
        ("map", "csv"): "quick-look-s1_map_fwd_minus-p-mGEM-4.csv",
        ("seeds", "csv"): "quick-look-s1_seeds_best_minus-p-mGEM-4.csv",
        ("strength", "svg"): "quick-look-s1_strength_fwd.svg",
    }
    for (what, format), name in names.items():
        assert main(["export", "s1", "--what", what, "--format", format, *options]) == 0
        assert capsys.readouterr().out == f"{name}\n"
        assert (here / name).read_bytes() == exported(stored(here), what, format, view)


@pytest.mark.parametrize(("what", "format"), [("table", "latex"), ("frontier", "pdf"), ("configs", "json")])
def test_dash_writes_to_stdout(here, capfdbinary, what, format):
    assert main(["export", "s1", "--what", what, "--format", format, "-o", "-"]) == 0
    assert capfdbinary.readouterr().out == exported(stored(here), what, format)
    assert not list(here.iterdir())


def test_file_name_cannot_control_the_terminal(here, capsys):
    assert main(["export", "s1", "--what", "table", "--format", "csv", "-o", "\x1b[2Jmine.csv"]) == 0
    assert capsys.readouterr().out == "�[2Jmine.csv\n"
    assert (here / "\x1b[2Jmine.csv").exists()


def test_export_of_a_single_run(here, capsys):
    assert main(["export", "r7", "--what", "matrix", "--format", "png"]) == 0
    assert capsys.readouterr().out == "Single-r7_matrix.png\n"
    assert main(["export", "r7", "--what", "configs", "--format", "json", "-o", "-"]) == 0
    assert [run["id"] for run in json.loads(capsys.readouterr().out)["runs"]] == [7]


def test_file_name_contains_benchmark_if_there_are_several(here, capsys):
    grid = {"benchmark": ["mnist5k-split", "mnist5k-rotations"], "seed": [0]}
    filled_store(here.parent / "home" / "runs.db", SweepSpec(base=SMALL, grid=grid), "two")
    assert main(["export", "s2", "--what", "table", "--format", "csv"]) == 0
    assert main(["export", "s2", "--what", "table", "--format", "csv", "--benchmark", "mnist5k-rotations"]) == 0
    names = capsys.readouterr().out.split()
    assert names == ["two-s2_table_mnist5k-split.csv", "two-s2_table_mnist5k-rotations.csv"]
    for name in names:
        head, row = (here / name).read_text().splitlines()
        assert dict(zip(head.split(","), row.split(","), strict=False))["benchmark"] in name


def test_choices_of_the_page_are_applied(here, capsys):
    options = ["export", "s1", "--what", "frontier", "--columns", "2", "--legend", "inside"]
    assert main([*options, "--format", "pdf"]) == 0
    assert main([*options, "--format", "latex-figure", "--caption", "Frontier, $q$ from 0 to 1"]) == 0
    picture, block = capsys.readouterr().out.split()
    page = Page(2, "inside", "Frontier, $q$ from 0 to 1")
    assert (here / picture).read_bytes() == export(Selection(stored(here), 1), "frontier", "pdf", page)
    assert (here / block).read_bytes() == export(Selection(stored(here), 1), "frontier", "latex-figure", page)
    assert f"{{{picture}}}" in (here / block).read_text()


FRONTIER = ["s1", "--what", "frontier", "--format", "csv"]
PDF = ["s1", "--what", "frontier", "--format", "pdf"]
BLOCK = ["s1", "--what", "frontier", "--format", "latex-figure"]
MAP = ["s1", "--what", "map", "--format", "csv"]
BAD = [
    (["s9", *FRONTIER[1:]], "there is no 's9'; mgem runs lists what there is."),
    (["r99", *FRONTIER[1:]], "there is no 'r99'"),
    (["quick", *FRONTIER[1:]], "'quick' is neither a run like r12 nor a sweep like s3"),
    (["s1", "--what", "plot", "--format", "csv"], "what is 'plot'; it must be one of "),
    (
        ["s1", "--what", "table", "--format", "pdf"],
        "format of table is 'pdf'; it must be one of csv, latex, json, parquet.",
    ),
    (["s1", "--what", "table"], "the following arguments are required: --format"),
    ([*FRONTIER, "--axes", "log"], "axes is 'log'; it must be one of unit, raw, cosine."),
    (["s1", "--what", "table", "--format", "csv", "--axes", "log"], "axes is 'log'; it must be one of unit, raw, cosine."),
    ([*FRONTIER, "--pair", "1,4"], "pair is '1,4'; it must be S,T with 1 ≤ S < T ≤ 3"),
    ([*FRONTIER, "--pair", "0,1"], "pair is '0,1'; it must be S,T with 1 ≤ S < T ≤ 3"),
    ([*FRONTIER, "--pair", "-1,2"], "pair is '-1,2'; it must be two tasks S,T, counted from 1, or mean."),
    ([*FRONTIER, "--pair", "all"], "pair is 'all'; it must be two tasks S,T, counted from 1, or mean."),
    ([*FRONTIER, "--after", "7"], "after is 7; it must be from 1 to 3, the number of tasks."),
    ([*FRONTIER, "--after", "two"], "argument --after: invalid int value: 'two'"),
    ([*FRONTIER, "--errors", "all"], "errors is 'all'; it must be one of within, between, seeds, none."),
    ([*FRONTIER, "--measure", "loss"], "measure is 'loss'; it must be one of acc, fwd, bwd, x, y."),
    ([*FRONTIER, "--cells", "colours"], "cells is 'colours'; it must be one of differences, values."),
    ([*FRONTIER, "--difference", "q"], "difference is 'q'; it must be one of retention, acc, fwd, bwd, best."),
    ([*MAP, "--baseline", "EWC"], "baseline is 'EWC'; it must be one of GEM, p-mGEM(4), Single."),
    ([*FRONTIER, "--benchmark", "cifar"], "benchmark is 'cifar'; it must be one of mnist5k-permutations."),
    ([*FRONTIER, "-o", "/no/such/folder/x"], "output is '/no/such/folder/x', but it cannot be written: No such file"),
    ([*FRONTIER, "--columns", "2"], "columns is '2', which has an effect only with --format png, svg, pdf, latex-figure."),
    ([*PDF, "--columns", "3"], "columns is 3; it must be one of 1, 2."),
    ([*PDF, "--columns", "two"], "columns is 'two'; it must be one of 1, 2."),
    ([*PDF, "--legend", "left"], "legend is 'left'; it must be one of outside, inside."),
    ([*PDF, "--caption", "A"], "caption is 'A', which has an effect only with --format latex-figure, html."),
    ([*BLOCK, "--caption", "$}$"], "caption has '$}$', in which a brace or the mathematics is not closed."),
    (
        ["s1", "--what", "map", "--format", "pdf", "--legend", "inside"],
        "legend is 'inside', but map has no legend; leave it",
    ),
    ([*FRONTIER, "-o", "/tmp"], "output is '/tmp', but it cannot be written: Is a directory."),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_invalid_input_exits_2_and_writes_nothing(here, arguments, sentence, capsys):
    try:
        code = main(["export", *arguments])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert not list(here.iterdir())
