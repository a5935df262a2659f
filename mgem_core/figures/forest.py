"""Mean differences from GEM in ⟨g_t,z⟩ at equal ⟨g_s,z⟩, at recorded steps: a row per line, with its interval."""

import textwrap

import numpy as np
import pandas as pd

from mgem_core.analysis import significance
from mgem_core.analysis.aggregate import View
from mgem_core.analysis.significance import Estimate
from mgem_core.figures import Figure, PlainFigure, PrintedFigure, _print, _recorded, _screen, frontier, register
from mgem_core.figures.page import ONE_COLUMN, Page
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import line_styles, of_family
from mgem_core.lens.differences import LineDifference

ROW = 0.17  # height of a row, in inches
UNKNOWN = Estimate(np.nan, np.nan, np.nan, np.nan, 0, np.nan)


def data(selection: Selection) -> pd.DataFrame:
    """Return a row per line, in the order of the legend; NaN if it has no range in common with the baseline."""
    recorded, view = _recorded.read(selection), selection.view
    baseline = _recorded.baseline_of(recorded, view)
    found = recorded.differences(view.axes, view.gradient, baseline)
    rows = [{**_recorded.about(recorded, line), "baseline": baseline, **_numbers(one)} for line, one in found.items()]
    frame = pd.DataFrame(rows)
    order = list(line_styles(frame))
    return frame.sort_values("line", key=lambda lines: lines.map(order.index)).reset_index(drop=True)


def _numbers(found: LineDifference) -> dict[str, float | bool]:
    one, reach = found.estimate or UNKNOWN, found.reach or UNKNOWN
    return {
        **{"mean": one.mean, "low": one.low, "high": one.high, "p": one.p, "is_significant": found.is_significant},
        **{"comparisons": found.comparisons, "seeds": one.seeds, "common": found.common},
        "detectable": significance.detectable(one, found.comparisons) if one.seeds >= significance.LEAST_SEEDS else np.nan,
        **{"reach": reach.mean, "reach_low": reach.low, "reach_high": reach.high},
    }


def colors(rows: pd.DataFrame) -> dict[str, str]:
    """Return the colour of each line; grey if its difference is not significant."""
    styles = line_styles(rows)
    significant = set(rows.loc[rows["is_significant"], "line"])
    return {line: styles[line].color if line in significant else _recorded.GREY for line in rows["line"]}


def subtitle(rows: pd.DataFrame, view: View) -> str:
    return f"Mean and 95 % CI {_recorded.title(rows)}; {_grey(rows)}"


def _grey(rows: pd.DataFrame) -> str:
    return f"grey: not significant, corrected for {rows['comparisons'].iloc[0]} comparisons"


def screen(rows: pd.DataFrame, view: View) -> PlainFigure:
    """Draw a row per line with mean and confidence interval; the first line is at the top."""
    traces = []
    for place, row in enumerate(rows.to_dict("records")):
        color = colors(rows)[row["line"]]
        half = row["high"] - row["mean"]
        if np.isnan(row["mean"]):
            continue
        words = f" (95 % CI {row['low']:+.3g} to {row['high']:+.3g})" if np.isfinite(half) else ""
        traces.append(
            {
                **{"type": "scatter", "mode": "markers", "name": row["line"], "showlegend": False},
                **{"x": [row["mean"]], "y": [place], "marker": {"color": color, "size": 9}},
                "error_x": {"array": [half if np.isfinite(half) else 0.0], "color": color, "thickness": 2, "width": 0},
                "hovertemplate": f"<b>{row['line']}</b>: {row['mean']:+.3g} %{words}<extra></extra>",
                "uid": _screen.uid(row["line"]),
            }
        )
    title = f"learns more (+) or less (−) than {rows['baseline'].iloc[0]} at equal retention, %"
    figure = _screen.rows(_screen.figure(traces, title, ""), len(rows), 48)
    ticks = {"tickmode": "array", "tickvals": list(range(len(rows))), "ticktext": rows["line"].tolist()}
    figure["layout"]["yaxis"] = {**ticks, "range": [len(rows) - 0.5, -0.5], "automargin": True, "showgrid": False}
    figure["layout"]["xaxis"] |= {"zeroline": True, "zerolinecolor": of_family("GEM").color, "zerolinewidth": 2}
    return _recorded.titled(figure, subtitle(rows, view))


@_print.printing()
def printed(rows: pd.DataFrame, view: View, page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw a row per line with mean and confidence interval; the first line is at the top."""
    short = f"difference from {rows['baseline'].iloc[0]} at equal retention, %"  # the names of lines take much of the width
    figure, axes = _print.one_axes(page, textwrap.fill(short, 44 * page.columns), "")
    figure.set_figheight(0.5 + ROW * max(4, len(rows)))
    axes.axvline(0, color=of_family("GEM").color, lw=1.1, zorder=2)
    of_line = colors(rows)
    for place, row in enumerate(rows.to_dict("records")):
        half, color = row["high"] - row["mean"], of_line[row["line"]]
        error = half if np.isfinite(half) else None
        axes.errorbar(row["mean"], place, xerr=error, fmt="o", ms=4, color=color, elinewidth=1.4, zorder=2.3)
    axes.set_yticks(range(len(rows)), rows["line"].tolist())
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    _print.draw_title(figure, page, f"Mean and 95 % CI; {_grey(rows)}", _recorded.title(rows))
    return figure


def name_parts(view: View) -> list[str]:
    return [f"minus {view.baseline or 'GEM'}", *frontier.name_parts(view)]


register(
    Figure(
        "forest",
        "Mean differences at recorded steps",
        data,
        tidy=_recorded.tidy,
        screen=screen,
        printed=printed,
        subtitle=subtitle,
        name_parts=name_parts,
        has_data=_recorded.can_compare,
    )
)
