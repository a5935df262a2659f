"""What a sweep shows while it runs and after: progress, both plots, the words, the table."""

from math import isfinite
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import parts
import state
import streamlit as st
from listing import plain, several

from mgem_core import analysis, measurements, text
from mgem_core.analysis import View
from mgem_core.figures import frontier, transfer
from mgem_core.figures.style import axis_titles, of_family, pair_title
from mgem_core.progress import sweep_progress
from mgem_core.runner.work import default_workers
from mgem_core.store import Store

REASONS = 3  # why runs failed, told at once


def progress(store: Store, sweep: int, runs: pd.DataFrame) -> None:
    progress, workers = sweep_progress(store, sweep), default_workers()
    counts = progress.counts
    words = [f"**{counts['finished']} of {progress.total} runs**"]
    if progress.ended < progress.total:
        seconds, rate = progress.seconds_left(workers), progress.runs_per_minute(workers)
        if not counts["running"] and store.counts()["running"]:
            words.append("waiting for runs that were asked for before")
        elif seconds is not None:
            words += [f"{text.duration(seconds)} left", f"{rate:.0f} runs per minute"]
        else:
            words.append(f"{counts['running']} training" if counts["running"] else "workers are getting ready …")
    words += [f"{counts[status]} {status}" for status in ("failed", "diverged", "cancelled") if counts[status]]
    st.progress(progress.share, " · ".join(words))
    if progress.ended < progress.total and (problem := state.keep_runner()):
        st.error(plain(problem))
    reasons = [(plain(str(error)), own["id"].tolist()) for error, own in runs.dropna(subset=["error"]).groupby("error")]
    told = [f"{why} ({', '.join(f'r{run}' for run in of[:8])}{' …' if len(of) > 8 else ''})" for why, of in reasons]
    for sentence in told[:REASONS]:
        st.warning(sentence)
    if told[REASONS:]:
        st.expander(f"{several(len(told) - REASONS, 'more reason')}").markdown("\n\n".join(told[REASONS:]))


COLUMNS = [
    {"name": "line", "title": "method", "kind": "text"},
    {"name": "q", "title": "q", "kind": "number", "help": "memory strength"},
    {
        "name": "acc",
        "title": "ACC",
        "kind": "number",
        "help": "accuracy on all tasks so far, in percent (± std over seeds)",
    },
    {"name": "fwd", "title": "FWD", "kind": "number", "help": "accuracy on each task just after it was learned, %"},
    {"name": "bwd", "title": "BWD", "kind": "number", "help": "what later tasks took away or gave: ACC − FWD"},
    {"name": "runs", "title": "seeds", "kind": "number", "help": "finished, of all"},
    {"name": "progress", "title": "progress", "kind": "progress"},
    {"name": "curve", "title": "ACC over tasks", "kind": "curve", "help": "accuracy on the tasks so far, after each task"},
]


def rows(points: pd.DataFrame, every: pd.DataFrame) -> list[dict[str, Any]]:
    """The table's cells; the best of each measure among those that learned the most tasks is bold."""
    leaders = analysis.leaders(every)
    best = {name: leaders[name].max() for name in ("acc", "fwd", "bwd")}
    last = every["learned"].max()
    made = []
    shown = ["key", "line", "family", "q", "finished", "runs", "active", "learned", "progress", "curve"]
    for row in points[[*shown, *best, *(f"{name}_std" for name in best)]].to_dict("records"):
        q = row["q"] if isinstance(row["q"], float) and row["q"] == row["q"] else None
        seeds = f"{row['finished']} / {row['runs']}{' …' if row['active'] else ''}"
        cells: dict[str, Any] = {
            "line": {"text": row["line"]},
            "q": {"text": text.strength(row["q"]), "value": q},
            "runs": {"text": seeds, "value": row["finished"]},
            "progress": {"value": row["progress"]},
            "curve": {"value": [value if isfinite(value) else None for value in row["curve"]]},  # JSON has no NaN
        }
        for name, top in best.items():
            value = row[name] if row[name] == row[name] else None
            bold = value is not None and bool(row["learned"] == last and round(value, 2) == round(top, 2))
            cells[name] = {"text": text.mean_and_error(row[name], row[f"{name}_std"]), "value": value, "bold": bold}
        color = of_family(row["family"]).color
        made.append({"key": row["key"], "color": color, "active": bool(row["active"]), "cells": cells})
    return made


def results(store: Store, sweep: int, view: View, hide: bool) -> None:
    """Plots, words and table of a sweep, as they are now."""
    runs = state.runs(store, sweep)
    points = measurements.points(store, runs, view, state.watch())
    picked, marked = (state.kept(name, set(points["key"])) for name in ("chosen", "marked"))
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container():
            progress(store, sweep, runs)
        with st.container(width="content"):
            share()
    what = f"{sweep} {view.benchmark}"
    x, y = axis_titles(view)
    left, right = st.columns(2)
    with left:
        st.markdown(f"**Frontier** · {pair_title(view)} · ± standard error")
        if points["x"].notna().any():
            figure = frontier.screen(points, view, hide, marked)
            parts.plot(
                figure, "frontier", f"{y} against {x}, a line per method", picked, pick, f"{what} {view.axes} {view.pair}"
            )
        else:
            waiting(runs, view, "The first points appear when a run has measured its second task.")
    with right:
        st.markdown("**Transfer** · dashed: equal ACC · ± standard deviation")
        if points["fwd"].notna().any():
            figure = transfer.screen(points, view, marked)
            parts.plot(figure, "transfer", "FWD against BWD, a line per method", picked, pick, what)
        else:
            waiting(runs, view, "The first points appear when a run has learned a task.")
    if words := " ".join(analysis.in_words(points)):
        training = "*So far, as runs still train:* " if points["active"].any() else ""
        st.markdown(f"{training}{words}")
    shown = points[points["key"].isin(picked)] if picked else points
    if picked:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(shown)} of {len(points)} configurations, as selected in the plots.")
            st.button("Show all", type="tertiary", on_click=pick, args=([],))
    parts.table(COLUMNS, rows(shown, points), "table", "ACC, FWD and BWD of every configuration", marked, mark)


def share() -> None:
    """Here, not above: the link tells what has just been selected, too."""
    with st.popover("Share"):
        st.markdown("This link shows the same view to anyone who can reach this server:")
        address = f"{(st.context.url or '').split('?')[0]}?{urlencode(st.query_params.to_dict())}"
        st.code(address, language=None, wrap_lines=True)


def pick(keys: list[str]) -> None:
    """Points selected in a plot: the table shows these alone."""
    st.session_state["chosen"] = keys


def mark(keys: list[str]) -> None:
    """Rows selected in the table: the plots show these larger."""
    st.session_state["marked"] = keys


def waiting(runs: pd.DataFrame, view: View, text: str) -> None:
    if view.after == 1:
        text = "After the first task there is no old one to keep yet."
    elif view.after and view.pair and view.pair[1] >= view.after:
        text = f"After task {view.after}, task {view.pair[1] + 1} has not been learned yet; choose another pair."
    elif not runs["status"].isin(["running", "queued"]).any():
        text = "These runs have measured nothing to show here."
    st.info(text)
