import numpy as np
from exported import exported
from filled_store import SMALL, filled_store

from mgem_core.analysis import measurements
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures import _latex
from mgem_core.metrics import MEASURES
from mgem_core.text import mean_and_error


def test_latex_equals_the_screen(store, points):
    table = exported(store, "table", "latex").decode()
    comment, *lines = table.splitlines()
    assert comment.startswith("% quick look (s1), mnist5k-permutations: 2 seeds, 14 of 14 runs finished")
    assert [line for line in lines if line.startswith("\\")] == [
        *(r"\begin{tabular}{lrrrrr}", r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}")
    ]
    assert table.count("{") == table.count("}")
    rows = [line.removesuffix(r" \\").split(" & ") for line in lines if line.endswith(r" \\")]
    assert rows[0] == ["method", "$q$", "ACC", "FWD", "BWD", "Forgetting"]
    assert [row[0] for row in rows[1:]] == list(points["line"])
    assert [row[1] for row in rows[1:]] == [*("0", "0.1", "0.5") * 2, "---"]
    for column, name in enumerate(MEASURES, 2):
        for row, mean, error in zip(rows[1:], points[name], points[f"{name}_sem"], strict=True):
            assert row[column].strip("$") == mean_and_error(mean, error).replace("−", "-").replace("±", r"\pm")


def test_latex_escapes_names(tmp_path, monkeypatch):
    store = filled_store(tmp_path / "runs.db", name="50 %\n\\input{x}", finishes=lambda run: run > 1)
    read = measurements.points
    monkeypatch.setattr(measurements, "points", lambda *given: read(*given).assign(line=r"a_b & 5% #1 {x} ~ ^ \y · $"))
    comment, begin, *rows = exported(store, "table", "latex").decode().splitlines()
    assert comment.startswith(r"% 50 % \input{x} (s1), mnist5k-permutations: 2 seeds, 13 of 14 runs finished")
    assert begin == r"\begin{tabular}{lrrrrr}"
    expected = r"a\_b \& 5\% \#1 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{}y $\cdot$ \$ & 0 & "
    assert rows[3].startswith(expected)


def test_single_seed_and_strengths_per_task(tmp_path):
    store = filled_store(tmp_path / "runs.db", SweepSpec(base=SMALL, grid={"strength": [0.2, [0.5, 0.1]], "seed": [0]}))
    table = exported(store, "table", "latex").decode()
    assert "1 seed, 2 of 2 runs finished" in table
    assert "GEM & 0.5, 0.1 & $" in table
    assert r"\pm" not in table


def test_unknown_means_and_errors():
    cells = _latex.mean_cells([80.001, np.nan, 79.999, -1], [1.0, np.nan, np.nan, 0.5], 2)
    assert cells == [r"$80.00 \pm 1.00$", "---", "$80.00$", r"$-1.00 \pm 0.50$"]
