"""Code shared by figures on the screen, which are dictionaries in the format of plotly.js.

The dashboard draws them again every second, and plotly's Python classes would validate every value each time.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mgem_core import text
from mgem_core.analysis.aggregate import View, by_strength
from mgem_core.figures import PlainFigure
from mgem_core.figures._labels import LINE, Label, Place, along, end_labels, free_label, obstacles_of
from mgem_core.figures._points import error_column, is_hollow, seed_lines
from mgem_core.figures.style import LineStyle, axis_titles, marker_growth, of_family

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_LABELS = 12  # the largest number of lines that are labelled at their ends
LETTER_PIXELS, LABEL_PIXELS = 6.2, 13  # approximate width of a letter and height of a label
HEIGHT, ROW_PIXELS = 420, 20  # height of a plot on the page, and least height of a row
LEGEND_PIXELS = 66  # height of the legend, which can be scrolled
MOST_IN_SVG = 1000  # points; WebGL draws larger numbers faster
NEEDED = [  # columns of points that a trace uses
    *("key", "line", "family", "q", "x", "y", "acc", "fwd", "bwd", "hollow"),
    *("seeds", "is_shared", "finished", "runs", "active", "lr", "memory", "tasks", "iterations"),
]
PAGE_STYLE = "body {margin: 0} p {margin: 0.5rem auto 1rem; max-width: 60rem; padding: 0 1rem; font: 15px/1.45 sans-serif}"
LAYOUT: dict[str, Any] = {
    "margin": {"l": 62, "r": 104, "t": 8, "b": 48},
    "hovermode": "closest",
    "dragmode": "zoom",
    "modebar": {"orientation": "v", "bgcolor": "rgba(0,0,0,0)", "color": "#808080", "activecolor": "#404040"},
    "legend": {
        **{"itemsizing": "constant", "orientation": "h", "x": 0, "maxheight": LEGEND_PIXELS, "font": {"size": 11}},
        **{"yref": "container", "y": 0, "yanchor": "bottom"},
    },
    "uirevision": "kept",  # a constant, so that zoom and selection stay when new data arrives
}


def figure(
    traces: list[dict[str, Any]],
    x: str,
    y: str,
    names: Sequence[str] = (),
    references: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> PlainFigure:
    """Put traces on axes with these titles; the axes cover all points with their error bars, and single seeds if drawn.

    Lines are labelled at their ends if all lines of the sweep, `names`, can be; otherwise there is a legend of fixed height
    below, so that the layout does not change while results arrive. `references` maps the label of each reference line to
    its two ends.
    """
    lines = [trace for trace in traces if "customdata" in trace]
    shown = [trace for trace in traces if "customdata" in trace or trace.get("meta") == "seeds"]
    ranges = [_range([value for trace in shown for value in _reach(trace, axis)]) for axis in "xy"]
    axes = {
        f"{axis}axis": {"title": {"text": title}, **({"range": range} if shown else {})}
        for axis, title, range in zip("xy", (x, y), ranges, strict=True)
    }
    has_legend = len(names or lines) > MOST_LABELS or len({_short(name) for name in names}) < len(names)
    annotations = _annotations(lines, ranges, has_legend, references or {}) if lines else []
    layout = {**LAYOUT, "template": _template(), **axes, "annotations": annotations, "showlegend": has_legend}
    if has_legend:
        layout |= {"margin": {**LAYOUT["margin"], "r": 24, "b": LAYOUT["margin"]["b"] + LEGEND_PIXELS}}
    return {"data": traces, "layout": layout}


def rows(figure: PlainFigure, count: int, bottom: int) -> PlainFigure:
    """Return the figure with space for `count` rows, for their names on the left, and for `bottom` pixels below."""
    figure["layout"]["margin"] = {"l": 8, "r": 24, "t": 8, "b": bottom}
    figure["layout"]["height"] = max(HEIGHT, ROW_PIXELS * count + bottom)
    return figure


def _reach(trace: Mapping[str, Any], axis: str) -> Iterator[float]:
    """Yield the known values of a trace, with the ends of their error bars."""
    errors = trace.get(f"error_{axis}", {}).get("array") or [0.0] * len(trace[axis])
    for value, error in zip(trace[axis], errors, strict=True):
        if value is not None:
            yield from (value - error, value + error)


def _range(values: list[float]) -> tuple[float, float]:
    """Return the range of an axis: that of these values, with a margin."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = 0.08 * (high - low) or 0.5 * abs(high) or 1.0
    return low - room, high + room


def _short(name: str) -> str:
    """Shorten "GEM · trigger always" to "GEM"."""
    return name.partition(" · ")[0]


def _annotations(
    lines: list[dict[str, Any]],
    ranges: Sequence[tuple[float, float]],
    has_legend: bool,
    references: Mapping[str, Sequence[tuple[float, float]]],
) -> list[dict[str, Any]]:
    """Label each line next to its last point, and reference lines where there is space."""

    def place(x: float, y: float) -> Place:
        return tuple((value - low) / (high - low) for value, (low, high) in zip((x, y), ranges, strict=True))  # type: ignore[return-value]

    names = [f'<span style="color:{line["line"]["color"]}">●</span> {html.escape(_short(line["name"]))}' for line in lines]
    sizes = [(LETTER_PIXELS * (len(_short(line["name"])) + 2), LABEL_PIXELS) for line in lines]
    ends = [(line["x"][-1], line["y"][-1]) for line in lines]
    labels = [] if has_legend else end_labels([place(*end) for end in ends], sizes)
    found = [
        {**{"text": name, "x": x, "y": y}, **_anchor(label, {"size": 11})}
        for name, (x, y), label in zip(names, ends, labels, strict=False)
    ]
    drawn = [obstacles_of([place(*point) for point in zip(line["x"], line["y"], strict=True)]) for line in lines]
    others = {name: [place(*end) for end in ends] for name, ends in references.items()}
    for name, line_ends in others.items():
        size = LETTER_PIXELS * len(name), LABEL_PIXELS - 1
        obstacles = np.vstack([*drawn, *(obstacles_of(others[one], LINE) for one in others if one != name)])
        if label := free_label(along(line_ends), size, obstacles, labels):
            labels.append(label)
            at = [low + share * (high - low) for share, (low, high) in zip(label.place, ranges, strict=True)]
            found.append({**{"text": name, "x": at[0], "y": at[1]}, **_anchor(label, {"size": 10, "color": "#808080"})})
    return found


