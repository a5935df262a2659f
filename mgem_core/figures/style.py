"""Colours, symbols, dashes and titles of axes, on the screen and in files. Each method registers the style of its family.

Most colours are from Okabe and Ito's palette for colour-blind readers; families also differ in their symbols.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from mgem_core.analysis.aggregate import View
from mgem_core.learners import FAMILIES, Style
from mgem_core.metrics import MEASURES

RUNS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#808080"]  # colours of single runs
MODULES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#808080"]  # colours of modules
DASHES = [("solid", "-"), ("dash", "--"), ("dot", ":"), ("dashdot", "-."), ("longdash", (0, (8, 3)))]
CONTRAST = 2.2  # least contrast of the lightest and darkest colour of a ramp to the background
DARK_BACKGROUND = "#12161C"  # the dashboard's dark theme
LEARNING = {"full": "learning the new", "batch": "learning the batch"}
ENVELOPE = "adaptive (envelope)"


def of_family(name: str) -> Style:
    return FAMILIES.get(name, Style("#808080", "circle", "o"))


def family(label: str) -> str:
    """Return the family of a label: "p-mGEM" for "p-mGEM(4)"."""
    return label.partition("(")[0]


class LineStyle(NamedTuple):
    color: str
    dash: str  # plotly's name
    linestyle: object  # matplotlib's value


def line_styles(points: pd.DataFrame) -> dict[str, LineStyle]:
    """Return the style of each line in the order of the legend: by family, then by the numbers of modules and splits.

    Within a family, colours go from light to dark as the numbers grow; families of one colour, such as Single and
    Independent, share its shades. Lines with the same label differ in their dashes, and on paper also lines of md-GEM with
    other splits.
    """
    lines = points.drop_duplicates("line")[["line", "label", "family"]].to_dict("records")
    families = list(dict.fromkeys([*FAMILIES, *(row["family"] for row in lines)]))
    lines.sort(key=lambda row: (families.index(row["family"]), numbers_in(row["label"]), by_number(row["line"])))
    styles = {}
    for row in lines:
        base = of_family(row["family"]).color
        labels = list(dict.fromkeys(other["label"] for other in lines if of_family(other["family"]).color == base))
        same_label = [other["line"] for other in lines if other["label"] == row["label"]]
        splits = sorted({tuple(numbers_in(label)[1:]) for label in labels})
        color = ramp(base, labels.index(row["label"]), len(labels))
        place = same_label.index(row["line"])
        on_paper = place + splits.index(tuple(numbers_in(row["label"])[1:]))
        styles[row["line"]] = LineStyle(color, DASHES[place % len(DASHES)][0], DASHES[on_paper % len(DASHES)][1])
    return styles


def by_number(line: str) -> list[tuple[float, str]]:
    """Return a key that sorts "GEM at q = 3" before "GEM at q = 10"."""
    parts = re.findall(r"([^0-9]*)([0-9]+\.?[0-9]*)?", line)
    return [item for words, number in parts for item in ((-1.0, words), (float(number or -1), ""))]


def numbers_in(label: str) -> list[int]:
    """Return the numbers in a label: [4, 2] for "md-GEM(4,2)". The star of a custom partition is ignored."""
    return [int(number) for number in re.findall(r"[0-9]+", label.partition("(")[2])]


@lru_cache(maxsize=1000)
def ramp(color: str, position: int, count: int) -> str:
    """Return the colour at a position of a ramp of `count` colours from light to dark; a single colour is unchanged.

    All neighbours have the same contrast, and all colours have at least CONTRAST to a light and to a dark background.
    """
    if count == 1:
        return color
    lightest, darkest = 1.05 / CONTRAST, (luminance(DARK_BACKGROUND) + 0.05) * CONTRAST
    target = lightest * (darkest / lightest) ** (position / (count - 1)) - 0.05
    mixed = [_mix(color, "#000000" if target < luminance(color) else "#FFFFFF", weight / 200) for weight in range(201)]
    return min(mixed, key=lambda one: abs(luminance(one) - target))


def _mix(color: str, other: str, weight: float) -> str:
    pairs = [(int(color[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(start + weight * (end - start)):02X}" for start, end in pairs)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21, as defined by the Web Content Accessibility Guidelines."""
    dark, light = sorted(luminance(color) + 0.05 for color in (one, other))
    return light / dark


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * channel for weight, channel in zip((0.2126, 0.7152, 0.0722), light, strict=True))


def marker_growth(count: int) -> list[float]:
    """Return factors of the marker size along a line of `count` points: larger markers are larger strengths."""
    return [0.75 + 0.75 * i / max(1, count - 1) for i in range(count)] if count > 1 else [1.0]


def axis_titles(view: View) -> tuple[str, str]:
    """Return the titles of x and y in plotly's HTML."""
    forms = {"raw": "⟨{g}, z⟩", "unit": "⟨{g}, z⟩ / ‖z‖", "cosine": "cos({g}, z)"}
    new = "g<sub>t</sub>" if view.gradient == "full" else "g"
    x, y = (forms[view.axes].replace("{g}", g) for g in ("g<sub>s</sub>", new))
    return f"{x} · keeping the old", f"{y} · {LEARNING[view.gradient]}"


def axis_titles_tex(view: View) -> tuple[str, str]:
    """Return the titles of x and y in matplotlib's mathtext."""
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


def error_title(view: View) -> str:
    """Describe the error bars, as part of a title."""
    titles = {"within": "± standard error within seeds", "between": "± standard error over seeds", "none": ""}
    return {**titles, "seeds": "faint: every seed"}[view.errors]


UNITS = {"acc": "%", "fwd": "%", "bwd": "points"}


def measure_title(view: View, in_tex: bool = False) -> str:
    """Return the title of the view's measure with its unit, such as "ACC, %", or of an axis of the frontier."""
    if view.measure in UNITS:
        return f"{MEASURES[view.measure]}, {UNITS[view.measure]}"
    return (axis_titles_tex if in_tex else axis_titles)(view)[view.measure == "y"]


def measure_name(view: View, in_tex: bool = False) -> str:
    """Return the name of the view's measure, without unit or explanation."""
    if view.measure in UNITS:
        return MEASURES[view.measure]
    return measure_title(view, in_tex).partition("  " if in_tex else " · ")[0]
