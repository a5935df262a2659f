"""Colours, symbols, dashes and titles of axes, on the screen and in files. The methods define those of their families.

Most colours are Okabe and Ito's, which colour-blind people can distinguish; the families also differ in their symbols.
"""

import pandas as pd

from mgem_core.analysis import View
from mgem_core.learners import FAMILIES, Style

RUNS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#808080"]  # of single runs
MODULES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#808080"]  # in partitions
DASHES = [("solid", "-"), ("dash", "--"), ("dot", ":"), ("dashdot", "-."), ("longdash", (0, (8, 3)))]
LEARNING = {"full": "learning the new", "batch": "learning the batch"}
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
    forms = {"raw": "⟨{g}, z⟩", "unit": "⟨{g}, z⟩ / ‖z‖", "cosine": "cos({g}, z)"}
    new = "g<sub>t</sub>" if view.gradient == "full" else "g"
    x, y = (forms[view.axes].replace("{g}", g) for g in ("g<sub>s</sub>", new))
    return f"{x} · keeping the old", f"{y} · {LEARNING[view.gradient]}"


def axis_titles_tex(view: View) -> tuple[str, str]:
    """The titles of x and y in matplotlib's mathtext."""
    forms = {
        "raw": r"$\langle {g}, z\rangle$",
        "unit": r"$\langle {g}, z\rangle\,/\,\Vert z\Vert$",
        "cosine": r"$\cos({g}, z)$",
    }
    x, y = (forms[view.axes].replace("{g}", g) for g in ("g_s", "g_t" if view.gradient == "full" else "g"))
    return f"{x}  (keeping the old)", f"{y}  ({LEARNING[view.gradient]})"


def pair_title(view: View) -> str:
    if view.pair is None:
        return "mean over all pairs of a past and a current task"
    return f"old task s = {view.pair[0] + 1}, new task t = {view.pair[1] + 1}"
