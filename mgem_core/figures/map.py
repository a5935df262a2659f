"""The map: a row per line, a column per strength; each cell shows a measure or its paired difference to a baseline."""

from itertools import chain, product
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mgem_core import text
from mgem_core.analysis import paired
from mgem_core.analysis.aggregate import View, mean_strength
from mgem_core.analysis.significance import LEAST_SEEDS, are_significant, estimate, holm
from mgem_core.figures import Figure, PlainFigure, PrintedFigure, _latex, _points, _print, _screen, register, strength
from mgem_core.figures._compared import Comparison, nothing_in_common, read_comparison
from mgem_core.figures.page import ONE_COLUMN, Page
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import contrast, line_styles, measure_name

# From Brewer's PuOr and matplotlib's cividis, which colour-blind people can read.
DIVERGING = [
    *("#7F3B08", "#B35806", "#E08214", "#FDB863", "#FEE0B6", "#F7F7F7"),
    *("#D8DAEB", "#B2ABD2", "#8073AC", "#542788", "#2D004B"),
]
SEQUENTIAL = ["#00224E", "#123570", "#3B496C", "#575D6D", "#707173", "#8A8678", "#A59C74", "#C3B369", "#E1CC55", "#FEE838"]
NO_STRENGTH = text.MISSING
COLUMNS = ["line", "label", "family", "q", "value", "low", "high", "p", "seeds", "is_significant", "baseline"]
PALE = 0.25  # share of the colour that a difference has if it is not significant


def data(selection: Selection) -> pd.DataFrame:
    """Return a row per cell: line, strength (NaN for a line without strengths), value, and significance of a difference."""
    view = selection.view
    if view.cells == "differences":
        return _differences(read_comparison(selection), view)
    reason = f"no run has learned {_points.needed_task(view)} and measured {view.measure}"
    return _values(_points.known_points(selection.points(), [view.measure], view, reason), view.measure)


