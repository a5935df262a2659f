"""Colours, symbols, dashes and titles of axes, on the screen and in files. The methods define those of their families.

Most colours are Okabe and Ito's, which colour-blind people can distinguish; the families also differ in their symbols.
"""

import pandas as pd

from mgem_core.analysis import View
from mgem_core.learners import FAMILIES, Style

RUNS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#808080"]  # of single runs
MODULES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#808080"]  # in partitions
DASHES = [("solid", "-"), ("dash", "--"), ("dot", ":"), ("dashdot", "-."), ("longdash", (0, (8, 3)))]
ENVELOPE = "adaptive (envelope)"


def of_family(name: str) -> Style:
    return FAMILIES.get(name, Style("#808080", "circle", "o"))


def family(label: str) -> str:
    """ "p-mGEM(4)" is of the family p-mGEM."""
    return label.partition("(")[0]


def dash(points: pd.DataFrame) -> dict[str, tuple[str, object]]:
    """Line → its dashes, as plotly and as matplotlib name them; the lines of one family differ in them."""
    lines = points.drop_duplicates("line")
    number = lines.groupby("family").cumcount()
    return {line: DASHES[i % len(DASHES)] for line, i in zip(lines["line"], number, strict=True)}


def axis_titles(view: View) -> tuple[str, str]:
    """The titles of x and y in plotly's HTML."""
    x, y = (f"⟨g<sub>{task}</sub>, z⟩" for task in "st")
    if view.axes == "unit":
        x, y = f"{x} / ‖z‖", f"{y} / ‖z‖"
    elif view.axes == "cosine":
        x, y = "cos(g<sub>s</sub>, z)", "cos(g<sub>t</sub>, z)"
    return f"{x} · keeping the old", f"{y} · learning the new"


def axis_titles_tex(view: View) -> tuple[str, str]:
    """The titles of x and y in matplotlib's mathtext."""
    forms = {
        "raw": r"$\langle g_{0}, z\rangle$",
        "unit": r"$\langle g_{0}, z\rangle\,/\,\Vert z\Vert$",
        "cosine": r"$\cos(g_{0}, z)$",
    }
    x, y = (forms[view.axes].replace("{0}", task) for task in "st")
    return f"{x}  (keeping the old)", f"{y}  (learning the new)"


def pair_title(view: View) -> str:
    if view.pair is None:
        return "mean over all pairs of a past and a current task"
    return f"old task s = {view.pair[0] + 1}, new task t = {view.pair[1] + 1}"
