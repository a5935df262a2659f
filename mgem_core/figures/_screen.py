"""What figures on the screen share. They are plain data, as plotly.js takes it.

The dashboard draws them anew every second, and plotly's Python classes would check every value every time.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd

from mgem_core import text
from mgem_core.analysis import View, by_strength
from mgem_core.figures import PlainFigure
from mgem_core.figures.style import axis_titles, dash, of_family

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_IN_SVG = 1000  # points; WebGL draws more of them faster
NEEDED = [  # columns of points
    *("key", "line", "family", "q", "x", "y", "x_sem", "y_sem", "acc", "fwd", "bwd", "fwd_std", "bwd_std"),
    *("finished", "runs", "active", "lr", "memory", "tasks", "iterations"),
]
LAYOUT: dict[str, Any] = {
    "margin": {"l": 62, "r": 36, "t": 8, "b": 48},
    "hovermode": "closest",
    "dragmode": "zoom",
    "modebar": {"orientation": "v", "bgcolor": "rgba(0,0,0,0)", "color": "#808080", "activecolor": "#404040"},
    "legend": {"itemsizing": "constant", "orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    "uirevision": "kept",  # zoom and selection outlive new data
}


def figure(traces: list[dict[str, Any]], x: str, y: str) -> PlainFigure:
    """Traces on axes with these titles."""
    layout = {**LAYOUT, "template": _template(), "xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}}
    return {"data": traces, "layout": layout}


@cache
def _template() -> dict[str, Any]:
    import plotly.io

    return dict(plotly.io.templates["plotly_white"].to_plotly_json())


def uid(name: str) -> str:
    """By this, plotly recognizes a line; it makes a CSS selector of it, in which few characters are allowed."""
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def lines(
    points: pd.DataFrame, view: View, at: tuple[str, str], errors: tuple[str, str], marked: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """A trace per line of points, at these two columns with these errors; points whose keys are marked are larger."""
    dashes, axes = dash(points), [title.partition(" · ")[0] for title in axis_titles(view)]
    rows_by_line: dict[str, list[dict[str, Any]]] = {line: [] for line in points["line"]}
    for row in by_strength(points)[NEEDED].to_dict("records"):
        rows_by_line[row["line"]].append(row)
    for line, rows in rows_by_line.items():
        style = of_family(rows[0]["family"])
        is_marked = [row["key"] in marked for row in rows]
        yield {
            "type": "scattergl" if len(points) > MOST_IN_SVG else "scatter",
            **{"name": line, "uid": uid(line), "mode": "lines+markers", "opacity": 0.95},
            **{"x": [row[at[0]] for row in rows], "y": [row[at[1]] for row in rows]},
            "line": {"color": style.color, "dash": dashes[line][0], "width": 1.5},
            "marker": {
                "color": style.color,
                "symbol": [f"{style.symbol}-open" if row["active"] else style.symbol for row in rows],
                "size": [16 if one else 10 for one in is_marked],
                "line": {"width": [3 if one else 1 for one in is_marked], "color": style.color},
            },
            "error_x": _error_bars([row[errors[0]] for row in rows], style.color),
            "error_y": _error_bars([row[errors[1]] for row in rows], style.color),
            "customdata": [row["key"] for row in rows],
            "text": [_hover_text(row, axes) for row in rows],
            "hovertemplate": "%{text}<extra></extra>",
        }


def _error_bars(errors: list[float], color: str) -> dict[str, Any]:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    known = [0.0 if text.is_missing(error) else error for error in errors]
    return {"array": known, "color": f"rgba({red},{green},{blue},0.4)", "thickness": 1, "width": 2}


def _hover_text(row: Mapping[str, Any], axes: Sequence[str]) -> str:
    q = text.strength(row["q"])
    lines = [f"<b>{row['line']}</b>" + ("" if q == text.MISSING else f", q = {q}")]
    if not text.is_missing(row["x"]):
        lines.append(", ".join(f"{name} {_number(row[at], '.4g')}" for name, at in zip(axes, "xy", strict=True)))
    if not text.is_missing(row["acc"]):
        lines.append(", ".join(f"{name.upper()} {_number(row[name], '.2f')}" for name in ("acc", "fwd", "bwd")))
    lines.append(f"{row['finished']} of {row['runs']} seeds{', still training' if row['active'] else ''}")
    lines.append(f"lr {row['lr']:g}, memory {row['memory']}, {row['tasks']} tasks × {row['iterations']} steps")
    return "<br>".join(lines)


def _number(value: float, form: str) -> str:
    return format(value, form).replace("-", "−")


def as_page(figure: "PlainFigure | go.Figure", title: str) -> bytes:
    """The figure as a web page that needs no network."""
    import plotly.io

    page = plotly.io.to_html(figure, include_plotlyjs=True, full_html=True, div_id="figure")
    head = f'<html lang="en">\n<head><title>mGEM Explorer: {html.escape(title)}</title><style>body {{margin: 0}}</style>'
    return re.sub(r"<html>\s*<head>", lambda _: head, page, count=1).encode()
