"""Colours, symbols, dashes and titles of axes, on the screen and in files. The methods define those of their families.

Most colours are Okabe and Ito's, which colour-blind people can distinguish; the families also differ in their symbols.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from mgem_core.analysis.aggregate import View
from mgem_core.learners import FAMILIES, Style

RUNS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#808080"]  # of single runs
MODULES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#808080"]  # in partitions
DASHES = [("solid", "-"), ("dash", "--"), ("dot", ":"), ("dashdot", "-."), ("longdash", (0, (8, 3)))]
CONTRAST = 2.2  # of the lightest and darkest colour of a ramp to the background
DARK_BACKGROUND = "#12161C"  # of the dashboard's dark theme
LEARNING = {"full": "learning the new", "batch": "learning the batch"}
ENVELOPE = "adaptive (envelope)"


def of_family(name: str) -> Style:
    return FAMILIES.get(name, Style("#808080", "circle", "o"))


def family(label: str) -> str:
    """ "p-mGEM(4)" is of the family p-mGEM."""
    return label.partition("(")[0]


class LineStyle(NamedTuple):
    color: str
    dash: str  # as plotly names it
    linestyle: object  # as matplotlib does


def line_styles(points: pd.DataFrame) -> dict[str, LineStyle]:
    """The style of each line, in the order of the legend: by family, then by the numbers of modules and splits.

    Within a family, colours go from light to dark as the numbers grow; lines of the same label differ in their dashes.
    """
    lines = points.drop_duplicates("line")[["line", "label", "family"]].to_dict("records")
    families = list(dict.fromkeys([*FAMILIES, *(row["family"] for row in lines)]))
    lines.sort(key=lambda row: (families.index(row["family"]), numbers_in(row["label"]), row["line"]))
    styles = {}
    for row in lines:
        labels = list(dict.fromkeys(other["label"] for other in lines if other["family"] == row["family"]))
        namesakes = [other["line"] for other in lines if other["label"] == row["label"]]
        color = ramp(of_family(row["family"]).color, labels.index(row["label"]), len(labels))
        styles[row["line"]] = LineStyle(color, *DASHES[namesakes.index(row["line"]) % len(DASHES)])
    return styles


def numbers_in(label: str) -> list[int]:
    """ "md-GEM(4,2)" → [4, 2]; a star, which marks a mapping, does not count."""
    return [int(number) for number in re.findall(r"[0-9]+", label.partition("(")[2])]


@lru_cache(maxsize=1000)
def ramp(color: str, position: int, count: int) -> str:
    """The colour at a position of a ramp from light to dark around this one; the colour itself if it is alone.

    Neighbours differ by the same contrast, and all colours have at least CONTRAST to a light and to a dark background.
    """
    if count == 1:
        return color
    lightest, darkest = 1.05 / CONTRAST, (luminance(DARK_BACKGROUND) + 0.05) * CONTRAST
    target = lightest * (darkest / lightest) ** (position / (count - 1)) - 0.05
    mixed = [_mix(color, "#000000" if target < luminance(color) else "#FFFFFF", weight / 200) for weight in range(201)]
    return min(mixed, key=lambda one: abs(luminance(one) - target))


def _mix(color: str, other: str, weight: float) -> str:
    pairs = [(int(color[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(own + weight * (into - own)):02X}" for own, into in pairs)


def contrast(one: str, other: str) -> float:
    """Of two colours, from 1 to 21, as the Web Content Accessibility Guidelines define it."""
    dark, light = sorted(luminance(color) + 0.05 for color in (one, other))
    return light / dark


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * channel for weight, channel in zip((0.2126, 0.7152, 0.0722), light, strict=True))


def marker_growth(count: int) -> list[float]:
    """Factors of the marker size along a line of so many points: a larger marker is a larger strength."""
    return [0.75 + 0.75 * i / max(1, count - 1) for i in range(count)] if count > 1 else [1.0]


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


def error_title(view: View) -> str:
    """What the error bars are, as part of a title."""
    titles = {"within": "± standard error within seeds", "between": "± standard error between seeds", "none": ""}
    return {**titles, "seeds": "faint: every seed"}[view.errors]


MEASURE_NAMES = {"acc": "ACC", "fwd": "FWD", "bwd": "BWD"}
UNITS = {"acc": "%", "fwd": "%", "bwd": "points"}


def measure_title(view: View, in_tex: bool = False) -> str:
    """The view's measure: ACC, %; or one of the frontier's axes."""
    if view.measure in UNITS:
        return f"{MEASURE_NAMES[view.measure]}, {UNITS[view.measure]}"
    return (axis_titles_tex if in_tex else axis_titles)(view)[view.measure == "y"]


def measure_name(view: View, in_tex: bool = False) -> str:
    """The view's measure, without what it means."""
    if view.measure in UNITS:
        return MEASURE_NAMES[view.measure]
    return measure_title(view, in_tex).partition("  " if in_tex else " · ")[0]
