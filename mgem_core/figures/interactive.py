"""The numbers of `data` as plotly figures: for the dashboard, and for HTML that stands alone.

Those that are drawn anew every second are plain data, as plotly.js takes them; nothing checks that every second.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io
from plotly.subplots import make_subplots

from mgem_core import text
from mgem_core.analysis import View, by_strength
from mgem_core.figures.style import ENVELOPE, axis_titles, dash, of_family

Figure = dict[str, Any]  # data: a list of traces; layout
SHOWN = [
    *("key", "line", "family", "q", "x", "y", "x_sem", "y_sem", "acc", "fwd", "bwd", "fwd_std", "bwd_std"),
    *("finished", "runs", "active", "lr", "memory", "tasks", "iterations"),
]
FAR = 1000  # points from which WebGL draws them
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#808080"]  # of single runs
TEMPLATE = plotly.io.templates["plotly_white"].to_plotly_json()
LAYOUT: dict[str, Any] = {
    "margin": {"l": 62, "r": 36, "t": 8, "b": 48},
    "hovermode": "closest",
    "dragmode": "zoom",
    "modebar": {"orientation": "v", "bgcolor": "rgba(0,0,0,0)", "color": "#808080", "activecolor": "#404040"},
    "legend": {"itemsizing": "constant", "orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    "uirevision": "kept",  # zoom and selection outlive new data
}


def frontier(points: pd.DataFrame, view: View, hide_dominated: bool = False, chosen: Sequence[str] = ()) -> Figure:
    """⟨g_s,z⟩ against ⟨g_t,z⟩: a line per method, a point per strength, and the envelope of all."""
    known = points.dropna(subset=["x", "y"])
    best = known[known["front"]].sort_values("x")
    band = {"line": {"color": "rgba(128,128,128,0.35)", "width": 9}, "hoverinfo": "skip"}
    envelope = {
        "type": "scatter",
        "x": best["x"].tolist(),
        "y": best["y"].tolist(),
        "mode": "lines",
        "name": ENVELOPE,
        "uid": "envelope",
        **band,
    }
    lines = _lines(known[known["front"]] if hide_dominated else known, view, ("x", "y"), ("x_sem", "y_sem"), chosen)
    return _figure([envelope, *lines] if len(best) else [], *axis_titles(view))


def transfer(points: pd.DataFrame, view: View, chosen: Sequence[str] = ()) -> Figure:
    """BWD against FWD: a line per method, a point per strength, and dashed lines of equal ACC."""
    known = points.dropna(subset=["bwd", "fwd"])
    grey = {"line": {"dash": "dash", "width": 1, "color": "#a0a0a0"}, "textfont": {"size": 10, "color": "#808080"}}
    silent = {"hoverinfo": "skip", "showlegend": False, "textposition": "bottom left", "mode": "lines+text", **grey}
    equal = [
        {"type": "scatter", "x": list(x), "y": list(y), "text": ["", f"ACC {acc:g}"], "uid": _uid(f"acc{acc:g}"), **silent}
        for acc, (x, y) in ((acc, zip(*ends, strict=True)) for acc, ends in equal_acc(known).items())
    ]
    lines = _lines(known, view, ("bwd", "fwd"), ("bwd_std", "fwd_std"), chosen)
    return _figure([*equal, *lines], "BWD · lost (−) or gained (+) by later tasks, points", "FWD · just after learning, %")


def _figure(traces: list[dict[str, Any]], x: str, y: str) -> Figure:
    layout = {**LAYOUT, "template": TEMPLATE, "xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}}
    return {"data": traces, "layout": layout}


def _uid(name: str) -> str:
    """By this, plotly knows a line again; it makes a CSS selector of it, where few characters are allowed."""
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def equal_acc(points: pd.DataFrame) -> dict[float, list[tuple[float, float]]]:
    """Lines y = ACC − x through the picture of (BWD, FWD) points: about four round values of ACC, with two ends each."""
    if points.empty:
        return {}
    x, y = (
        ((points[at] - points[f"{at}_std"].fillna(0)).min(), (points[at] + points[f"{at}_std"].fillna(0)).max())
        for at in ("bwd", "fwd")
    )
    wide = max(x[1] - x[0], y[1] - y[0], 1.0) * 0.05
    left, right = x[0] - wide, x[1] + wide
    low, high = left + y[0] - wide, right + y[1] + wide
    step = next((s for s in (0.5, 1, 2, 5, 10, 20) if (high - low) / s <= 6), 50)
    values = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    return {float(acc): [(left, acc - left), (right, acc - right)] for acc in values}


def _lines(
    points: pd.DataFrame, view: View, at: tuple[str, str], errors: tuple[str, str], chosen: Sequence[str]
) -> Iterator[dict[str, Any]]:
    dashes, axes = dash(points), [title.partition(" · ")[0] for title in axis_titles(view)]
    lines: dict[str, list[dict[str, Any]]] = {line: [] for line in points["line"]}
    for row in by_strength(points)[SHOWN].to_dict("records"):
        lines[row["line"]].append(row)
    for line, own in lines.items():
        style = of_family(own[0]["family"])
        large = [row["key"] in chosen for row in own]
        yield {
            "type": "scattergl" if len(points) > FAR else "scatter",
            **{"name": line, "uid": _uid(line), "mode": "lines+markers", "opacity": 0.95},
            **{"x": [row[at[0]] for row in own], "y": [row[at[1]] for row in own]},
            "line": {"color": style.color, "dash": dashes[line][0], "width": 1.5},
            "marker": {
                "color": style.color,
                "symbol": [f"{style.symbol}-open" if row["active"] else style.symbol for row in own],
                "size": [16 if one else 10 for one in large],
                "line": {"width": [3 if one else 1 for one in large], "color": style.color},
            },
            "error_x": _bars([row[errors[0]] for row in own], style.color),
            "error_y": _bars([row[errors[1]] for row in own], style.color),
            "customdata": [row["key"] for row in own],
            "text": [_hover(row, axes) for row in own],
            "hovertemplate": "%{text}<extra></extra>",
        }


def _bars(errors: list[float], color: str) -> dict[str, Any]:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    known = [0.0 if error != error else error for error in errors]
    return {"array": known, "color": f"rgba({red},{green},{blue},0.4)", "thickness": 1, "width": 2}


def _hover(row: Mapping[str, Any], axes: Sequence[str]) -> str:
    q = "" if text.strength(row["q"]) == "—" else f", q = {text.strength(row['q'])}"
    lines = [f"<b>{row['line']}</b>{q}"]
    if row["x"] == row["x"]:
        lines.append(", ".join(f"{name} {_told(row[at], '.4g')}" for name, at in zip(axes, "xy", strict=True)))
    if row["acc"] == row["acc"]:
        lines.append(", ".join(f"{name.upper()} {_told(row[name], '.2f')}" for name in ("acc", "fwd", "bwd")))
    lines.append(f"{row['finished']} of {row['runs']} seeds{', still training' if row['active'] else ''}")
    lines.append(f"lr {row['lr']:g}, memory {row['memory']}, {row['tasks']} tasks × {row['iterations']} steps")
    return "<br>".join(lines)


def _told(value: float, form: str) -> str:
    return format(value, form).replace("-", "−")


def matrices(named: Mapping[str, np.ndarray]) -> go.Figure:
    """R as heat maps, side by side on one scale: row i, column j is the accuracy on task j after task i, in percent."""
    columns = min(4, len(named))
    rows = -(-len(named) // columns)
    figure = make_subplots(rows, columns, subplot_titles=list(named), horizontal_spacing=0.06, vertical_spacing=0.25 / rows)
    for number, R in enumerate(named.values()):
        count = R.shape[1]
        ticks = [f"{i + 1}" for i in range(count)]
        figure.add_heatmap(
            **{"z": R, "x": ticks, "y": ticks[: len(R)], "coloraxis": "coloraxis", "hoverongaps": False},
            **{
                "texttemplate": "%{z:.0f}" if count <= 10 else "",
                "hovertemplate": "task %{x} after task %{y}: %{z:.2f} %<extra></extra>",
            },
            row=number // columns + 1,
            col=number % columns + 1,
        )
    figure.update_yaxes(autorange="reversed", type="category", title_text="after task", title_standoff=2)
    figure.update_xaxes(type="category", title_text="accuracy on task", title_standoff=2)
    scale = {"colorscale": "Viridis", "colorbar": {"title": "%"}}
    return figure.update_layout(
        template="plotly_white", coloraxis=scale, margin={"l": 50, "r": 10, "t": 30, "b": 45}, height=40 + 290 * rows
    )


def curves(series: Mapping[str, pd.DataFrame], y: str, title: str, iterations: Mapping[str, int]) -> go.Figure:
    """One quantity of several runs over their steps; tasks follow each other."""
    figure = go.Figure(_figure([], "step", title))
    for number, (name, frame) in enumerate(series.items()):
        if len(frame):
            steps = frame["task"] * iterations[name] + frame["step"]
            figure.add_scatter(
                x=steps, y=frame[y], name=name, uid=_uid(name), line={"color": PALETTE[number % len(PALETTE)]}
            )
    return figure
