"""The controls of a sweep: stop or resume, and the choice of the view of its other figures."""

from dataclasses import replace
from typing import Any

import runner_process
import session
import streamlit as st
from text import benchmark_title

from explore.page_selection import select_sweep
from mgem_core.analysis.aggregate import Axes, Cells, Difference, Errors, Gradient, Measure, View, default_baseline
from mgem_core.figures import sweep_plots
from mgem_core.store import Store
from mgem_core.text import pluralize

GRADIENTS: dict[Gradient, str] = {"full": "training set", "batch": "batch"}
AXES: dict[Axes, str] = {"unit": "per ‖z‖", "raw": "raw", "cosine": "cosine"}
ERRORS: dict[Errors, str] = {"between": "over seeds", "within": "within seeds", "seeds": "every seed", "none": "none"}
ERRORS_HELP = (
    "Within seeds, what all configurations of a seed share is removed: it says nothing about their differences. Every seed "
    "is a faint line of its own."
)
MEASURES: dict[Measure, str] = {"acc": "ACC", "fwd": "FWD", "bwd": "BWD", "x": "⟨g_s,z⟩", "y": "⟨g_t,z⟩"}
CELLS: dict[Cells, str] = {"differences": "differences to the baseline", "values": "values"}
DIFFERENCES: dict[Difference, str] = {
    "retention": "learned at equal retention",
    **{"acc": "ACC at equal strengths", "fwd": "FWD at equal strengths", "bwd": "BWD at equal strengths"},
    "best": "ACC at the best strength",
}
IN_URL: dict[str, Any] = {"bind": "query-params"}


def stop_sweep(store: Store, sweep: int) -> None:
    store.cancel(store.run_ids(sweep))
    session.queue_toast("Stopping. Finished runs keep their results.")


def resume_sweep(store: Store, sweep: int) -> None:
    store.resume(store.run_ids(sweep))
    runner_process.wake_runner()


def stop_or_resume(store: Store, sweep: int, counts: dict[str, int]) -> dict[str, str] | None:
    """Return the button that stops or resumes the runs: its name, title and help; None if all have finished."""
    others = len(store.requested_with_other_code(sweep=sweep)) if counts["queued"] else 0
    if counts["running"] or counts["queued"] > others:
        help = "Cancel the runs that have not ended. Finished runs keep their results."
        return {"name": "stop", "title": "Stop", "help": help}
    if stopped := counts["cancelled"] + counts["failed"] + others:
        help = f"Continue the runs that were stopped, failed, or wait for other code: {pluralize(stopped, 'run')}."
        return {"name": "resume", "title": "Resume", "help": help}
    return None


def choose_view(store: Store, sweep: int) -> tuple[View, list[str]]:
    """Let the user choose the view and the plots; all choices are stored in the URL."""
    available = sweep_plots()
    options: dict[str, Any] = {"format_func": lambda name: available[name].title, "selection_mode": "multi"}
    chosen = st.pills("Plots", list(available), default=list(available)[:2], key="plots", **options, **IN_URL)
    plots = [name for name in available if name in chosen]
    controls = {name for plot in plots for name in available[plot].controls}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        view = _choose_measurements(_tasks_by_benchmark(store, sweep))
        errors = _choose("Error bars", ERRORS, "errors", 150, ERRORS_HELP)
        view = replace(view, errors=errors, baseline=_choose_baseline(store, sweep, view))
        if "measure" in controls:
            view = replace(view, measure=_choose("Measure", MEASURES, "measure", 120))
        if "cells" in controls:
            view = replace(view, cells=_choose("Cells of the map", CELLS, "cells", 230))
        if "difference" in controls:
            view = replace(view, difference=_choose("Difference per seed", DIFFERENCES, "difference", 230))
        help = "Show only the points that no other dominates in the frontier."
        view = replace(view, hide_dominated=st.toggle("Hide dominated", key="front", help=help, **IN_URL))
        if session.read_runs(store, sweep)["validation_acc"].notna().any():
            help = (
                "In the table, show of each line only the strength with the highest accuracy on held-out training images."
            )
            if st.toggle("Best by validation", key="best", help=help, **IN_URL):
                view = replace(view, strengths="validation")
    return view, plots


def _choose(label: str, titles: dict[Any, str], key: str, width: int, help: str | None = None) -> Any:
    return st.selectbox(label, list(titles), format_func=titles.__getitem__, key=key, width=width, help=help, **IN_URL)


def _choose_measurements(tasks_of: dict[str, int]) -> View:
    """Let the user choose the benchmark and the measurements to show."""
    benchmark = next(iter(tasks_of))
    if len(tasks_of) > 1:
        options: dict[str, Any] = {"format_func": benchmark_title, "key": "on", "width": 260}
        benchmark = st.selectbox("Benchmark", list(tasks_of), **options, **IN_URL)
    help = "Raw inner products grow with the length of z; divided by ‖z‖, those of different methods can be compared."
    options = {"format_func": AXES.__getitem__, "default": "unit", "required": True, "help": help}
    axes: Axes = st.segmented_control("Axes", list(AXES), key="axes", **options, **IN_URL) or "unit"  # for "?axes="
    help = "y is the inner product of z with the gradient on the new task's training set (by default, on 400 images of it, "
    help += "drawn again at each probed step), or on the batch of the step."
    options = {"format_func": GRADIENTS.__getitem__, "default": "full", "required": True, "help": help}
    chosen = st.segmented_control("Gradient of the new task", list(GRADIENTS), key="gradient", **options, **IN_URL)
    gradient: Gradient = chosen or "full"
    tasks = tasks_of[benchmark]
    pairs = {f"{s + 1} → {t + 1}": (s, t) for t in range(1, tasks) for s in range(t)}
    pair, after = "mean", tasks
    if tasks > 1:
        pair = st.selectbox("Old → new task", [*pairs, "mean"], key="pair", width=130, **IN_URL)
        help = "Show the plots and the table as they were after this many tasks."
        after = st.slider("After task", 1, tasks, tasks, key="after", width=220, help=help, **IN_URL)
    return View(benchmark, axes, pairs.get(pair), None if after == tasks else after, gradient)


def _choose_baseline(store: Store, sweep: int, view: View) -> str:
    """Let the user choose the line that others are compared with, unless there is only one line."""
    rows = select_sweep(store, sweep, view).runs_to_compare()
    lines, default = list(dict.fromkeys(rows["line"])), default_baseline(rows)
    if len(lines) < 2:
        return default
    help = "The line that the others are compared with. Runs are compared with runs of the same seed only."
    return str(st.selectbox("Compare with", lines, lines.index(default), key="baseline", width=200, help=help, **IN_URL))


def _tasks_by_benchmark(store: Store, sweep: int) -> dict[str, int]:
    """Return the benchmarks of a sweep, each with its largest number of tasks."""
    tasks = session.read_runs(store, sweep).groupby("benchmark", sort=False)["tasks"].max()
    return {name: int(most) for name, most in tasks.items()}
