"""Against strength: any measure over the memory strength q, with a line per method."""

from typing import Any

import numpy as np
import pandas as pd

from mgem_core.analysis.aggregate import View
from mgem_core.figures import Figure, PlainFigure, PrintedFigure, _latex, _points, _print, _screen, frontier, register
from mgem_core.figures._legend import draw_legend
from mgem_core.figures.page import ONE_COLUMN, Page
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import line_styles, measure_name, measure_title

SMALL = 0.05  # up to about this strength the axis is linear, so that it can show 0; above, logarithmic
CLOSEST = 0.045  # least distance of two ticks, as a share of the axis
TITLE = "memory strength q"


def data(selection: Selection) -> pd.DataFrame:
    """Return the points; if x or y has none, the error gives the same reason as for the frontier."""
    view = selection.view
    points = frontier.data(selection) if view.measure in ("x", "y") else selection.points()
    reason = f"no run has learned {_points.needed_task(view)} with a memory strength"
    _points.known_points(points[points["q"].notna()], [view.measure], view, reason)
    return points


def tidy(points: pd.DataFrame, view: View) -> pd.DataFrame:
    names = {**_points.ACCURACIES, **_points.products(view)}
    return _points.tidy(points, view, {view.measure: names[view.measure]})


def position(q: Any) -> float:
    """Return the position of a strength on the axis; strengths per task count as their mean."""
    return float(np.arcsinh(np.mean(q) / SMALL))


def ticks(points: pd.DataFrame) -> dict[float, str]:
    """Return position → label for as many of the strengths as there is space for."""
    places = {position(q): float(np.mean(q)) for q in points["q"]}
    least = CLOSEST * (max(places, default=0.0) - min(places, default=0.0))
    found: dict[float, str] = {}
    for place in sorted(places):
        if not found or place - max(found) > least:
            found[place] = f"{places[place]:g}"
    return found


def _drawn(points: pd.DataFrame, view: View) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the points with a strength, each with its position on the axis, and the points without one."""
    known = _points.drawn(points, view, [view.measure])
    has_strength = known["q"].notna()
    with_strength = known[has_strength]
    return with_strength.assign(position=[position(q) for q in with_strength["q"]]), known[~has_strength]


def screen(points: pd.DataFrame, view: View) -> PlainFigure:
    """Draw a line per method with error bars; a method without a strength is a dotted line across the plot."""
    known, constant = _drawn(points, view)
    styles, marks = line_styles(points), ticks(known)
    lines = list(_screen.lines(known, view, ("position", view.measure), styles))
    ends = [min(marks, default=0.0), max(marks, default=1.0)]
    for row in constant.to_dict("records"):
        value, color = row[view.measure], styles[row["line"]].color
        look = {"mode": "lines", "line": {"color": color, "dash": "dot", "width": 1.5}}
        names = {"name": row["line"], "uid": _screen.uid(row["line"]), "customdata": [row["key"]] * 2}
        hover = {"hovertemplate": f"<b>{row['line']}</b>, no strength: %{{y:.4g}}<extra></extra>"}
        lines.append({"type": "scatter", "x": ends, "y": [value, value], **look, **names, **hover})
    figure = _screen.figure(lines, TITLE, measure_title(view), list(styles))
    figure["layout"]["xaxis"] |= {"tickvals": list(marks), "ticktext": list(marks.values()), "zeroline": False}
    return figure


@_print.printing()
def printed(points: pd.DataFrame, view: View, page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw the lines for paper, with a legend."""
    known, constant = _drawn(points, view)
    styles, marks = line_styles(points), ticks(known)
    figure, axes = _print.one_axes(page, "memory strength $q$", measure_title(view, in_tex=True))
    handles = _print.draw_lines(axes, known, view, ("position", view.measure), styles)
    for row in constant.to_dict("records"):
        color = styles[row["line"]].color
        handles.append(axes.axhline(row[view.measure], color=color, ls=":", lw=1.1, label=row["line"]))
    if len(constant):
        low, high = axes.get_ylim()
        room = 0.05 * (high - low)
        axes.set_ylim(min(low, constant[view.measure].min() - room), max(high, constant[view.measure].max() + room))
    axes.set_xticks(list(marks), list(marks.values()))
    draw_legend(figure, handles, page)
    return figure


def latex(points: pd.DataFrame, view: View, source: str) -> str:
    """Write the measure of every configuration."""
    values, name = points[view.measure], measure_name(view, in_tex=True)
    is_product = view.measure in ("x", "y")
    decimals = _latex.decimals_for_four_digits(values) if is_product else 2
    cells = _latex.mean_cells(values, points[f"{view.measure}_sem"], decimals)
    units = f"{'' if is_product else 'percent, '}mean ± standard error over seeds"
    return _latex.points_table(points, view, source, units, {name: cells})


def subtitle(points: pd.DataFrame, view: View) -> str:
    return f"{measure_name(view)} over q · {_points.means_title(points, view)}"


def name_parts(view: View) -> list[str]:
    """Return the measure; for x and y, followed by the parts that name the axes of the frontier."""
    if view.measure not in ("x", "y"):
        return [view.measure]
    return [_points.products(view)[view.measure], *frontier.name_parts(view)]


CONTROLS = ("measure",)
register(
    Figure(
        *("strength", "Against strength", data, tidy, screen, printed, latex, subtitle, name_parts),
        has_legend=True,
        place=3,
        controls=CONTROLS,
    )
)
