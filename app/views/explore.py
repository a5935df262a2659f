"""Explore: choose, launch, and watch what remembering costs."""

from typing import Any

import controls
import exports
import pandas as pd
import parts
import state
import streamlit as st

from mgem_core import frames
from mgem_core.figures import data, interactive
from mgem_core.figures.data import View
from mgem_core.figures.style import axis_titles, of_family, pair_title
from mgem_core.presets import PRESETS
from mgem_core.runner.work import default_workers
from mgem_core.store import Store
from mgem_core.streams import BENCHMARKS
from mgem_core.sweeps import SweepSpec, estimate_seconds

AXES: dict[data.Axes, str] = {"unit": "per ‖z‖", "raw": "raw", "cosine": "cosine"}


def launch(store: Store, spec: SweepSpec, name: str) -> None:
    sweep = store.submit(spec, name)
    state.wake_runner()
    state.put_in_url("sweep", [f"s{sweep}"])
    pick([])
    mark([])
    state.later(f"{name} launched: {len(store.runs_of(sweep))} runs.")


def what_to_run(store: Store) -> None:
    """The panel of controls, what they come to, and the button that starts it."""
    st.subheader("What to run")
    if spec := st.session_state.pop("more like", None):
        st.session_state["preset"], st.session_state["preset filled"] = controls.OWN, True
        controls.fill(spec)
    said, summary = controls.panel()
    problem = controls.problem(said)
    name = {**controls.TITLES, controls.OWN: "Own sweep"}[st.session_state["preset"]]
    with summary:
        if problem:
            st.error(problem)
        else:
            configs = controls.spec_of(said).runs()
            seconds = estimate_seconds(configs, state.speeds(store, str(store.path)), default_workers())
            about = f"about {state.duration(seconds)}" if seconds else "time known after the first runs"
            st.markdown(f"**{len(configs)} runs** · {about}")
        if st.button("Launch", type="primary", shortcut="Ctrl+Enter", disabled=bool(problem), width="stretch"):
            launch(store, controls.spec_of(said), name)
            st.rerun()


def nothing_yet(store: Store) -> None:
    """The page of someone who has run nothing."""
    st.title("What does it cost to remember?")
    st.markdown(
        "A network that learns one task after another forgets. **GEM** bends every update so that it does not hurt the "
        "past; **mGEM** does it module by module and split by split. Train a few dozen small networks and watch the "
        "trade-off between keeping the old and learning the new."
    )
    text, spec = PRESETS["quick-look"]
    if st.button(f"Run the quick look: {len(spec.runs())} short runs, less than a minute", type="primary"):
        launch(store, spec, controls.TITLES["quick-look"])
        st.rerun()
    st.caption(f"{text}; or choose your own on the left.")


def choose_sweep(store: Store, sweeps: dict[int, dict[str, Any]]) -> int:
    asked = state.ids_in_url("sweep", "s")
    if asked and asked[0] not in sweeps:
        st.warning(f"There is no sweep s{asked[0]} in this store; this is the newest one.")
    sweep = asked[0] if asked and asked[0] in sweeps else next(iter(sweeps))
    st.session_state["sweep"] = sweep

    def changed() -> None:
        state.put_in_url("sweep", [f"s{st.session_state['sweep']}"])
        pick([])
        mark([])

    def told(one: int) -> str:
        return f"{sweeps[one]['name']} · s{one} · {sweeps[one]['runs']} runs"

    st.selectbox("Sweep", list(sweeps), format_func=told, key="sweep", on_change=changed, label_visibility="collapsed")
    return sweep


def stop_or_resume(store: Store, sweep: int) -> None:
    counts = store.counts(sweep)
    if counts["running"] or counts["queued"]:
        if st.button("Stop", help="Cancel the runs that have not ended; what finished stays"):
            store.cancel(store.runs_of(sweep))
            state.later("Stopping; what finished stays.")
            st.rerun()
    elif left := counts["cancelled"] + counts["failed"]:
        if st.button("Resume", help=f"Go on with the {left} runs that were stopped or failed"):
            store.resume(store.runs_of(sweep))
            state.wake_runner()
            st.rerun()
    else:
        st.button("Finished", disabled=True)


