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
from mgem_core.figures.style import axis_titles, line_styles, marker_growth, of_family

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_LABELS = 12  # lines that are labelled at their ends
PLOT_PIXELS, LABEL_PIXELS = (450, 320), (80, 13)  # of a plot and of a label, about
MOST_IN_SVG = 1000  # points; WebGL draws more of them faster
NEEDED = [  # columns of points
    *("key", "line", "family", "q", "x", "y", "acc", "fwd", "bwd"),
    *("finished", "runs", "active", "lr", "memory", "tasks", "iterations"),
]
LAYOUT: dict[str, Any] = {
    "margin": {"l": 62, "r": 96, "t": 8, "b": 48},
    "hovermode": "closest",
    "dragmode": "zoom",
    "modebar": {"orientation": "v", "bgcolor": "rgba(0,0,0,0)", "color": "#808080", "activecolor": "#404040"},
    "legend": {"itemsizing": "constant", "orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    "uirevision": "kept",  # zoom and selection outlive new data
}


def figure(traces: list[dict[str, Any]], x: str, y: str) -> PlainFigure:
    """Traces on axes with these titles. The axes show all points of the lines, which are labelled at their ends."""
    lines = [trace for trace in traces if "customdata" in trace]
    axes = {
        f"{axis}axis": {"title": {"text": title}, **_range([value for line in lines for value in line[axis]])}
        for axis, title in (("x", x), ("y", y))
    }
    labels = _end_labels(lines)
    layout = {**LAYOUT, "template": _template(), **axes, "annotations": labels, "showlegend": not labels}
    return {"data": traces, "layout": layout}


def _range(values: list[float]) -> dict[str, Any]:
    """The range of an axis: that of the points, not of their error bars, and some room."""
    if not values:
        return {}
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or 0.5 * abs(high) or 1.0
    return {"range": [low - room, high + room]}


def _end_labels(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The name of each line beside its last point, moved where it would cover another; none if they are too many."""
    if not 1 < len(lines) <= MOST_LABELS:
        return []
    ends = [
        [(line[axis][-1] - low) / (max(values) - low or 1.0) * pixels for line in lines]
        for axis, pixels in zip("xy", PLOT_PIXELS, strict=True)
        if (values := [value for line in lines for value in line[axis]]) and (low := min(values)) is not None
    ]
    heights = _spread(*ends)
    return [
        {
            **{"text": line["name"].partition(" · ")[0], "font": {"size": 11, "color": line["line"]["color"]}},
            **{"x": line["x"][-1], "y": line["y"][-1], "xanchor": "left", "showarrow": False},
            **{"xshift": 12, "yshift": round(height - y)},
        }
        for line, y, height in zip(lines, ends[1], heights, strict=True)
    ]


def _spread(x: list[float], y: list[float]) -> list[float]:
    """Heights of labels at these places, in pixels, so that none covers another: towards the middle of the plot."""
    is_high = sum(y) / len(y) > PLOT_PIXELS[1] / 2
    heights = list(y)
    placed: list[int] = []
    for i in sorted(range(len(y)), key=lambda i: y[i], reverse=is_high):
        while any(abs(x[i] - x[k]) < LABEL_PIXELS[0] and abs(heights[i] - heights[k]) < LABEL_PIXELS[1] for k in placed):
            heights[i] += -1 if is_high else 1
        placed.append(i)
    return heights


@cache
def _template() -> dict[str, Any]:
    import plotly.io

    return dict(plotly.io.templates["plotly_white"].to_plotly_json())


def uid(name: str) -> str:
    """By this, plotly recognizes a line; it makes a CSS selector of it, in which few characters are allowed."""
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def lines(
    points: pd.DataFrame, view: View, at: tuple[str, str], errors: tuple[str, str] | None, marked: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """A trace per line of points, at these two columns with these errors; points whose keys are marked have a thick rim."""
    styles, axes = line_styles(points), [title.partition(" · ")[0] for title in axis_titles(view)]
    rows_by_line: dict[str, list[dict[str, Any]]] = {line: [] for line in styles}
    for row in by_strength(points)[[*NEEDED, *(errors or ())]].to_dict("records"):
        rows_by_line[row["line"]].append(row)
    bars = dict(zip("xy", errors, strict=True)) if errors else {}
    for line, rows in rows_by_line.items():
        color, dash, _ = styles[line]
        symbol = of_family(rows[0]["family"]).symbol
        is_marked = [row["key"] in marked for row in rows]
        yield {
            "type": "scattergl" if len(points) > MOST_IN_SVG else "scatter",
            **{"name": line, "uid": uid(line), "mode": "lines+markers", "opacity": 0.95},
            **{"x": [row[at[0]] for row in rows], "y": [row[at[1]] for row in rows]},
            "line": {"color": color, "dash": dash, "width": 1.5},
            "marker": {
                "color": color,
                "symbol": [f"{symbol}-open" if row["active"] else symbol for row in rows],
                "size": [9 * f * (1.5 if one else 1) for f, one in zip(marker_growth(len(rows)), is_marked, strict=True)],
                "line": {"width": [3 if one else 1 for one in is_marked], "color": color},
            },
            **{f"error_{axis}": _error_bars(rows, column, color) for axis, column in bars.items()},
            "customdata": [row["key"] for row in rows],
            "text": [_hover_text(row, axes) for row in rows],
            "hovertemplate": "%{text}<extra></extra>",
        }


def _error_bars(rows: list[dict[str, Any]], name: str, color: str) -> dict[str, Any]:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    known = [0.0 if text.is_missing(row[name]) else row[name] for row in rows]
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
