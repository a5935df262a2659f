"""The frontier over all strengths at recorded steps: ⟨g_t,z⟩ against ⟨g_s,z⟩, with marks at the strengths of the sweep."""

import numpy as np
import pandas as pd

from mgem_core.analysis.aggregate import View
from mgem_core.figures import Figure, PlainFigure, PrintedFigure, _points, _print, _recorded, _screen, frontier, register
from mgem_core.figures._legend import draw_legend
from mgem_core.figures.page import ONE_COLUMN, Page
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import axis_titles, axis_titles_tex, line_styles, of_family, pair_title
from mgem_core.lens.seed_curves import KEEPS, LEARNS, strength_grid

AT = ("x", "y")


def data(selection: Selection) -> pd.DataFrame:
    """Return a row per line and strength, on a dense grid and at the strengths of the sweep: means over seeds."""
    recorded, view = _recorded.read(selection), selection.view
    strengths = np.unique([*strength_grid(recorded.recordings), *recorded.strengths])
    frame = _recorded.over_strengths(recorded, view, strengths, {"x": KEEPS, "y": LEARNS})
    return frame.assign(in_sweep=frame["q"].isin(recorded.strengths))


def tidy(curves: pd.DataFrame, view: View) -> pd.DataFrame:
    names = _points.products(view)
    measures = {name + suffix: names[name] + suffix for name in AT for suffix in ("", "_sem")}
    frame = _recorded.tidy(curves, view).rename(columns=measures)
    return frame[["method", "q", "in_sweep", "axes", "pair", *measures.values(), "recorded", "recorded_seeds"]]


def screen(curves: pd.DataFrame, view: View) -> PlainFigure:
    """Draw a curve per line, with markers at the strengths of the sweep."""
    styles, traces = line_styles(curves), []
    for line, (color, dash, _) in styles.items():
        rows = curves[curves["line"] == line].dropna(subset=list(AT))
        marker = {
            **{"color": color, "symbol": of_family(rows["family"].iloc[0]).symbol if len(rows) else "circle"},
            **{"size": [7 if one else 0 for one in rows["in_sweep"]], "opacity": 1.0},
        }
        look = {"type": "scatter", "mode": "lines+markers", "line": {"color": color, "dash": dash, "width": 1.5}}
        hover = f"<b>{line}</b>, q = %{{customdata:.3g}}<br>%{{x:.4g}}, %{{y:.4g}}<extra></extra>"
        traces.append(
            {**look, "name": line, "uid": _screen.uid(line), "marker": marker, "hovertemplate": hover}
            | {"x": rows["x"].tolist(), "y": rows["y"].tolist(), "customdata": rows["q"].tolist()}
        )
    figure = _screen.figure([trace for trace in traces if trace["x"]], *axis_titles(view), list(styles))
    return _recorded.titled(figure, f"Frontier {_recorded.title(curves)}")


@_print.printing()
def printed(curves: pd.DataFrame, view: View, page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw a curve per line, with markers at the strengths of the sweep; curves that coincide have one name."""
    figure, axes = _print.one_axes(page, *axis_titles_tex(view))
    styles = line_styles(curves)
    for line, (color, _, linestyle) in styles.items():
        rows = curves[curves["line"] == line].dropna(subset=list(AT))
        axes.plot(rows["x"], rows["y"], color=color, linestyle=linestyle, lw=1.1, zorder=2.2)
        marked = rows[rows["in_sweep"]]
        axes.plot(marked["x"], marked["y"], ls="none", marker="o", ms=2.8, color=color, zorder=2.3)
    handles = _recorded.legend_handles(_recorded.curves_of(curves, AT), styles, axes, page)
    _print.draw_title(figure, page, f"Frontier {_recorded.title(curves)}")
    draw_legend(figure, handles, page)
    return figure


def subtitle(curves: pd.DataFrame, view: View) -> str:
    return f"{_recorded.title(curves)} · {pair_title(view)} · marks: strengths of the sweep"


register(
    Figure(
        "curves",
        "Frontier at recorded steps",
        data,
        tidy=tidy,
        screen=screen,
        printed=printed,
        has_legend=True,
        is_first=True,
        subtitle=subtitle,
        name_parts=frontier.name_parts,
        has_data=_recorded.has_data,
    )
)