def share() -> None:
    with st.popover("Share"):
        st.markdown("This link shows the same view to anyone who can reach this server:")
        parameters = "&".join(f"{name}={value}" for name, value in st.query_params.to_dict().items())
        st.code(f"{(st.context.url or '').split('?')[0]}?{parameters}", language=None, wrap_lines=True)


def choose_view(several: list[str], tasks: int) -> tuple[View, bool]:
    """How to look at it; every choice is in the URL."""
    pairs = {f"{s + 1} → {t + 1}": (s, t) for t in range(1, tasks) for s in range(t)}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        benchmark = several[0]
        if len(several) > 1:
            benchmark = st.selectbox(
                "Benchmark",
                several,
                format_func=lambda name: BENCHMARKS[name].title,
                key="on",
                bind="query-params",
                width=260,
            )
        axes = st.segmented_control(
            "Axes",
            list(AXES),
            format_func=AXES.__getitem__,
            default="unit",
            required=True,
            key="axes",
            bind="query-params",
            help="Raw products grow with the length of z; per unit ‖z‖ methods can be compared",
        )
        pair = (
            st.selectbox("Old → new task", [*pairs, "mean"], key="pair", bind="query-params", width=130)
            if pairs
            else "mean"
        )
        after = tasks
        if tasks > 1:
            after = st.slider(
                "After task",
                1,
                tasks,
                tasks,
                key="after",
                bind="query-params",
                width=220,
                help="Go back in training and see how frontiers and table grew",
            )
        hide = st.toggle("Hide dominated", key="front", bind="query-params")
    return View(benchmark, axes, pairs.get(pair), None if after == tasks else after), hide


def progress(store: Store, sweep: int, runs: pd.DataFrame) -> None:
    counts, total = store.counts(sweep), len(runs)
    done = total - counts["running"] - counts["queued"]
    words = [f"**{done} of {total} runs**"]
    if done < total:
        spent = runs.loc[runs["status"] == "finished", "seconds"].mean()
        at_once = max(1, min(counts["running"] or default_workers(), total - done))
        if spent == spent:
            left = (1 - runs.loc[runs["status"].isin(["running", "queued"]), "progress"]).sum() * spent / at_once
            words += [f"{state.duration(left)} left", f"{60 * at_once / spent:.0f} runs per minute"]
        else:
            words.append(f"{counts['running']} training" if counts["running"] else "workers are getting ready …")
    words += [f"{counts[status]} {status}" for status in ("failed", "diverged", "cancelled") if counts[status]]
    st.progress(float(runs["progress"].where(runs["status"].isin(["running", "queued"]), 1.0).mean()), " · ".join(words))
    if done < total and (refused := state.keep_runner()):
        st.error(f"{refused} Nothing trains until that is mended; press Launch or Resume to try again.")
    failed = runs.dropna(subset=["error"])
    if len(failed):
        with st.expander(f"{len(failed)} runs have something to tell"):
            for error, own in failed.groupby("error"):
                st.markdown(f"{error} ({', '.join(f'r{run}' for run in own['id'][:8])}{' …' if len(own) > 8 else ''})")


COLUMNS = [
    {"name": "line", "title": "method", "kind": "text"},
    {"name": "q", "title": "q", "kind": "number", "help": "memory strength"},
    {
        "name": "acc",
        "title": "ACC",
        "kind": "number",
        "help": "mean accuracy on all tasks learned so far, % (± std over seeds)",
    },
    {"name": "fwd", "title": "FWD", "kind": "number", "help": "accuracy on each task just after it was learned, %"},
    {"name": "bwd", "title": "BWD", "kind": "number", "help": "what later tasks took away or gave: ACC − FWD"},
    {"name": "runs", "title": "seeds", "kind": "number", "help": "finished, of all"},
    {"name": "progress", "title": "progress", "kind": "progress"},
    {
        "name": "curve",
        "title": "ACC over tasks",
        "kind": "curve",
        "help": "mean accuracy on the tasks learned so far, after each task",
    },
]


