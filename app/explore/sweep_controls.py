"""The controls above a sweep's results: which sweep, stop and resume, and which view of it."""

from typing import Any

import runner_process
import session
import streamlit as st
from text import benchmark_title, quote

from explore.selection import clear_selection
from mgem_core.analysis import ERRORS, Axes, Errors, Gradient, View
from mgem_core.store import Store
from mgem_core.text import pluralize

STOP_WIDTH = 90  # pixels
GRADIENTS: dict[Gradient, str] = {"full": "training set", "batch": "batch"}
AXES: dict[Axes, str] = {"unit": "per ‖z‖", "raw": "raw", "cosine": "cosine"}


def choose_sweep(sweeps: dict[int, dict[str, Any]]) -> int:
    """The sweep in the URL, or else the newest one."""
    in_url = st.query_params.get("sweep", "")
    sweep = session.parse_id(in_url, "s")
    if sweep not in sweeps:
        sweep = next(iter(sweeps))
        if in_url:
            st.warning(f"There is no sweep {quote(in_url)} in this store; this is the newest one.")
    if in_url != f"s{sweep}":
        session.put_in_url("sweep", [f"s{sweep}"])
    st.session_state["sweep"] = sweep

    def follow_choice() -> None:
        session.put_in_url("sweep", [f"s{st.session_state['sweep']}"])
        clear_selection()

    def title(sweep: int) -> str:
        return f"{sweeps[sweep]['name']} · s{sweep} · {pluralize(sweeps[sweep]['runs'], 'run')}"

    options: dict[str, Any] = {"format_func": title, "key": "sweep", "on_change": follow_choice}
    st.selectbox("Sweep", list(sweeps), label_visibility="collapsed", **options)
    return sweep


@session.explain_errors
def _stop(store: Store, sweep: int) -> None:
    if store.is_current():
        store.cancel(store.run_ids(sweep))
        session.queue_toast("Stopping. Finished runs keep their results.")


@session.explain_errors
def _resume(store: Store, sweep: int) -> None:
    if store.is_current():
        store.resume(store.run_ids(sweep))
        runner_process.wake_runner()


def show_stop_or_resume(store: Store, sweep: int, counts: dict[str, int]) -> None:
    """A button, given how many runs have each status; in a place of fixed width, so that nothing moves when they end."""
    options: dict[str, Any] = {"args": (store, sweep), "width": "stretch"}
    with st.container(width=STOP_WIDTH, horizontal_alignment="center"):
        if counts["running"] or counts["queued"]:
            help = "Cancel the runs that have not ended. Finished runs keep their results."
            st.button("Stop", on_click=_stop, help=help, **options)
        elif stopped := counts["cancelled"] + counts["failed"]:
            help = f"Continue the runs that were stopped or failed: {pluralize(stopped, 'run')}."
            st.button("Resume", on_click=_resume, help=help, **options)
        else:
            st.markdown("Finished", width="content")


def choose_view(store: Store, sweep: int) -> tuple[View, bool]:
    """What the results show, and whether dominated points are hidden; every choice is in the URL."""
    tasks_of = _tasks_by_benchmark(store, sweep)
    in_url: dict[str, Any] = {"bind": "query-params"}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        benchmark = next(iter(tasks_of))
        if len(tasks_of) > 1:
            options: dict[str, Any] = {"format_func": benchmark_title, "key": "on", "width": 260}
            benchmark = st.selectbox("Benchmark", list(tasks_of), **options, **in_url)
        help = "Raw inner products grow with the length of z; divided by ‖z‖, those of different methods can be compared."
        options = {"format_func": AXES.__getitem__, "default": "unit", "required": True, "help": help}
        axes: Axes = st.segmented_control("Axes", list(AXES), key="axes", **options, **in_url) or "unit"  # for ?axes=
        help = "y is the inner product of z with the gradient on the new task's training set, or on the batch of the step."
        options = {"format_func": GRADIENTS.__getitem__, "default": "full", "required": True, "help": help}
        chosen = st.segmented_control("Gradient of the new task", list(GRADIENTS), key="gradient", **options, **in_url)
        gradient: Gradient = chosen or "full"
        tasks = tasks_of[benchmark]
        pairs = {f"{s + 1} → {t + 1}": (s, t) for t in range(1, tasks) for s in range(t)}
        pair, after = "mean", tasks
        if tasks > 1:
            pair = st.selectbox("Old → new task", [*pairs, "mean"], key="pair", width=130, **in_url)
            help = "Show the plots and the table as they were after this many tasks."
            after = st.slider("After task", 1, tasks, tasks, key="after", width=220, help=help, **in_url)
        help = "Within seeds, what all configurations of a seed share is removed: it says nothing about their differences."
        errors: Errors = st.selectbox("Error bars", ERRORS, key="errors", width=150, help=help, **in_url)
        hide_dominated = st.toggle("Hide dominated", key="front", **in_url)
    return View(benchmark, axes, pairs.get(pair), None if after == tasks else after, gradient, errors), hide_dominated


def _tasks_by_benchmark(store: Store, sweep: int) -> dict[str, int]:
    """The benchmarks of a sweep, each with its largest number of tasks."""
    tasks = session.read_runs(store, sweep).groupby("benchmark", sort=False)["tasks"].max()
    return {name: int(most) for name, most in tasks.items()}
