"""Memory against truth at recorded steps: ⟨ĝ_s,z⟩ on the memory and ⟨g_s,z⟩ on the whole past task, over the strength."""

import numpy as np
import pandas as pd

from mgem_core.analysis.aggregate import View
from mgem_core.figures import Figure, PrintedFigure, _print, _recorded, frontier, register
from mgem_core.figures._legend import draw_legend
from mgem_core.figures.page import ONE_COLUMN, Page
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import line_styles, pair_title
from mgem_core.lens.seed_curves import CURVATURE, KEEPS, MEMORY, strength_grid

ROUND = (0.1, 0.3, 1, 3, 10)  # strengths at which the axis has ticks, times a power of ten
TITLES = {
    "raw": r"$\langle\cdot, z\rangle$",
    "unit": r"$\langle\cdot, z\rangle\,/\,\Vert z\Vert$",
    "cosine": r"$\langle\cdot, z\rangle\,/\,\Vert g_s\Vert\Vert z\Vert$",
}


def data(selection: Selection) -> pd.DataFrame:
    """Return a row per line and strength: both products, means and standard errors over seeds."""
    recorded = _recorded.read(selection)
    measures = {"gs_z": KEEPS, "memory_z": MEMORY}
    return _recorded.over_strengths(recorded, selection.view, strength_grid(recorded.recordings), measures)


def position(q: pd.Series | np.ndarray, largest: float) -> np.ndarray:
    """Return places from 0 to 1 on the scale of `strength_grid`."""
    return np.asarray(np.log1p(np.asarray(q, float) * CURVATURE / largest) / np.log1p(CURVATURE))


def ticks(largest: float) -> dict[float, str]:
    """Return place → label of round strengths."""
    power = 10.0 ** np.floor(np.log10(largest / 29.9))
    strengths = np.array([0.0, *(power * np.array([*ROUND, 30]))])
    strengths = strengths[strengths <= 1.001 * largest]
    return dict(zip(position(strengths, largest).tolist(), [f"{q:.3g}" for q in strengths], strict=True))


@_print.printing()
def printed(rows: pd.DataFrame, view: View, page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw two curves per line over the strength: solid for the past task, dashed for its memory."""
    from matplotlib.lines import Line2D

    figure, axes = _print.one_axes(page, "memory strength $q$", TITLES[view.axes])
    largest, styles = rows["q"].max(), line_styles(rows)
    rows = rows.assign(place=position(rows["q"], largest))
    for line, (color, _, _) in styles.items():
        of_line = rows[rows["line"] == line]
        axes.plot(of_line["place"], of_line["gs_z"], color=color, lw=1.1, zorder=2.2)
        axes.plot(of_line["place"], of_line["memory_z"], color=color, lw=0.9, ls="--", zorder=2.1)
    marks = ticks(largest)
    axes.set_xticks(list(marks), list(marks.values()))
    joined = {  # both curves of a line in one, so that lines are joined only if both coincide
        line: np.concatenate([truth, memory[::-1]])
        for (line, truth), memory in zip(
            _recorded.curves_of(rows, ("place", "gs_z")).items(),
            _recorded.curves_of(rows, ("place", "memory_z")).values(),
            strict=True,
        )
    }
    solid = {line: style._replace(linestyle="-") for line, style in styles.items()}
    handles = _recorded.legend_handles(joined, solid, axes, page)
    kinds = {"past task ($g_s$)": "-", r"memory ($\hat g_s$)": "--"}
    handles += [Line2D([], [], color="#404040", lw=1.1, ls=style, label=name) for name, style in kinds.items()]
    _print.draw_title(figure, page, "Memory against the past task", _recorded.title(rows))
    draw_legend(figure, handles, page)
    return figure


def subtitle(rows: pd.DataFrame, view: View) -> str:
    return f"{_recorded.title(rows)} · {pair_title(view)} · dashed: on the memory"


register(
    Figure(
        "memory",
        "Memory against truth",
        data,
        tidy=_recorded.tidy,
        printed=printed,
        has_legend=True,
        subtitle=subtitle,
        name_parts=frontier.name_parts,
        has_data=_recorded.has_data,
    )
)
