"""The curves and accuracy matrices of the selected runs."""

from collections.abc import Sequence
from typing import Any

import components
import numpy as np
import pandas as pd
import streamlit as st
from text import escape_markdown

from mgem_core.analysis import frames
from mgem_core.figures.matrices import heat_maps
from mgem_core.figures.run_curves import draw_curves, mark_tasks
from mgem_core.store import ENDED, Store
from mgem_core.text import MISSING, tasks_in_order

PLOT_HEIGHT, PLOT_WIDTH = 280, 320  # plots that would be narrower (in pixels) are stacked
MATRICES_IN_ROW = 4
QUANTITIES = {"loss": "loss", "violated": "violated constraints (%)", "ms": "time per step (ms)"}


def show_curves(store: Store, runs: dict[str, dict[str, Any]], matrices: dict[str, np.ndarray]) -> None:
    """Plot loss, violated constraints and time against steps, and mean accuracy against tasks, with all runs in each."""
    series = {name: read_steps(store, run["id"]) for name, run in runs.items()}
    iterations = {name: int(run["iterations"]) for name, run in runs.items()}
    if not any(len(frame) for frame in series.values()):
        is_active = any(run["status"] not in ENDED for run in runs.values())
        no_steps = "There are no curves, because no training step was recorded."
        st.info("Curves appear after the first steps." if is_active else no_steps)
        return
    figures = {title: draw_curves(series, name, title, iterations) for name, title in QUANTITIES.items()}
    for figure in figures.values():
        mark_tasks(figure, list(iterations.values()))
    if is_wide_range(pd.concat([frame["loss"] for frame in series.values() if len(frame)])):
        figures["loss"].update_yaxes(type="log")
    accuracies = {name: mean_accuracies(R) for name, R in matrices.items()}
    over_tasks = draw_curves(accuracies, "acc", "%", dict.fromkeys(matrices, 1))
    over_tasks.update_xaxes(title_text="tasks learned", dtick=max(1, max(map(len, matrices.values())) // 10))
    over_tasks.update_traces(mode="lines+markers")
    figures["mean accuracy so far (%)"] = over_tasks
    grid = st.grid(2, min_column_width=PLOT_WIDTH)
    for number, (title, figure) in enumerate(figures.items()):
        figure.update_layout(showlegend=False).update_yaxes(title_text=title)
        description = f"{title} of {', '.join(runs)}"
        with grid.cell():
            components.show_plot(figure, f"curve {number}", description, height=PLOT_HEIGHT, revision=" ".join(runs))


def read_steps(store: Store, run: int) -> pd.DataFrame:
    """Return the recorded steps of a run, with violations in percent and times in milliseconds."""
    frame = frames.series(store, run, "Stepped")
    return frame if frame.empty else frame.assign(violated=100 * frame["violated"], ms=1000 * frame["seconds_per_step"])


def is_wide_range(values: pd.Series) -> bool:
    """Return whether the largest value would hide all others, as in a run that diverges."""
    positive = values[values > 0]
    return bool(len(positive)) and bool(positive.max() > 100 * positive.median())


def mean_accuracies(R: np.ndarray) -> pd.DataFrame:
    """Return, after each task, the mean accuracy on the tasks learned so far; NaN where a row of R is missing."""
    means = [float(R[task, : task + 1].mean()) for task in range(len(R))]
    return pd.DataFrame({"task": range(len(means)), "step": 1, "acc": means})


def show_matrices(runs: dict[str, dict[str, Any]], matrices: dict[str, np.ndarray]) -> None:
    """Show a heat map of R per run, all on one scale, with the names of the tasks (once if all runs share them)."""
    known = {name: R for name, R in matrices.items() if not np.isnan(R).all()}
    if not known:
        return
    low, high = min(np.nanmin(R) for R in known.values()), max(np.nanmax(R) for R in known.values())
    task_names = {name: runs[name]["task_names"] or [] for name in known}
    are_shared = len(set(map(tuple, task_names.values()))) == 1
    st.markdown("**Accuracy matrix R** · accuracy on every task (column) after learning each task (row), %")
    if are_shared:
        show_task_names(next(iter(task_names.values())))
    grid = st.grid(min(MATRICES_IN_ROW, len(known)))
    for name, R in known.items():
        figure = heat_maps({name: R}, task_names).update_coloraxes(cmin=low, cmax=high, colorbar_thickness=10)
        with grid.cell():
            description = f"R of {name}: {describe_matrix(R, task_names[name])}"
            components.show_plot(figure, f"R {name}", description, height=330)
            if not are_shared:
                show_task_names(task_names[name])


def show_task_names(names: Sequence[str]) -> None:
    if names:
        st.caption(escape_markdown(tasks_in_order(names)))


def describe_matrix(R: np.ndarray, task_names: Sequence[str]) -> str:
    """Describe R for screen readers: one row per task, in whole percent; missing values are dashes."""
    rows = [", ".join(MISSING if np.isnan(value) else f"{value:.0f}" for value in row) for row in R]
    return "; ".join(f"after {task_names[i]}: {row}" if task_names else row for i, row in enumerate(rows))