def rows(points: pd.DataFrame, every: pd.DataFrame) -> list[dict[str, Any]]:
    """The table's cells; the best of each measure among all is bold."""
    best = {name: every[name].max() for name in ("acc", "fwd", "bwd")}
    made = []
    shown = ["key", "line", "family", "q", "finished", "runs", "active", "progress", "curve"]
    for row in points[[*shown, *best, *(f"{name}_std" for name in best)]].to_dict("records"):
        cells: dict[str, Any] = {
            "line": {"text": row["line"]},
            "q": {
                "text": data.strength(row["q"]),
                "value": row["q"] if isinstance(row["q"], float) and row["q"] == row["q"] else None,
            },
            "runs": {
                "text": f"{row['finished']} / {row['runs']}" + (" …" if row["active"] else ""),
                "value": row["finished"],
            },
            "progress": {"value": row["progress"]},
            "curve": {"value": row["curve"]},
        }
        for name, top in best.items():
            value = row[name] if row[name] == row[name] else None
            text = data.mean_std(row[name], row[f"{name}_std"])
            cells[name] = {
                "text": text,
                "value": value,
                "bold": value is not None and bool(round(value, 2) == round(top, 2)),
            }
        made.append(
            {"key": row["key"], "color": of_family(row["family"]).color, "active": bool(row["active"]), "cells": cells}
        )
    return made


def results(store: Store, sweep: int, view: View, hide: bool) -> None:
    """Plots, words and table of a sweep, as they are now."""
    runs = frames.runs(store, sweep)
    progress(store, sweep, runs)
    points = data.points(store, runs, view, state.watch())
    picked, marked = (state.kept(name, set(points["key"])) for name in ("chosen", "marked"))
    look = f"{sweep} {view.benchmark} {view.axes} {view.pair}"
    x, y = axis_titles(view)
    left, right = st.columns(2)
    with left:
        st.markdown(f"**Frontier** · {pair_title(view)}")
        if points["x"].notna().any():
            figure = interactive.frontier(points, view, hide, marked)
            parts.plot(figure, "frontier", f"{y} against {x}, a line per method", picked, pick, revision=look)
        else:
            waiting(runs, "The first points appear when a run has measured its second task.")
    with right:
        st.markdown("**Transfer** · dashed: equal ACC")
        if points["fwd"].notna().any():
            figure = interactive.transfer(points, view, marked)
            parts.plot(figure, "transfer", "FWD against BWD, a line per method", picked, pick, revision=look)
        else:
            waiting(runs, "The first points appear when a run has learned a task.")
    st.markdown(" ".join(data.in_words(points)))
    shown = points[points["key"].isin(picked)] if picked else points
    if picked:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(shown)} of {len(points)} configurations, as selected in the plots.")
            st.button("Show all", type="tertiary", on_click=pick, args=([],))
    parts.table(COLUMNS, rows(shown, points), "table", "ACC, FWD and BWD of every configuration", marked, mark)


def pick(keys: list[str]) -> None:
    """Points selected in a plot: the table shows these alone."""
    st.session_state["chosen"] = keys


def mark(keys: list[str]) -> None:
    """Rows selected in the table: the plots show these larger."""
    st.session_state["marked"] = keys


def waiting(runs: pd.DataFrame, text: str) -> None:
    active = runs["status"].isin(["running", "queued"]).any()
    st.info(text if active else "These runs have measured nothing to show here.", icon="⏳" if active else "ℹ️")


def page() -> None:
    store = state.store()
    if "awake" not in st.session_state:
        st.session_state["awake"] = True
        state.wake_runner()
    with st.sidebar:
        what_to_run(store)
    state.say()
    sweeps = state.sweeps(store)
    if not sweeps:
        nothing_yet(store)
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sweep = choose_sweep(store, sweeps)
        stop_or_resume(store, sweep)
        shared, exported = st.container(width="content"), st.container(width="content")
    view, hide = choose_view(*state.scope(store, str(store.path), sweep))
    with shared:
        share()
    with exported:
        exports.offer(store, sweep, view)
    active = not state.ended(store, sweep)

    def live() -> None:
        results(store, sweep, view, hide)
        if active and state.ended(store, sweep):
            state.later("All runs have ended.")
            st.rerun()

    st.fragment(live, run_every=1.0 if active else None)()


page()