def _values(points: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return means over seeds as in the table; a configuration of several lines has a cell in each."""
    cells = _points.comparable(points, [measure]).explode("lines")
    cells = cells.assign(line=cells["lines"], q=cells["q"].map(mean_strength), value=cells[measure])
    cells = cells.assign(low=np.nan, high=np.nan, p=np.nan, is_significant=True, baseline="")
    return _ordered(cells[COLUMNS])


def _differences(comparison: Comparison, view: View) -> pd.DataFrame:
    """Return mean paired differences to the baseline at equal strength; p has Holm's correction over all cells."""
    baseline, seeds, tables, lines = comparison
    cells, estimates = [], []
    for row in lines[lines["line"] != baseline].to_dict("records"):
        table = tables[row["line"]]
        differences = paired.at_each_strength(table, tables[baseline], view.measure)
        for q, of_seeds in zip(table["q"][0], differences.T, strict=True):
            estimates.append(found := estimate(of_seeds))
            numbers = (found.mean, found.low, found.high, found.p) if found else (np.nan,) * 4
            cells.append((*row.values(), q, *numbers, len(seeds), False, baseline))
    frame = pd.DataFrame(cells, columns=COLUMNS)
    if frame["value"].isna().all():
        raise nothing_in_common(f"a strength at which {view.measure} is known", baseline)
    known = frame["p"].notna()
    frame.loc[known, "p"] = holm(frame.loc[known, "p"].tolist())
    frame.loc[known, "is_significant"] = are_significant([found for found in estimates if found])
    return _ordered(frame)


def _ordered(cells: pd.DataFrame) -> pd.DataFrame:
    """Sort cells by line, in the order of legends, and strength; drop duplicates."""
    order = {line: number for number, line in enumerate(line_styles(cells))}
    cells = cells.assign(order=cells["line"].map(order)).sort_values(["order", "q"], kind="stable")
    return cells.drop_duplicates(["line", "q"]).drop(columns="order").reset_index(drop=True)


def tidy(cells: pd.DataFrame, view: View) -> pd.DataFrame:
    """Return the cells for a file, with a column that names the measure."""
    frame = cells.drop(columns=["label", "family"]).rename(columns={"line": "method", "value": "mean"})
    frame.insert(2, "measure", {**_points.ACCURACIES, **_points.products(view)}[view.measure])
    return frame


class Grid(NamedTuple):
    """The cells by line and strength."""

    lines: list[str]
    columns: list[str]  # strengths
    values: NDArray[np.float64]  # [lines, columns]; NaN: unknown
    shades: NDArray[np.float64]  # values that decide the colours: a difference that is not significant is pale
    texts: list[list[str]]  # the values as written in the cells


def grid(cells: pd.DataFrame, view: View) -> Grid:
    largest = cells["value"].abs().max()
    digits = 1 if view.cells == "differences" else 2  # of the largest number, after the first
    is_percent = view.measure not in ("x", "y")
    decimals = 1 if is_percent or not largest > 0 else int(max(0, digits - np.floor(np.log10(largest))))
    texts = [
        cell_text(value, is_significant, view, decimals)
        for value, is_significant in zip(cells["value"], cells["is_significant"], strict=True)
    ]
    columns = [NO_STRENGTH if np.isnan(q) else f"{q:.15g}" for q in cells["q"]]
    shades = cells["value"] * np.where(cells["is_significant"], 1.0, PALE)
    frame = cells.assign(column=columns, text=texts, shade=shades)
    order = {
        "index": list(dict.fromkeys(frame["line"])),
        "columns": list(dict.fromkeys(frame.sort_values("q", na_position="first")["column"])),
    }
    values, shades, written = (
        frame.pivot(index="line", columns="column", values=name).reindex(**order) for name in ("value", "shade", "text")
    )
    numbers = values.to_numpy(float), shades.to_numpy(float)
    return Grid(order["index"], order["columns"], *numbers, written.fillna("").to_numpy().tolist())


def cell_text(value: float, is_significant: bool, view: View, decimals: int) -> str:
    """Write +5.6, (−0.2) for a difference that is not significant, or nothing for an unknown value."""
    if np.isnan(value):
        return ""
    is_signed = view.cells == "differences" and round(value, decimals) != 0
    number = f"{value:{'+' if is_signed else 'z'}.{decimals}f}".replace("-", "−")
    return number if is_significant else f"({number})"


def scale(cells: pd.DataFrame, view: View) -> tuple[list[str], float, float]:
    """Return the colours and the values of the first and the last; the scale of differences is symmetric around 0."""
    if view.cells == "differences":
        most = float(cells["value"].abs().max()) or 1.0
        return DIVERGING, -most, most
    return SEQUENTIAL, float(cells["value"].min()), float(cells["value"].max())


def screen(cells: pd.DataFrame, view: View) -> PlainFigure:
    lines, columns, values, shades, texts = grid(cells, view)
    colors, low, high = scale(cells, view)
    title = difference_title(cells, view)
    heat = {
        **{"type": "heatmap", "uid": "map", "x": columns, "y": lines, "zmin": low, "zmax": high, "xgap": 1, "ygap": 1},
        "z": [[None if np.isnan(shade) else shade for shade in row] for row in shades],
        "text": texts,
        "hovertext": [[f"{value:.4g}".replace("-", "−") for value in row] for row in values],
        **{"texttemplate": "%{text}", "hoverongaps": False, "showscale": False},
        "colorscale": [[i / (len(colors) - 1), color] for i, color in enumerate(colors)],
        "hovertemplate": f"<b>%{{y}}</b>, q = %{{x}}<br>{title}: %{{hovertext}}<extra></extra>",
    }
    figure = _screen.figure([heat], strength.TITLE, "")
    figure["layout"]["xaxis"] |= {"type": "category", "showgrid": False}
    figure["layout"]["yaxis"] |= {"type": "category", "showgrid": False, "autorange": "reversed", "automargin": True}
    return _screen.rows(figure, len(lines), 48)


def difference_title(cells: pd.DataFrame, view: View, in_tex: bool = False) -> str:
    """Name what the cells show, such as "ACC minus that of GEM at the same q", or just "ACC"."""
    name = measure_name(view, in_tex)
    return f"{name} minus that of {cells['baseline'].iloc[0]} at the same q" if view.cells == "differences" else name


@_print.printing()
def printed(cells: pd.DataFrame, view: View, page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw a heat map with numbers in its cells and a title that names them; without rows and columns that are empty."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex
    from matplotlib.figure import Figure

    lines, columns, _, shades, texts = grid(cells.dropna(subset=["value"]), view)
    colors, low, high = scale(cells, view)
    palette = LinearSegmentedColormap.from_list("map", colors)
    figure = Figure((page.width, 0.65 + 0.22 * len(lines)), layout="constrained")
    axes = figure.add_subplot(xlabel="memory strength $q$")
    image = axes.imshow(shades, cmap=palette, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(lines)), lines)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    cell_width = 72 * (page.width - 1.3) / len(columns)
    size = min(7.0, cell_width / (0.48 * max(map(len, chain(*texts)), default=1)))
    for i, j in product(range(len(lines)), range(len(columns))):
        if texts[i][j] and size >= _print.SMALLEST:
            cell = to_hex(palette((shades[i, j] - low) / ((high - low) or 1.0)))
            color = "#000000" if contrast("#000000", cell) > contrast("#FFFFFF", cell) else "#FFFFFF"
            axes.text(j, i, texts[i][j], ha="center", va="center", fontsize=size, color=color, in_layout=False)
    figure.colorbar(image, ax=axes, fraction=0.05, aspect=25).outline.set_visible(False)
    _print.draw_title(figure, page, subtitle(cells, view, in_tex=True))
    return figure


def latex(cells: pd.DataFrame, view: View, source: str) -> str:
    lines, columns, _, _, texts = grid(cells, view)
    rows = [
        [_latex.escape(line), *(f"${cell.replace('−', '-')}$" if cell else "---" for cell in row)]
        for line, row in zip(lines, texts, strict=True)
    ]
    head = ["method", *(f"$q = {q}$" if q != NO_STRENGTH else "no $q$" for q in columns)]
    return _latex.tabular(f"{source}: {subtitle(cells, view, in_tex=True)}", head, [rows])


def subtitle(cells: pd.DataFrame, view: View, in_tex: bool = False) -> str:
    title = difference_title(cells, view, in_tex)
    seeds = _points.number_of_seeds(cells["seeds"])
    if view.cells == "values":
        return f"{title} · mean over {seeds}"
    has_few = cells["seeds"].max() < LEAST_SEEDS
    needed = f" (at least {LEAST_SEEDS} shared seeds are needed)" if has_few else ""
    return f"{title} · {seeds}; in ( ): not significant{needed}"


def name_parts(view: View) -> list[str]:
    parts = strength.name_parts(view)
    return [*parts, f"minus {view.baseline or 'baseline'}" if view.cells == "differences" else "values"]


CONTROLS = ("measure", "cells", "baseline")
register(Figure("map", "Map", data, tidy, screen, printed, latex, subtitle, name_parts, place=4, controls=CONTROLS))