def _anchor(label: Label, font: dict[str, Any]) -> dict[str, Any]:
    shift = {"xshift": round(label.offset[0]), "yshift": round(label.offset[1])}
    return {"xanchor": "left", "yanchor": "bottom", "showarrow": False, "borderpad": 0, "font": font, **shift}


@cache
def _template() -> dict[str, Any]:
    import plotly.io

    return dict(plotly.io.templates["plotly_white"].to_plotly_json())


def uid(name: str) -> str:
    """Return an id by which plotly recognizes a line again, with only those characters that a CSS selector allows."""
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def lines(
    points: pd.DataFrame, view: View, at: tuple[str, str], styles: Mapping[str, LineStyle]
) -> Iterator[dict[str, Any]]:
    """Yield for each line a trace of its seeds, if the view shows them, and of its points with the view's error bars."""
    axes = [title.partition(" · ")[0] for title in axis_titles(view)]
    bars = {axis: column for axis, name in zip("xy", at, strict=True) if (column := error_column(name, view))}
    columns = list(dict.fromkeys([*NEEDED, *at, *bars.values(), *(["by_seed"] if view.errors == "seeds" else [])]))
    rows_by_line: dict[str, list[dict[str, Any]]] = {}
    for row in by_strength(points.assign(hollow=is_hollow(points)))[columns].to_dict("records"):
        rows_by_line.setdefault(row["line"], []).append(row)
    for line in [line for line in styles if line in rows_by_line]:
        rows, (color, dash, _) = rows_by_line[line], styles[line]
        symbol = of_family(rows[0]["family"]).symbol
        if view.errors == "seeds":
            yield _seeds(line, seed_lines(rows, at), color)
        yield {
            "type": "scattergl" if len(points) > MOST_IN_SVG else "scatter",
            **{"name": line, "uid": uid(line), "mode": "lines+markers", "opacity": 0.95},
            **{"x": [row[at[0]] for row in rows], "y": [row[at[1]] for row in rows]},
            "line": {"color": color, "dash": dash, "width": 1.5},
            "marker": {
                **{"color": color, "opacity": 1.0},  # the default makes points of different sizes transparent
                "symbol": [f"{symbol}-open" if row["hollow"] else symbol for row in rows],
                "size": [9 * factor for factor in marker_growth(len(rows))],
                "line": {"width": [1] * len(rows), "color": color},
            },
            **{f"error_{axis}": _error_bars(rows, column, color) for axis, column in bars.items()},
            "customdata": [row["key"] for row in rows],
            "text": [_hover_text(row, axes) for row in rows],
            "hovertemplate": "%{text}<extra></extra>",
        }


def _seeds(line: str, seeds: Sequence[Sequence[tuple[float, float]]], color: str) -> dict[str, Any]:
    """Draw a faint line per seed in one trace, with gaps between the seeds."""
    x, y = ([value for seed in seeds for value in (*(point[i] for point in seed), None)] for i in (0, 1))
    look = {"mode": "lines", "line": {"color": color, "width": 1}, "opacity": 0.3, "hoverinfo": "skip"}
    names = {"uid": uid(f"{line} seeds"), "meta": "seeds", "showlegend": False}
    return {"type": "scatter", "x": x, "y": y, **look, **names}


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
    still = ", still training" if row["active"] else ""
    lines.append(f"{row['finished']} of {row['runs']} seeds{still}{'' if row['is_shared'] else ', none shared by all'}")
    lines.append(f"lr {row['lr']:g}, memory {row['memory']}, {row['tasks']} tasks × {row['iterations']} steps")
    return "<br>".join(lines)


def _number(value: float, form: str) -> str:
    return format(value, form).replace("-", "−")


def as_page(figure: "PlainFigure | go.Figure", title: str, caption: str) -> bytes:
    """Return the figure and its caption as a web page that works offline."""
    import plotly.io

    page = plotly.io.to_html(figure, include_plotlyjs=True, full_html=True, div_id="figure", default_height="85vh")
    head = f'<html lang="en">\n<head><title>mGEM Explorer: {html.escape(title)}</title><style>{PAGE_STYLE}</style>'
    page = re.sub(r"<html>\s*<head>", lambda _: head, page, count=1)
    before, end = page.rsplit("</body>", 1)
    return f"{before}<p>{_caption(caption)}</p>\n</body>{end}".encode()


def _caption(words: str) -> str:
    """Write a caption in HTML: mathematics between dollar signs in italics, and indices such as g_s as indices."""
    italic = re.sub(r"\$([^$]+)\$", r"<i>\1</i>", html.escape(words))
    return re.sub(r"([gĝ])_([a-z])(?![a-z])", r"\1<sub>\2</sub>", italic)
