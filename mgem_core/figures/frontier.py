"""The frontier: how much a step learns of the new task, ⟨g_t,z⟩, against how much it keeps of the old one, ⟨g_s,z⟩."""

import pandas as pd

from mgem_core.analysis.aggregate import View
from mgem_core.figures import Figure, PlainFigure, PrintedFigure, _latex, _points, _print, _screen, register
from mgem_core.figures._legend import draw_legend
from mgem_core.figures.page import ONE_COLUMN, Page
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import ENVELOPE, axis_titles, axis_titles_tex, line_styles, pair_title
from mgem_core.metrics import pareto_front

AT = ("x", "y")


def has_data(selection: Selection) -> bool:
    return selection.store.has_events(_points.runs_of_pair(selection), "Probed", _points.new_task(selection.view))


def data(selection: Selection) -> pd.DataFrame:
    points, view = selection.points(), selection.view
    _points.check_pair(view, int(points["tasks"].max()))
    probed = "any past task" if view.pair is None else f"task {view.pair[0] + 1} in task {view.pair[1] + 1}"
    reason = f"no run has probed {probed}; at least two tasks and probe_every above 0 are needed"
    if view.after == 1:
        reason = "there is no earlier task to keep"
    elif view.after is not None and view.pair is not None and view.pair[1] >= view.after:
        reason = f"task {view.pair[1] + 1} has not been learned; choose another pair"
    return _points.known_points(points, ["x", "y"], view, reason)


def tidy(points: pd.DataFrame, view: View) -> pd.DataFrame:
    return _points.tidy(points, view, _points.products(view))


def envelope_of(points: pd.DataFrame) -> pd.DataFrame:
    """Return the Pareto front of the GEM family (methods with a strength), sorted by x; a single point is no front."""
    family = points[points["q"].notna()].dropna(subset=list(AT))
    front = family[pareto_front(family[["x", "y"]])].sort_values("x")
    return front if len(front) > 1 else front.iloc[:0]


def screen(points: pd.DataFrame, view: View) -> PlainFigure:
    """Draw a line per method with a point and error bars per strength, and the envelope of the GEM family."""
    front = envelope_of(points)
    envelope = {
        **{"type": "scatter", "mode": "lines", "name": ENVELOPE, "uid": "envelope", "hoverinfo": "skip"},
        **{"x": front["x"].tolist(), "y": front["y"].tolist()},
        "line": {"color": "rgba(128,128,128,0.35)", "width": 9},
    }
    styles = line_styles(points)
    lines = _screen.lines(_points.drawn(points, view, AT), view, AT, styles)
    return _screen.figure([envelope, *lines], *axis_titles(view), list(styles))


@_print.printing()
def printed(points: pd.DataFrame, view: View, page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw a line per method in the order of q with error bars, above the envelope of the GEM family."""
    front = envelope_of(points)
    figure, axes = _print.one_axes(page, *axis_titles_tex(view))
    envelope = axes.plot(front["x"], front["y"], color="#808080", lw=3.5, solid_capstyle="round", zorder=2, label=ENVELOPE)
    handles = _print.draw_lines(axes, _points.drawn(points, view, AT), view, AT, line_styles(points))
    draw_legend(figure, handles + (envelope if len(front) else []), page)
    return figure


def subtitle(points: pd.DataFrame, view: View) -> str:
    envelope = " · grey: envelope" if len(envelope_of(points)) else ""
    return f"{pair_title(view)} · {_points.means_title(points, view)}{envelope}"


def latex(points: pd.DataFrame, view: View, source: str) -> str:
    """Write both products of every configuration."""
    columns = {}
    for title, name in zip(axis_titles_tex(view), ("x", "y"), strict=True):
        decimals = _latex.decimals_for_four_digits(points[name])
        cells = _latex.mean_cells(points[name], points[f"{name}_sem"], decimals)
        columns[title.partition("  ")[0]] = cells
    units = f"{view.axes} axes, {pair_title(view)}, mean ± standard error over seeds"
    return _latex.points_table(points, view, source, units, columns)


def name_parts(view: View) -> list[str]:
    axes = "per-unit" if view.axes == "unit" else view.axes
    return [axes, *(["batch"] if view.gradient == "batch" else []), *pair_parts(view)]


def pair_parts(view: View) -> list[str]:
    return ["mean-of-pairs" if view.pair is None else f"task{view.pair[0] + 1}-task{view.pair[1] + 1}"]


register(
    Figure(
        *("frontier", "Frontier", data, tidy, screen, printed, latex, subtitle, name_parts, has_data),
        has_legend=True,
        export_title="Frontier along trained runs",
        place=1,
    )
)
