"""The results of a sweep, while it runs and after: progress, two plots, a summary in words, and the table."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast
from urllib.parse import urlencode

import components
import pandas as pd
import runner_process
import session
import streamlit as st
from text import abbreviate, escape_markdown

from explore.configuration_table import COLUMNS, table_rows
from explore.selection import mark_rows, select_points
from explore.verdicts import show_verdicts
from mgem_core import measurements
from mgem_core.analysis import View
from mgem_core.figures import PlainFigure, frontier, transfer
from mgem_core.figures.style import axis_titles, error_title, pair_title
from mgem_core.learners import METHOD_OF_FAMILY, shares_network
from mgem_core.progress import SweepProgress, sweep_progress
from mgem_core.runner.work import default_workers
from mgem_core.store import Store
from mgem_core.text import duration, pluralize

MOST_ERRORS = 3  # shown without a click
PLOT_WIDTH = 320  # pixels below which the plots are stacked


def show_results(store: Store, sweep: int, view: View, hide_dominated: bool) -> None:
    runs = session.read_runs(store, sweep)
    points = _read_points(store, sweep, runs, view)
    if view.gradient == "full" and points["y"].isna().all() and points["x"].notna().any():
        st.info("An older version measured these runs on the batch alone, so the frontier shows the batch's gradient.")
        view = replace(view, gradient="batch")
        points = _read_points(store, sweep, runs, view)
    selected, marked = (session.url_selection(name, set(points["key"])) for name in ("chosen", "marked"))
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container():
            show_progress(store, sweep, runs)
        with st.container(width="content"):
            show_share_menu()
    seeds = pluralize(int(points["seeds"].max()), "shared seed") if len(points) else ""
    grid, subject = st.grid(2, min_column_width=PLOT_WIDTH), f"{sweep} {view.benchmark}"
    with grid.cell():
        st.markdown(f"**Frontier** · {pair_title(view)} · {seeds}, {error_title(view)}")
        if points["x"].notna().any():
            x, y = axis_titles(view)
            figure = frontier.screen(points, view, hide_dominated, marked)
            revision = f"{subject} {view.axes} {view.pair} {view.gradient}"
            _show_plot(figure, "frontier", f"{y} against {x}, a line per method", selected, revision)
        else:
            show_reason_for_no_points(runs, view, "Points appear once a run has taken measurements in its second task.")
    with grid.cell():
        st.markdown(f"**Transfer** · dashed: equal ACC · {seeds}, {error_title(view)}")
        if points["fwd"].notna().any():
            figure = transfer.screen(points, view, marked)
            _show_plot(figure, "transfer", "FWD against BWD, a line per method", selected, subject)
        else:
            show_reason_for_no_points(runs, view, "Points appear once a run has learned its first task.")
    show_lines_without_points(points)
    show_verdicts(store, sweep, runs, view)
    show_table(points, selected, marked)


def show_lines_without_points(points: pd.DataFrame) -> None:
    """Say why a method is in neither plot."""
    families = dict(zip(points["line"], points["family"], strict=True))
    lines = [line for line, family in families.items() if not shares_network(METHOD_OF_FAMILY.get(family, ""))]
    if lines:
        reason = "Tasks that share no network can neither keep nor lose anything; the table has the results."
        st.caption(f"Not in the plots: {', '.join(lines)}. {reason}")


def _read_points(store: Store, sweep: int, runs: pd.DataFrame, view: View) -> pd.DataFrame:
    cache = session.measurement_cache()
    points = session.read_once("points", store, (sweep, view), lambda: measurements.points(store, runs, view, cache))
    return cast("pd.DataFrame", points)


def _show_plot(figure: PlainFigure, key: str, description: str, selected: list[str], revision: str) -> None:
    components.show_plot(figure, key, description, selected, select_points, revision)


def show_table(points: pd.DataFrame, selected: list[str], marked: list[str]) -> None:
    """The selected configurations, or all."""
    shown = points[points["key"].isin(selected)] if selected else points
    if selected:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(shown)} of {len(points)} configurations, as selected in the plots.")
            st.button("Show all", type="tertiary", on_click=select_points, args=([],))
    description = "ACC, FWD and BWD of every configuration"
    components.show_table(COLUMNS, table_rows(shown), "table", description, marked, mark_rows)


def show_progress(store: Store, sweep: int, runs: pd.DataFrame) -> None:
    """The progress bar, and what went wrong."""
    progress = sweep_progress(store, sweep)
    st.progress(progress.share, " · ".join(describe_progress(progress, lambda: store.counts()["running"] > 0)))
    if progress.ended < progress.total and (problem := runner_process.keep_runner_alive()):
        st.error(escape_markdown(problem))
    errors = [
        f"{escape_markdown(str(error))} ({abbreviate([f'r{run}' for run in failed['id']], 8)})"
        for error, failed in runs.dropna(subset=["error"]).groupby("error")
    ]
    for sentence in errors[:MOST_ERRORS]:
        st.warning(sentence)
    if rest := errors[MOST_ERRORS:]:
        st.expander(f"{pluralize(len(rest), 'more error')}").markdown("\n\n".join(rest))


def describe_progress(progress: SweepProgress, others_are_training: Callable[[], bool]) -> list[str]:
    """The phrases above the progress bar; `others_are_training` is called only if no run of this sweep is."""
    counts, workers = progress.counts, default_workers()
    phrases = [f"**{counts['finished']} of {progress.total} runs**"]
    if progress.ended < progress.total:
        seconds, rate = progress.seconds_left(workers), progress.runs_per_minute(workers)
        if not counts["running"] and others_are_training():
            phrases.append("waiting for runs of earlier sweeps")
        elif seconds is not None:
            phrases += [f"{duration(seconds)} left", f"{rate:.0f} runs per minute"]
        else:
            phrases.append(f"{counts['running']} training" if counts["running"] else "starting workers …")
    return phrases + [f"{counts[status]} {status}" for status in ("failed", "diverged", "cancelled") if counts[status]]


def show_share_menu() -> None:
    """Part of the results, since the link contains what has just been selected in them."""
    with st.popover("Share"):
        st.markdown("This link shows the same view to anyone who can reach this server:")
        address = f"{(st.context.url or '').split('?')[0]}?{urlencode(st.query_params.to_dict())}"
        st.code(address, language=None, wrap_lines=True)


def show_reason_for_no_points(runs: pd.DataFrame, view: View, reason: str) -> None:
    if view.after == 1:
        reason = "After the first task there is no earlier task to keep yet."
    elif view.after and view.pair and view.pair[1] >= view.after:
        reason = f"After task {view.after}, task {view.pair[1] + 1} has not been learned yet; choose another pair."
    elif not runs["status"].isin(["running", "queued"]).any():
        reason = "These runs have taken no measurements that could be shown here."
    st.info(reason)
