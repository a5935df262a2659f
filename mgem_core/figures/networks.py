"""Networks: ACC, the time of a step and the peak memory of every method with every network, as in the paper's Figure 4."""

import math
from typing import Any

import pandas as pd

from mgem_core import text
from mgem_core.analysis.aggregate import View
from mgem_core.analysis.choice import choose_configuration
from mgem_core.errors import UsageError
from mgem_core.figures import Figure, PlainFigure, PrintedFigure, _latex, _points, _print, _screen, register
from mgem_core.figures._legend import draw_legend
from mgem_core.figures.page import ONE_COLUMN, Page
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import family, line_styles
from mgem_core.metrics import BY_CHANCE
from mgem_core.streams import BENCHMARKS

PANELS = {"acc": "ACC, %", "seconds_per_step": "time, s per step", "peak_memory_mb": "peak memory, MB"}
PANEL_PIXELS = 170
ERROR_BARS = {"thickness": 1, "width": 3, "color": "#808080"}
GAP = 0.09  # between two panels, as a share of the height


def data(selection: Selection) -> pd.DataFrame:
    return by_network(selection.runs())


def by_network(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per network and line: means over seeds, with standard errors, of the chosen configuration (`choice`).

    A line is a family, because the numbers of modules differ between networks; if one network has several labels of a
    family, each label is a line. If a strength cannot be chosen on held-out images, each strength is a line.
    """
    finished = runs[runs["status"] == "finished"].drop_duplicates(["configuration", "seed"], keep="last")
    if finished.empty:
        raise UsageError("nothing to show yet: no run has finished.")
    finished = finished.assign(family=finished["label"].map(family))
    labels = finished.groupby(["family", "network"])["label"].nunique().groupby("family").max()
    is_one = finished["family"].map(labels == 1)
    finished = finished.assign(line=finished["family"].where(is_one, finished["label"]))
    can_choose = finished.groupby(["network", "line"])["validation_acc"].transform("count") > 0
    has_several = finished.groupby(["network", "line"])["configuration"].transform("nunique") > 1
    with_strength = finished["line"] + " at q = " + finished["strength"].map(text.strength)
    finished = finished.assign(line=finished["line"].where(can_choose | ~has_several, with_strength))
    rows = []
    for (network, line), group in finished.groupby(["network", "line"], sort=False):
        configuration, _, compared = choose_configuration(group)
        if not compared and group["configuration"].nunique() > 1:
            reason = f"{line} has several configurations with {network}, and no held-out images to choose on"
            raise UsageError(f"nothing to show: {reason}; set validation, or run one configuration of each method.")
        chosen = group[group["configuration"] == configuration]
        row = {"network": network, "line": line, "label": line, "family": group["family"].iloc[0]}
        row |= {"q": chosen["strength"].iloc[0], "seeds": len(chosen)}
        row["chance"] = 100 / BENCHMARKS[chosen["benchmark"].iloc[0]].classes_per_task
        for name in PANELS:
            values = chosen[name].astype(float) if name in chosen else pd.Series(dtype=float)
            row[name] = values.mean()
            row[f"{name}_sem"] = values.sem() if values.count() > 1 else math.nan
        rows.append(row)
    return pd.DataFrame(rows)


def tidy(rows: pd.DataFrame, view: View) -> pd.DataFrame:
    columns = rows.drop(columns=["label", "family", "chance"]).rename(columns={"line": "method"})
    return columns.assign(q=_points.strengths(rows["q"]))


def have_learned(rows: pd.DataFrame) -> bool:
    """Return whether some accuracy is above chance."""
    return bool((rows["acc"] >= rows["chance"] + BY_CHANCE).any())


def _known(rows: pd.DataFrame) -> list[str]:
    """Return the measures that some row has; only the published results include the peak memory."""
    return [name for name in PANELS if rows[name].notna().any()]


def _panels(rows: pd.DataFrame) -> list[str]:
    """Return the measures to draw: accuracies only if some are above chance."""
    return [name for name in _known(rows) if name != "acc" or have_learned(rows)]


def screen(rows: pd.DataFrame, view: View) -> PlainFigure:
    """Draw a panel per measure, one above the other; in each, a group per network.

    Times and memory are bars that start at zero; accuracies are dots, because their axis does not start there.
    """
    panels, styles = _panels(rows), line_styles(rows)
    networks = list(dict.fromkeys(rows["network"]))
    traces: list[dict[str, Any]] = []
    for number, name in enumerate(panels, 1):
        for line, (color, _, _) in styles.items():
            group = rows[rows["line"] == line].set_index("network").reindex(networks)
            errors = group[f"{name}_sem"]
            traces.append(
                {
                    **({"type": "scatter", "mode": "markers"} if name == "acc" else {"type": "bar"}),
                    **{"name": line, "legendgroup": line, "offsetgroup": line, "showlegend": number == 1},
                    **{"uid": _screen.uid(f"{line} {name}"), "x": networks, "xaxis": "x"},
                    "yaxis": "y" if number == 1 else f"y{number}",
                    "y": [None if math.isnan(value) else value for value in group[name]],
                    "error_y": {**ERROR_BARS, "array": errors.fillna(0).tolist(), "visible": bool(errors.notna().any())},
                    "marker": {"color": color, **({"size": 9} if name == "acc" else {})},
                    "hovertemplate": f"{line}, %{{x}}: %{{y:.4g}}<extra></extra>",
                }
            )
    figure = _screen.figure(traces, "", "", list(styles))
    layout, height = figure["layout"], (1 + GAP) / len(panels)
    for number, name in enumerate(panels):
        top = 1 - number * height
        layout[f"yaxis{number + 1}" if number else "yaxis"] = {
            **{"title": {"text": PANELS[name]}, "domain": [max(0.0, top - height + GAP), top], "anchor": "x"},
            **({"range": _acc_range(rows)} if name == "acc" else {"rangemode": "tozero"}),
        }
    layout["xaxis"] = {"title": {"text": ""}, "anchor": f"y{len(panels)}" if len(panels) > 1 else "y"}
    layout |= {"showlegend": True, "barmode": "group", "scattermode": "group", "margin": {"l": 62, "r": 8, "t": 8, "b": 96}}
    layout["height"] = PANEL_PIXELS * len(panels) + 110
    return figure


def _acc_range(rows: pd.DataFrame) -> list[float]:
    """Return a range that holds all accuracies with their errors, and a margin."""
    error = rows["acc_sem"].fillna(0)
    low, high = (rows["acc"] - error).min(), (rows["acc"] + error).max()
    room = max(1.0, 0.1 * (high - low))
    return [low - room, high + room]


@_print.printing()
def printed(rows: pd.DataFrame, view: View, page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw the panels for paper."""
    from matplotlib.figure import Figure

    panels, styles = _panels(rows), line_styles(rows)
    networks = list(dict.fromkeys(rows["network"]))
    figure = Figure((page.width, 0.3 + 1.15 * len(panels)), layout="constrained")
    width = 0.8 / len(styles)
    for place, name in enumerate(panels):
        axes = figure.add_subplot(len(panels), 1, place + 1, ylabel=PANELS[name])
        for number, (line, (color, _, _)) in enumerate(styles.items()):
            group = rows[rows["line"] == line].set_index("network").reindex(networks)
            at = [i + (number - (len(styles) - 1) / 2) * width for i in range(len(networks))]
            error = group[f"{name}_sem"]  # NaN for a single seed, which draws nothing
            if name == "acc":
                axes.errorbar(at, group[name], error, fmt="o", color=color, label=line, elinewidth=0.9, zorder=2)
            else:
                axes.bar(at, group[name], width * 0.95, yerr=error, color=color, label=line, error_kw={"lw": 0.7}, zorder=2)
        axes.grid(axis="y", color="#ececec", lw=0.5)
        axes.set_xlim(-0.5, len(networks) - 0.5)
        axes.set_xticks(range(len(networks)), networks if place == len(panels) - 1 else [""] * len(networks))
        if name == "acc":
            axes.set_ylim(*_acc_range(rows))
    draw_legend(figure, axes.get_legend_handles_labels()[0], page)
    return figure


def subtitle(rows: pd.DataFrame, view: View) -> str:
    """Describe the seeds and strengths of the means, and say if nothing was learned."""
    seeds, has_errors = _points.number_of_seeds(rows["seeds"]), rows["seeds"].max() > 1
    means = f"means over {seeds}, ± standard error" if has_errors else "one seed, so there are no error bars"
    strengths = sorted({text.strength(q) for q in rows["q"]} - {text.MISSING})
    parts = [means, *([f"memory strength {', '.join(strengths)}"] if strengths else [])]
    if not have_learned(rows):
        chance = " or ".join(f"{value:g} %" for value in rows["chance"].unique())
        parts.append(f"no ACC is {BY_CHANCE:g} point or more above chance, {chance}, so accuracies are not drawn")
    return "; ".join(parts)


def latex(rows: pd.DataFrame, view: View, source: str) -> str:
    panels = _known(rows)
    decimals = {name: 2 if name == "acc" else _latex.decimals_for_four_digits(rows[name]) for name in panels}
    head = ["network", "method", *(PANELS[name].replace("%", r"\%") for name in panels), "seeds"]
    groups = [
        [
            [
                *(_latex.escape(str(row[name])) for name in ("network", "line")),
                *(_latex.mean_cell(row[name], row[f"{name}_sem"], decimals[name]) for name in panels),
                str(row["seeds"]),
            ]
            for row in group.to_dict("records")
        ]
        for _, group in rows.groupby("network", sort=False)
    ]
    return _latex.tabular(f"{source}: mean ± standard error over seeds", head, groups)


register(Figure("networks", "Networks", data, tidy, screen, printed, latex, subtitle, has_legend=True))
