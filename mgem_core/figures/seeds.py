"""Per seed: the difference of every line to the baseline in each seed, with mean and 95 % confidence interval."""

from typing import Any

import numpy as np
import pandas as pd

from mgem_core.analysis import paired
from mgem_core.analysis.aggregate import View
from mgem_core.figures import Figure, PlainFigure, PrintedFigure, _latex, _print, _screen, frontier, register
from mgem_core.figures._compared import nothing_in_common, read_comparison
from mgem_core.figures.page import ONE_COLUMN, Page
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import line_styles
from mgem_core.text import pluralize

TITLES = {  # titles of the axis
    "retention": "learned at equal retention, %",
    **{name: f"{name.upper()} at equal strengths, points" for name in ("acc", "fwd", "bwd")},
    "best": "ACC at the best strength of the previous seed, points",
}
LETTERS = 19  # of the title of the axis that fit in an inch
APART = 0.16  # distance of the seeds above a line's position, and of the mean below it


def data(selection: Selection) -> pd.DataFrame:
    """Return a row per line and shared seed: the seed's difference, and the line's mean and confidence interval."""
    kind = selection.view.difference
    baseline, seeds, tables, lines = read_comparison(selection)
    found = []
    for row in lines[lines["line"] != baseline].to_dict("records"):
        differences = paired.seed_differences(tables[row["line"]], tables[baseline], kind)
        if estimate := differences.estimate():
            numbers = estimate.mean, estimate.low, estimate.high
            found += [
                (*row.values(), baseline, kind, seeds[i], value, *numbers)
                for i, value in zip(differences.seeds, differences.values, strict=True)
            ]
    if not found:
        common = {"retention": "a range of ⟨g_s,z⟩", "best": "seeds with a known ACC"}
        raise nothing_in_common(common.get(kind, f"a strength at which {kind} is known"), baseline)
    names = ["line", "label", "family", "baseline", "of", "seed", "difference", "mean", "low", "high"]
    return pd.DataFrame(found, columns=names)


def tidy(differences: pd.DataFrame, view: View) -> pd.DataFrame:
    frame = differences.drop(columns=["label", "family"]).rename(columns={"line": "method"})
    return frame.replace([np.inf, -np.inf], np.nan)  # a single seed has no interval


def screen(differences: pd.DataFrame, view: View) -> PlainFigure:
    """Draw for each line a dot per seed, and below them mean and confidence interval; the first line is at the top."""
    styles = line_styles(differences)
    traces: list[dict[str, Any]] = []
    for place, (line, (color, _, _)) in enumerate(styles.items()):
        rows = differences[differences["line"] == line]
        look = {"type": "scatter", "mode": "markers", "name": line, "showlegend": False}
        dots = {"color": color, "size": 8, "opacity": 0.75}
        hover = "seed %{text}: %{x:+.3g}<extra></extra>"
        traces.append(
            {**look, "x": rows["difference"].tolist(), "y": [place - APART] * len(rows), "marker": dots}
            | {"text": rows["seed"].tolist(), "hovertemplate": hover, "uid": _screen.uid(f"{line} seeds")}
        )
        mean, reach = rows["mean"].iloc[0], rows["high"].iloc[0] - rows["mean"].iloc[0]
        bar = {"array": [reach], "color": color, "thickness": 2, "width": 5}
        hover = f"{line}: {mean:+.3g}" + (f" ± {reach:.2g} (95 % CI)" if np.isfinite(reach) else "")
        traces.append(
            {**look, "x": [mean], "y": [place + APART], "marker": {"color": color, "size": 10, "symbol": "diamond"}}
            | {"uid": _screen.uid(line), "hovertemplate": hover.replace("-", "−") + "<extra></extra>"}
            | ({"error_x": bar} if np.isfinite(reach) else {})
        )
    title = f"difference to {differences['baseline'].iloc[0]}: <br>{TITLES[view.difference]}"  # two lines, for phones
    figure = _screen.figure(traces, title, "")
    layout = figure["layout"]
    zero = {"type": "line", "x0": 0, "x1": 0, "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    layout["shapes"] = [{**zero, "line": {"color": "#808080", "width": 1.5}}]
    ticks = {"tickvals": list(range(len(styles))), "ticktext": list(styles), "range": [len(styles) - 0.5, -0.5]}
    layout["yaxis"] |= {**ticks, "zeroline": False, "automargin": True}
    return _screen.rows(figure, 2 * len(styles), 64)


@_print.printing()
def printed(differences: pd.DataFrame, view: View, page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw dots, means and confidence intervals for paper."""
    styles, baseline = line_styles(differences), differences["baseline"].iloc[0]
    figure, axes = _print.one_axes(page, "", "")
    title = f"difference to {baseline}: {TITLES[view.difference]}"
    if is_long := len(title) > LETTERS * page.width:
        title = title.replace(": ", ":\n", 1)
    figure.supxlabel(title, fontsize=8)  # as wide as the page, not only as the axes
    figure.set_figheight(0.9 + 0.26 * len(styles) + _print.TITLE_ROW * is_long)
    axes.axvline(0, color="#808080", lw=0.8, zorder=1.5)
    for place, (line, (color, _, _)) in enumerate(styles.items()):
        rows = differences[differences["line"] == line]
        axes.scatter(rows["difference"], [place - APART] * len(rows), 12, color, alpha=0.55, linewidths=0, zorder=2.2)
        mean, reach = rows["mean"].iloc[0], rows["high"].iloc[0] - rows["mean"].iloc[0]
        error = reach if np.isfinite(reach) else None
        axes.errorbar(mean, place + APART, xerr=error, fmt="D", ms=4, color=color, elinewidth=1.2, capsize=2, zorder=2.3)
    axes.set_yticks(range(len(styles)), list(styles))
    axes.set_ylim(len(styles) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    return figure


def latex(differences: pd.DataFrame, view: View, source: str) -> str:
    """Write a row per line: mean, confidence interval, and the difference in each seed."""
    seeds = list(dict.fromkeys(differences["seed"]))
    rows = []
    for line, group in differences.groupby("line", sort=False):
        mean, low, high = group[["mean", "low", "high"]].iloc[0]
        interval = f"$[{low:+.2f}, {high:+.2f}]$" if np.isfinite(low) else "---"
        rows.append(
            [_latex.escape(str(line)), f"${mean:+.2f}$", interval, *(f"${one:+.2f}$" for one in group["difference"])]
        )
    baseline = _latex.escape(str(differences["baseline"].iloc[0]))
    about = f"{source}: difference to {baseline}, {TITLES[view.difference].replace('%', 'percent')}, within seeds"
    return _latex.tabular(about, ["method", "mean", r"95\,\% CI", *(f"seed {seed}" for seed in seeds)], [rows])


def subtitle(differences: pd.DataFrame, view: View) -> str:
    seeds = pluralize(differences["seed"].nunique(), "shared seed")
    return f"difference to {differences['baseline'].iloc[0]} in each of {seeds}; below: mean and 95 % CI"


def name_parts(view: View) -> list[str]:
    parts = frontier.name_parts(view) if view.difference == "retention" else []
    return [view.difference, f"minus {view.baseline or 'baseline'}", *parts]


CONTROLS = ("difference", "baseline")
register(Figure("seeds", "Per seed", data, tidy, screen, printed, latex, subtitle, name_parts, place=5, controls=CONTROLS))
