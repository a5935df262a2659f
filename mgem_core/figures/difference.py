"""Differences from GEM in ⟨g_t,z⟩ over the range of ⟨g_s,z⟩ that both lines cover, at recorded steps, with bands."""

from typing import Any

import numpy as np
import pandas as pd

from mgem_core.analysis.aggregate import View
from mgem_core.figures import Figure, PlainFigure, PrintedFigure, _print, _recorded, _screen, forest, register
from mgem_core.figures._compared import nothing_in_common
from mgem_core.figures._legend import draw_legend
from mgem_core.figures.page import ONE_COLUMN, Page
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import line_styles, of_family

AT = ("share", "mean")
X_TITLE = "share of the range of retention that both lines cover"


def data(selection: Selection) -> pd.DataFrame:
    """Return a row per line and place in the common range: mean difference in percent, and its interval over seeds."""
    recorded, view = _recorded.read(selection), selection.view
    baseline = _recorded.baseline_of(recorded, view)
    rows = [
        {**_recorded.about(recorded, line), "baseline": baseline, "share": share}
        | {"mean": one.mean, "low": one.low, "high": one.high, "seeds": one.seeds}
        for line, found in recorded.differences(view.axes, view.gradient, baseline).items()
        for share, one in zip(np.linspace(0, 1, len(found.profile)).tolist(), found.profile, strict=True)
    ]
    if not rows:
        raise nothing_in_common("a range of ⟨g_s,z⟩", baseline)
    return pd.DataFrame(rows)


def y_title(rows: pd.DataFrame) -> str:
    return f"difference from {rows['baseline'].iloc[0]}, %"


def subtitle(rows: pd.DataFrame, view: View) -> str:
    return f"Learned at equal retention: mean and 95 % CI {_recorded.title(rows)}"


def screen(rows: pd.DataFrame, view: View) -> PlainFigure:
    """Draw a line and a band per method over the common range."""
    styles, bands, lines = line_styles(rows), [], []
    for line, (color, dash, _) in styles.items():
        of_line = rows[rows["line"] == line]
        share = of_line["share"].tolist()
        hover = f"<b>{line}</b>: %{{y:+.3g}} %<extra></extra>"
        lines.append(
            {"type": "scatter", "mode": "lines", "name": line, "uid": _screen.uid(line), "hovertemplate": hover}
            | {"x": share, "y": of_line["mean"].tolist(), "customdata": share}
            | {"line": {"color": color, "dash": dash, "width": 1.5}}
        )
        if np.isfinite(of_line["high"]).all():
            around = {"x": [*share, *reversed(share)], "y": [*of_line["high"], *reversed(of_line["low"].tolist())]}
            look = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "fill": "toself", "hoverinfo": "skip"}
            bands.append(
                {**look, **around, "fillcolor": color, "opacity": 0.15, "showlegend": False}
                | {"uid": _screen.uid(f"{line} band"), "meta": "seeds"}
            )
    figure = _screen.figure([*bands, *lines], X_TITLE, y_title(rows), list(styles))
    figure["layout"]["yaxis"] |= {"range": limits(rows), "zeroline": True, "zerolinecolor": of_family("GEM").color}
    return _recorded.titled(figure, subtitle(rows, view))


def limits(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the range of differences: zero, and all means with their bands."""
    values = rows[["mean", "low", "high"]].to_numpy(float)
    values = np.append(values[np.isfinite(values)], 0.0)
    room = 0.05 * max(np.ptp(values), 1e-6)
    return float(values.min() - room), float(values.max() + room)


@_print.printing()
def printed(rows: pd.DataFrame, view: View, page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw a line and a band per method over the common range; lines that coincide have one name."""
    figure, axes = _print.one_axes(page, X_TITLE, y_title(rows))
    baseline = axes.axhline(0, color=of_family("GEM").color, lw=1.1, zorder=2, label=rows["baseline"].iloc[0])
    styles = line_styles(rows)
    opacity = min(0.13, 0.7 / len(styles))
    for line, (color, _, linestyle) in styles.items():
        of_line = rows[rows["line"] == line]
        look: dict[str, Any] = {"color": color, "zorder": 2.2}
        axes.plot(of_line["share"], of_line["mean"], linestyle=linestyle, lw=1.1, **look)
        if np.isfinite(of_line["high"]).all():
            axes.fill_between(
                of_line["share"], of_line["low"], of_line["high"], alpha=opacity, lw=0, color=color, zorder=2.1
            )
    axes.set(xlim=(0, 1), ylim=limits(rows))
    handles = _recorded.legend_handles(_recorded.curves_of(rows, AT), styles, axes, page)
    _print.draw_title(figure, page, "Learned at equal retention: mean and 95 % CI", _recorded.title(rows))
    draw_legend(figure, [baseline, *handles], page)
    return figure


register(
    Figure(
        "difference",
        "Difference over the range of retention",
        data,
        tidy=_recorded.tidy,
        screen=screen,
        printed=printed,
        has_legend=True,
        subtitle=subtitle,
        name_parts=forest.name_parts,
        has_data=_recorded.can_compare,
    )
)
