"""Write LaTeX tables."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from math import floor, isfinite, log10

import pandas as pd

from mgem_core import text
from mgem_core.analysis.aggregate import View
from mgem_core.figures import _points
from mgem_core.metrics import MEASURES

ESCAPED = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "·": r"$\cdot$", "—": "---"},
    **{"⟨": r"$\langle$", "⟩": r"$\rangle$", "‖": r"$\Vert$", "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "≥": r"$\geq$"},
    **{"–": "--", "ĝ": r"$\hat{g}$", "₁": "$_1$", "¹": "$^1$", "²": "$^2$", "…": r"\dots{}"},
}


def tabular(comment: str, head: Sequence[str], groups: Iterable[Sequence[Sequence[str]]]) -> str:
    """Write groups of rows, whose cells are LaTeX, as a booktabs table with a rule between groups."""
    body = "\\midrule\n".join("".join(f"{' & '.join(row)} \\\\\n" for row in rows) for rows in groups)
    return (
        f"% {comment}; needs \\usepackage{{booktabs}}\n\\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}\n\\toprule\n"
        f"{' & '.join(head)} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"
    )


def points_table(points: pd.DataFrame, view: View, source: str, units: str, columns: Mapping[str, Sequence[str]]) -> str:
    """Write a table with a row per configuration: method, q, and the given columns (title → cells)."""
    seeds = _points.number_of_seeds(points["runs"])
    finished = f"{points['finished'].sum()} of {points['runs'].sum()} runs finished"
    after = f", after task {view.after}" if view.after is not None else ""
    names = [(escape(line), escape(text.strength(q))) for line, q in zip(points["line"], points["q"], strict=True)]
    rows = [[*name, *cells] for name, *cells in zip(names, *columns.values(), strict=True)]
    return tabular(f"{source}{after}: {seeds}, {finished}; {units}", ["method", "$q$", *columns], [rows])


def accuracy_table(points: pd.DataFrame, view: View, source: str) -> str:
    """Write all MEASURES of every configuration. Nothing is bold: the largest mean need not be significantly larger."""
    columns = {title: mean_cells(points[name], points[f"{name}_sem"], 2) for name, title in MEASURES.items()}
    return points_table(points, view, source, "percent, mean ± standard error over seeds", columns)


def mean_cells(means: Iterable[float], errors: Iterable[float], decimals: int) -> list[str]:
    """Write mean ± error as on the screen."""
    return [mean_cell(*pair, decimals) for pair in zip(means, errors, strict=True)]


def mean_cell(mean: float, error: float, decimals: int) -> str:
    if pd.isna(mean):
        return "---"
    return f"${mean:.{decimals}f}$" if pd.isna(error) else rf"${mean:.{decimals}f} \pm {error:.{decimals}f}$"


def decimals_for_four_digits(values: pd.Series) -> int:
    """Return the number of decimals with which the largest number has four digits."""
    largest = values.abs().max()
    return max(0, 3 - floor(log10(largest))) if largest > 0 else 2


def percent(value: float) -> str:
    """Write two decimals, rounding halves up as plotly does on the screen (Python's formats round them to even)."""
    if not isfinite(value):
        return "---"
    return str(Decimal(value).quantize(Decimal("0.01"), ROUND_HALF_UP))


def escape(words: str) -> str:
    return "".join(ESCAPED.get(character, character) for character in words)
