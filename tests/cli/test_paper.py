"""`mgem paper`: the paper's tables on the terminal and as files."""

import json

import pytest

from mgem_core.cli import main
from mgem_core.paper import TABLES


def test_the_printed_numbers_stand_beside_ours(home, capsys):
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
        (["table-3"], "table is 'table-3'; it must be one of table-1-permutations"),
        (["table-1-cifar", "--scale", "long"], "scale is 'long'; it must be one of paper, short."),
        (["table-1-cifar", "--format", "png"], "format is 'png'; it must be one of csv, latex, json."),
        (["table-1-cifar", "-o", "x.csv"], "output is 'x.csv', so format must be one of csv, latex, json."),
    ],
)
def test_every_bad_option_gets_one_sentence(home, capsys, arguments, sentence):
    assert main(["paper", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_a_file_is_written(home, tmp_path, capsys):
    file = tmp_path / "table.tex"
    assert main(["paper", "table-2-digit-five", "--format", "latex", "-o", str(file)]) == 0
    assert "d-GEM$^\\dagger$" in file.read_text()
