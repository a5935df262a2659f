"""Conflict at recorded steps by layer and step: the cosine of the batch gradient g and the memory gradient ĝ_s."""

import numpy as np
import pandas as pd

from mgem_core.analysis.aggregate import View
from mgem_core.figures import Figure, PrintedFigure, _print, _recorded, frontier, register
from mgem_core.figures.page import ONE_COLUMN, Page
from mgem_core.figures.selection import Selection
from mgem_core.figures.style import pair_title
from mgem_core.lens.conflicts import layer_cosines
from mgem_core.lens.steps import steps_of

ROOM, ROW = 10, 0.16  # layers that fit in a figure of the usual height; height of each further one, in inches
MOST_TICKS = 6


def data(selection: Selection) -> pd.DataFrame:
    """Return a row per layer, task and recorded step: the mean cosine over the pairs of the view, then over seeds."""
    recorded = _recorded.read(selection)
    names = [layer.name for layer in recorded.recordings[0].layers]
    rows = []
    for recording in recorded.recordings:
        for task in sorted({t for _, t in recorded.pairs}):
            steps = steps_of(recording, task)
            cosines = np.mean([layer_cosines(steps, s) for s, t in recorded.pairs if t == task], axis=0)
            rows += [
                (layer, number, task + 1, step, cosine)
                for step, of_step in zip(steps.steps.tolist(), cosines.tolist(), strict=True)
                for number, (layer, cosine) in enumerate(zip(names, of_step, strict=True))
            ]
    frame = pd.DataFrame(rows, columns=["layer", "number", "task", "step", "cosine"])
    found = frame.groupby(["number", "layer", "task", "step"], as_index=False)["cosine"].agg(["mean", "count"])
    found = found.rename(columns={"mean": "cosine", "count": "seeds"}).drop(columns="number")
    return found.assign(recorded=recorded.title, recorded_seeds=len(recorded.recordings))


def tidy(rows: pd.DataFrame, view: View) -> pd.DataFrame:
    return _recorded.tidy(rows, view).drop(columns="axes")


@_print.printing()
def printed(rows: pd.DataFrame, view: View, page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw a heat map of layers, from top to bottom, and recorded steps, from left to right."""
    from matplotlib.figure import Figure

    layers = list(dict.fromkeys(rows["layer"]))
    table = rows.pivot(index="layer", columns=["task", "step"], values="cosine").loc[layers]
    table = table.sort_index(axis=1)
    figure = Figure((page.width, page.height + ROW * max(0, len(layers) - ROOM)), layout="constrained")
    several = rows["task"].nunique() > 1
    axes = figure.add_subplot(xlabel="task: step" if several else f"step of task {rows['task'].iloc[0]}")
    largest = float(np.nanmax(np.abs(table.to_numpy(float)), initial=1e-9))
    image = axes.imshow(table, cmap="RdBu", vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest")
    axes.set_yticks(range(len(layers)), [".".join(layer.split(".")[-2:]) for layer in layers])
    columns = list(table.columns)
    places = range(0, len(columns), -(-len(columns) // MOST_TICKS))
    axes.set_xticks(places, [f"{t}: {step}" if several else f"{step}" for t, step in (columns[i] for i in places)])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, label=r"cosine of $g$ and $\hat g_s$  (red: conflict)", fraction=0.06, aspect=25)
    bar.outline.set_visible(False)
    _print.draw_title(figure, page, f"Conflict {_recorded.title(rows)}")
    return figure


def subtitle(rows: pd.DataFrame, view: View) -> str:
    return f"{_recorded.title(rows)} · {pair_title(view)} · red: g and ĝ_s conflict"


register(
    Figure(
        "conflict",
        "Conflict by layer and step",
        data,
        tidy=tidy,
        printed=printed,
        subtitle=subtitle,
        name_parts=frontier.pair_parts,
        has_data=_recorded.has_data,
    )
)
