"""Figure 1 of the paper: the directions that GEM allows, and those that remain when the memory is split in two.

The picture is a plane: g is the gradient of the new task, the rows are gradients on the memory of the old task, and z is
the direction nearest to g among those that agree with every row, from the dual problem.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mgem_core.figures import PlainFigure, PrintedFigure, _print, _screen
from mgem_core.figures.page import LATEX_FIGURE, ONE_COLUMN, PICTURES, Page
from mgem_core.restriction import dual
from mgem_core.restriction.restriction import Restriction

Floats = NDArray[np.float64]
G_T = np.array([0.25, -0.95])
HALVES = np.array([[0.1, 0.95], [0.95, 0.25]])  # gradients on the two halves of the memory; ĝ₁ is their mean
REACH = 1.35  # half the width of the picture, and the radius of the shaded set of directions
SHADE, INK = "rgba(0,114,178,0.16)", "#808080"
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
FORMATS = (*PICTURES, "html", LATEX_FIGURE)


class Panel(NamedTuple):
    title: str
    rows: Floats  # [C, 2]
    names: tuple[str, ...]
    z: Floats
    allowed: tuple[float, float]  # the two angles between which a direction agrees with all rows

    def arrows(self) -> list[tuple[str, Floats, str]]:
        """Return name, vector and colour of each arrow."""
        rows = [(name, row, BLUE) for name, row in zip(self.names, self.rows, strict=True)]
        return [("g", G_T, ORANGE), *rows, ("z", self.z, GREEN)]

    def shade(self) -> tuple[list[float], list[float]]:
        """Return the outline of the shaded set of allowed directions."""
        arc = np.linspace(*self.allowed, 60)
        x, y = ([0.0, *(REACH * curve(arc)), 0.0] for curve in (np.cos, np.sin))
        return x, y


def panels() -> list[Panel]:
    whole = HALVES.mean(axis=0, keepdims=True)
    return [
        _panel("GEM: one half-space", whole, ("ĝ₁",)),
        _panel("memory split in two: a cone", HALVES, ("ĝ₁¹", "ĝ₁²")),
    ]


def _panel(title: str, rows: Floats, names: tuple[str, ...]) -> Panel:
    return Panel(title, rows, names, nearest_allowed(G_T, rows), allowed_angles(rows))


def nearest_allowed(g: Floats, rows: Floats) -> Floats:
    """Return z = g + Gᵀv with v from the dual problem at strength 0."""
    solution = dual.solve_module(rows @ rows.T, rows @ g, float(g @ g), Restriction(strength=0.0))
    return np.asarray(g + rows.T @ solution.v)


def allowed_angles(rows: Floats) -> tuple[float, float]:
    """Return the angles, in radians, between which ⟨row, z⟩ ≥ 0 for every row."""
    angles = np.arctan2(rows[:, 1], rows[:, 0])
    return float(angles.max() - math.pi / 2), float(angles.min() + math.pi / 2)


def screen() -> PlainFigure:
    """Draw the two panels side by side on the same scale."""
    traces: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    both = panels()
    for number, panel in enumerate(both, 1):
        axes = {"xaxis": f"x{number}".replace("x1", "x"), "yaxis": f"y{number}".replace("y1", "y")}
        x, y = panel.shade()
        look = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "showlegend": False}
        traces.append({**look, **axes, "x": x, "y": y, "fill": "toself", "fillcolor": SHADE, "line": {"width": 0}})
        traces.append(
            {**look, **axes, "x": [G_T[0], panel.z[0]], "y": [G_T[1], panel.z[1]]}
            | {"line": {"dash": "dot", "width": 1, "color": INK}}
        )
        for name, vector, color in panel.arrows():
            annotations += _arrow(name, vector, color, axes)
        place = {"xref": f"{axes['xaxis']} domain", "yref": f"{axes['yaxis']} domain", "x": 0.5, "y": 1.0}
        annotations.append({**place, "text": panel.title, "showarrow": False, "yanchor": "bottom", "font": {"size": 12}})
    figure = _screen.figure(traces, "", "")
    layout = figure["layout"]
    hidden = {"range": [-REACH, REACH], "showgrid": False, "zeroline": True, "showticklabels": False, "title": {"text": ""}}
    for number, domain in ((1, [0.0, 0.48]), (2, [0.52, 1.0])):
        suffix = "" if number == 1 else "2"
        layout[f"xaxis{suffix}"] = {**hidden, "domain": domain, "constrain": "domain", "anchor": f"y{suffix}"}
        layout[f"yaxis{suffix}"] = {**hidden, "scaleanchor": f"x{suffix}", "constrain": "domain", "anchor": f"x{suffix}"}
    layout |= {"annotations": annotations, "margin": {"l": 8, "r": 8, "t": 30, "b": 8}, "dragmode": False, "height": 300}
    return figure


def _arrow(name: str, vector: Floats, color: str, axes: dict[str, str]) -> list[dict[str, Any]]:
    x, y = map(float, vector)
    refs = {"xref": axes["xaxis"], "yref": axes["yaxis"]}
    tail = {"axref": axes["xaxis"], "ayref": axes["yaxis"], "ax": 0, "ay": 0}
    look = {"arrowhead": 3, "arrowwidth": 2, "arrowcolor": color, "showarrow": True, "text": ""}
    length = math.hypot(x, y) or 1.0
    caption = {"x": x + 0.12 * x / length, "y": y + 0.12 * y / length, "text": name, "showarrow": False}
    return [{**refs, **tail, **look, "x": x, "y": y}, {**refs, **caption, "font": {"color": color, "size": 14}}]


@_print.printing()
def printed(page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw the two panels for paper."""
    from matplotlib.figure import Figure

    figure = Figure((page.width, 0.52 * page.width), layout="constrained")
    for number, panel in enumerate(panels(), 1):
        axes = figure.add_subplot(1, 2, number, aspect="equal", xlim=(-REACH, REACH), ylim=(-1.15, REACH))
        axes.set_title(panel.title)
        axes.axis("off")
        axes.fill(*panel.shade(), color=BLUE, alpha=0.16, lw=0)
        axes.plot(*zip(G_T, panel.z, strict=True), ls=":", lw=0.8, color=INK)
        for name, vector, color in panel.arrows():
            axes.annotate(
                "",
                (vector[0], vector[1]),
                (0, 0),
                arrowprops={"arrowstyle": "-|>", "color": color, "shrinkA": 0, "shrinkB": 0},
            )
            x, y = vector * (1 + 0.14 / np.linalg.norm(vector))
            axes.text(x, y, name, color=color, ha="center", va="center")
    return figure


def as_file(format: str, page: Page = ONE_COLUMN) -> bytes:
    if format == "html":
        return _screen.as_page(screen(), "Which directions are allowed", page.caption)
    return _print.as_bytes(printed(page), format)


def in_words() -> str:
    """Describe the effect of the split in numbers computed from the drawn vectors."""
    whole, split = panels()
    angles = [math.degrees(high - low) for low, high in (whole.allowed, split.allowed)]
    gs_z = [round(float(HALVES.mean(axis=0) @ panel.z), 2) + 0.0 for panel in (whole, split)]  # + 0.0: −0 is 0
    return (
        f"Here GEM allows {angles[0]:.0f}° of directions, the split memory {angles[1]:.0f}°, and ⟨ĝ₁,z⟩ is {gs_z[0]:.2f} "
        f"and {gs_z[1]:.2f}. Where g agrees with both rows, z is g with and without the split."
    )
