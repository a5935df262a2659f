"""R as heat maps: row i, column j is the accuracy on task j after task i, in percent."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mgem_core.analysis import aggregate, measurements
from mgem_core.analysis.aggregate import View
from mgem_core.errors import UsageError
from mgem_core.figures import Figure, PrintedFigure, _latex, _print, register
from mgem_core.figures.page import ONE_COLUMN, Page
from mgem_core.figures.selection import Selection

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from matplotlib.axes import Axes

Matrices = dict[str, tuple[np.ndarray, list[int]]]  # name → R, and the runs that it is the mean of
PANELS = 12  # at most this many heat maps in one picture
DENSE = 10  # heat maps of up to this many tasks have numbers in their cells
NO_BREAK = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"  # so that a title is not wrapped within "q = 0.5"
HOVER_WIDTH = 34  # characters; the names of tasks must fit on the screen of a phone


def has_data(selection: Selection) -> bool:
    runs = [run for run, _, status in selection.candidates() if selection.sweep is None or status == "finished"]
    return selection.store.has_events(runs, "TaskLearned")


def data(selection: Selection) -> pd.DataFrame:
    """Return a row per entry of R: for a sweep, of each configuration's mean over finished seeds; otherwise of each run.

    The name of a task is missing if it is unknown or differs between seeds.
    """
    runs, view = selection.runs(), selection.view
    measured = measurements.read_measurements(selection.store, runs["id"].tolist())
    points = aggregate.points(runs, measured, view).assign(configuration=runs["configuration"].unique())
    point_of = {point["configuration"]: point for point in aggregate.by_line(points).to_dict("records")}
    matrix_of = {run: measurement.R[: view.after] for run, measurement in measured.items()}
    matrices = (_of_runs if selection.sweep is None else _of_configurations)(runs, point_of, matrix_of)
    task_names = selection.store.task_names(runs["id"].tolist())
    entries = [
        (name, len(ids), i + 1, j + 1, _shared_name(j, [task_names[run] for run in ids]), accuracy)
        for name, (R, ids) in matrices.items()
        if not np.isnan(R).all()
        for (i, j), accuracy in np.ndenumerate(R)
    ]
    if not entries:
        raise UsageError(f"nothing to show yet: no run has {'learned a task' if selection.sweep is None else 'finished'}.")
    return pd.DataFrame(entries, columns=["name", "runs", "after_task", "on_task", "on_task_name", "accuracy"])


def _shared_name(task: int, names: Sequence[Sequence[str]]) -> str | None:
    """Return the name of a task if it is the same in all lists, otherwise None."""
    found = {one[task] if one else None for one in names}
    return found.pop() if len(found) == 1 else None


def _of_runs(runs: pd.DataFrame, point_of: dict[str, Any], matrix_of: dict[int, np.ndarray]) -> Matrices:
    return {
        f"r{run}: {aggregate.title(point_of[configuration])}, seed {seed}": (matrix_of[run], [run])
        for run, configuration, seed in runs[["id", "configuration", "seed"]].itertuples(index=False)
    }


def _of_configurations(runs: pd.DataFrame, point_of: dict[str, Any], matrix_of: dict[int, np.ndarray]) -> Matrices:
    """Average R over the seeds without missing rows; if there are none, over all seeds, with missing rows in the mean."""
    matrices: Matrices = {}
    finished = runs[runs["status"] == "finished"]
    for configuration, point in point_of.items():
        seeds = finished[finished["configuration"] == configuration]
        title = aggregate.title(point)
        name = f"{title} [{point['key']}]" if title in matrices else title
        known = [run for run in seeds["id"] if matrix_of[run].size]
        counted = [run for run in known if not np.isnan(matrix_of[run]).any()] or known
        if counted:
            matrices[name] = np.mean([matrix_of[run] for run in counted], axis=0), counted
    return matrices


def _split(data: pd.DataFrame) -> dict[str, np.ndarray]:
    """Rebuild each R from the rows of the data, by name."""
    return {
        str(name): rows["accuracy"].to_numpy().reshape(rows["after_task"].max(), -1)
        for name, rows in data.groupby("name", sort=False)
    }


def _task_names(data: pd.DataFrame) -> dict[str, list[str]]:
    """Return the names of the tasks of each R; a missing name is empty."""
    return {
        str(name): rows.drop_duplicates("on_task")["on_task_name"].fillna("").tolist()
        for name, rows in data.groupby("name", sort=False)
    }


def _first_panels(data: pd.DataFrame) -> tuple[dict[str, np.ndarray], str]:
    """Return the matrices that fit in one picture, and a title if some are left out."""
    matrices = _split(data)
    title = f"the first {PANELS} of {len(matrices)} configurations" if len(matrices) > PANELS else ""
    return dict(list(matrices.items())[:PANELS]), title


def screen(data: pd.DataFrame, view: View) -> go.Figure:
    matrices, title = _first_panels(data)
    figure = heat_maps(matrices, _task_names(data))
    return figure.update_layout(title=title, margin_t=70) if title else figure


def heat_maps(matrices: Mapping[str, np.ndarray], task_names: Mapping[str, Sequence[str]]) -> go.Figure:
    """Draw heat maps (title → R) side by side on one colour scale; known names of tasks are shown on hover."""
    from plotly.subplots import make_subplots

    columns = min(4, len(matrices))
    rows = -(-len(matrices) // columns)
    spacing = {"horizontal_spacing": 0.06, "vertical_spacing": 0.25 / rows}
    figure = make_subplots(rows, columns, subplot_titles=list(matrices), **spacing)
    for number, (title, R) in enumerate(matrices.items()):
        tasks = R.shape[1]
        ticks = [f"{i + 1}" for i in range(tasks)]
        figure.add_heatmap(
            **{"z": R, "x": ticks, "y": ticks[: len(R)], "coloraxis": "coloraxis", "hoverongaps": False},
            texttemplate="%{z:.0f}" if tasks <= DENSE else "",
            hovertext=_hover_texts(R, task_names[title]),
            hovertemplate="%{hovertext}<br>%{z:.2f} %<extra></extra>",
            row=number // columns + 1,
            col=number % columns + 1,
        )
    figure.update_yaxes(autorange="reversed", type="category", title_text="after task", title_standoff=2)
    figure.update_xaxes(type="category", title_text="accuracy on task", title_standoff=2)
    scale = {"colorscale": "Viridis", "colorbar": {"title": "%"}}
    return figure.update_layout(
        template="plotly_white", coloraxis=scale, margin={"l": 50, "r": 10, "t": 30, "b": 45}, height=40 + 290 * rows
    )


def _hover_texts(R: np.ndarray, names: Sequence[str]) -> list[list[str]]:
    """Describe each entry of R: on which task, and after which."""
    titles = [f"task {j + 1}" for j in range(R.shape[1])]
    for j, name in enumerate(names):
        if name:
            titles[j] = "<br>".join(textwrap.wrap(f"task {j + 1} · {name}", HOVER_WIDTH))
    return [[f"{on}<br>after {after}" for on in titles] for after in titles[: len(R)]]


@_print.printing()
def printed(data: pd.DataFrame, view: View, page: Page = ONE_COLUMN) -> PrintedFigure:
    """Draw heat maps on one colour scale, with numbers in the cells if there is space."""
    from matplotlib.figure import Figure

    matrices, title = _first_panels(data)
    tasks = max(R.shape[1] for R in matrices.values())
    columns = min(page.columns + (2 if tasks <= 5 else 1), len(matrices))
    rows = -(-len(matrices) // columns)
    panel = (page.width - 1) / columns  # labels and the colour scale take an inch
    size = min(7.0, 0.5 * 72 * panel / tasks)
    titles = [textwrap.fill(name.replace(" = ", NO_BREAK), round(19 * panel)) for name in matrices]
    more_rows = max(title.count("\n") for title in titles)
    figure = Figure((page.width, 0.4 + rows * (panel + 0.34 + 0.1 * more_rows)), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    if title:
        figure.suptitle(title, fontsize=8)
    every = np.concatenate([R.ravel() for R in matrices.values()])
    low, high = np.nanmin(every), np.nanmax(every)
    for axes, panel_title, R in zip(grid.flat, titles, matrices.values(), strict=False):
        image = axes.imshow(R, cmap="viridis", vmin=low, vmax=high, interpolation="nearest")
        axes.set_title(panel_title, fontsize=7)
        _draw_ticks(axes, R)
        if tasks <= DENSE and size >= _print.SMALLEST:
            _draw_numbers(axes, R, (low + high) / 2, size)
    for axes in grid.flat[len(matrices) :]:
        axes.set_visible(False)
    figure.supxlabel("accuracy on task $j$", fontsize=8)
    figure.supylabel("after task $i$", fontsize=8)
    bar = figure.colorbar(image, ax=grid, label="accuracy (%)", fraction=0.05, aspect=25)
    bar.outline.set_visible(False)
    return figure


def _draw_ticks(axes: Axes, R: np.ndarray) -> None:
    """Label the axes with task numbers, counted from 1."""
    for axis, count in ((axes.xaxis, R.shape[1]), (axes.yaxis, R.shape[0])):
        places = range(0, count, -(-count // DENSE))
        axis.set_ticks(places, [f"{place + 1}" for place in places])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_numbers(axes: Axes, R: np.ndarray, middle: float, size: float) -> None:
    """Write percentages into the cells."""
    for (i, j), value in np.ndenumerate(R):
        if not np.isnan(value):
            color = "white" if value < middle else "black"
            rounded = f"{np.floor(value + 0.5):.0f}"  # rounds 72.5 to 73, as plotly does on the screen
            axes.text(j, i, rounded, ha="center", va="center", fontsize=size, color=color, in_layout=False)


def latex(data: pd.DataFrame, view: View, source: str) -> str:
    matrices = _split(data)
    groups = [
        [[_latex.escape(name) if i == 0 else "", f"{i + 1}", *map(_latex.percent, row)] for i, row in enumerate(R)]
        for name, R in matrices.items()
    ]
    head = ["configuration", "after task", *(f"on {j + 1}" for j in range(data["on_task"].max()))]
    mean = ", mean over finished seeds" if (data["runs"] > 1).any() else ""
    return _latex.tabular(f"{source}: accuracy in percent{mean}", head, groups)


register(Figure("matrix", "R heat maps", data, screen=screen, printed=printed, latex=latex, has_data=has_data))
