"""`mgem paper`: the paper's tables on the terminal and as files."""

import json

import pytest

from mgem_core.cli import main
from mgem_core.paper import published
from mgem_core.paper.tables import TABLES


def test_table_has_printed_numbers_and_ours(home, capsys):
    assert main(["paper", "table-1-permutations"]) == 0
    lines = capsys.readouterr().out.splitlines()
    gem = [line.split() for line in lines if line.startswith("GEM ")]
    assert gem[0][1:4] == ["paper", "80.54", "±"]
    assert gem[1][1] == "ours"


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_printed_at_both_scales(home, capsys, table):
    for scale in ("paper", "short"):
        assert main(["paper", table, "--scale", scale, "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert {row["method"] for row in rows if row["source"] == "paper"} <= {row.label for row in TABLES[table].rows}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["table-3"], "name is 'table-3'; it must be one of table-1-permutations"),
        (["table-1-cifar", "--scale", "long"], "scale is 'long'; it must be one of paper, short."),
        (["table-1-cifar", "--format", "png"], "format is 'png'; it must be one of csv, latex, json, parquet."),
        (["table-1-cifar", "-o", "x.csv"], "output is 'x.csv', so format must be one of csv, latex, json, parquet."),
        (["table-1-cifar", "--format", "parquet"], "parquet is not text, so name a file for it with -o."),
        (["figure-1"], "figure-1 is a picture, so format must be one of png, svg, pdf, html, latex-figure."),
        (["figure-1", "--format", "csv"], "format is 'csv'; it must be one of png, svg, pdf, html, latex-figure."),
        (["figure-2", "--format", "svg", "--axes", "log"], "axes is 'log'; it must be one of unit, raw."),
        (["table-1-cifar", "--axes", "raw"], "axes is 'raw', but table-1-cifar has no axes; leave it out."),
        (["figure-3", "--format", "svg", "--scale", "short"], "scale is 'short', but figure-3 has no scale; leave it out."),
        (["figure-3", "--format", "svg", "--columns", "3"], "columns is 3; it must be one of 1, 2."),
        (
            ["figure-1", "--format", "svg", "--legend", "inside"],
            "legend is 'inside', but figure-1 has no legend; leave it out.",
        ),
        (
            ["figure-3", "--format", "svg", "--caption", "A"],
            "caption is 'A', which has an effect only with --format latex-figure, html.",
        ),
        (
            ["table-1-cifar", "--columns", "2"],
            "columns is '2', which has an effect only with --format png, svg, pdf, latex-figure.",
        ),
    ],
)
def test_invalid_option_is_rejected(home, capsys, arguments, sentence):
    assert main(["paper", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_file_is_written(home, tmp_path, capsys):
    file = tmp_path / "table.tex"
    assert main(["paper", "table-2-digit-five", "--format", "latex", "-o", str(file)]) == 0
    assert "d-GEM$^\\dagger$" in file.read_text()


def test_figure_5_is_written(home, tmp_path):
    file = tmp_path / "samples.png"
    assert main(["paper", "figure-5", "--format", "png", "-o", str(file)]) == 0
    assert b"PNG" in file.read_bytes()


@pytest.mark.parametrize(("format", "sign"), [("png", b"PNG"), ("svg", b"<svg"), ("pdf", b"%PDF"), ("html", b"<html")])
def test_figure_1_is_written_in_every_format(home, tmp_path, format, sign):
    file = tmp_path / f"cones.{format}"
    assert main(["paper", "figure-1", "--format", format, "-o", str(file)]) == 0
    assert sign in file.read_bytes()


def test_figure_without_results_is_rejected(home, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(published, "FOLDER", tmp_path)
    assert main(["paper", "figure-2", "--format", "svg"]) == 2
    assert "no results of ours for figure-2 come with this version; run its preset" in capsys.readouterr().err
