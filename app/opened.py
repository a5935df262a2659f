"""What chosen runs look like, one in full or several side by side, and what can be done with them."""

from datetime import tzinfo
from typing import Any

import compare
import exports
import form
import listing
import numpy as np
import pandas as pd
import parts
import state
import streamlit as st
from listing import plain, several

from mgem_core import RunConfig, frames
from mgem_core.analysis import View
from mgem_core.figures.curves import draw_curves
from mgem_core.figures.matrices import heat_maps
from mgem_core.figures.style import RUNS
from mgem_core.store import ENDED, STATUSES, Store
from mgem_core.text import mean_and_error

EXPLORE = "views/explore.py"
MOST = 8  # runs compared at once: as many colours can be told apart
FEW = 4  # runs whose names leave room for the curves
ACROSS = 4  # heat maps in a row


def notice(sentence: str) -> None:
    """Say it at the top of the page, on its next run if this one ends now."""
    st.session_state.setdefault("notices", []).append(sentence)


def act(store: Store, chosen: list[dict[str, Any]]) -> None:
    """Buttons for the chosen runs."""
    counts = {status: sum(run["status"] == status for run in chosen) for status in STATUSES}
    with st.container(horizontal=True, vertical_alignment="center"):
        more_like(store, chosen)
        stop_and_resume(store, [run["id"] for run in chosen], counts)
        delete(store, chosen)
        with st.container(width="content"):
            exports.offer(store, None, View(), [run["id"] for run in chosen])


def more_like(store: Store, chosen: list[dict[str, Any]]) -> None:
    if st.button("More like this", type="primary", help="Fill the form on Explore with these settings, to vary them"):
        try:
            spec = compare.more_like(chosen)
            lost = compare.lost(spec, form.spec_of(form.said(spec)))
        except (ValueError, LookupError):
            notice("This version knows no such benchmark or setting; the form stays as it is.")
            st.rerun()
        st.session_state["more like"] = spec
        words = ", ".join(name.replace("_", " ") for name in lost)
        state.later(f"The form is filled, but has no place for {words}." if lost else "The form is filled.")
        sweeps = list(listing.sweeps_of(store, [run["id"] for run in chosen]))
        st.switch_page(EXPLORE, query_params={"sweep": f"s{sweeps[-1]}"} if sweeps else None)


def stop_and_resume(store: Store, runs: list[int], counts: dict[str, int]) -> None:
    active, left = counts["queued"] + counts["running"], counts["failed"] + counts["cancelled"]
    if st.button("Stop", disabled=not active, help="Cancel what has not ended; what finished stays"):
        store.cancel(runs)
        state.later(f"Stopping {several(active, 'run')}.")
        st.rerun()
    if st.button("Resume", disabled=not left, help="Go on with what failed or was cancelled"):
        again = store.resume(runs)
        state.wake_runner()
        state.later(f"{several(again, 'run')} queued again.")
        st.rerun()


def delete(store: Store, chosen: list[dict[str, Any]]) -> None:
    ended = [run["id"] for run in chosen if run["status"] in ENDED]
    count = several(len(ended), "run")
    with st.popover("Delete", disabled=not ended, help=None if ended else "Nothing of it has ended; stop it first"):
        st.markdown(f"Delete {count} with all results? This cannot be undone.")
        if len(ended) < len(chosen):
            st.markdown(f"{several(len(chosen) - len(ended), 'run')} not yet ended will stay.")
        if len(sweeps := listing.sweeps_of(store, ended)) > 1:
            st.markdown("They vanish from all their sweeps: " + plain(", ".join(sweeps.values())) + ".")
        if st.button(f"Delete {count}", type="primary"):
            store.delete(ended)
            st.session_state["runs"] = [f"r{run['id']}" for run in chosen if run["id"] not in ended]
            state.later(f"{count} deleted.")
            st.rerun()


def show(store: Store, ids: list[int], clock: tzinfo | None) -> None:
    """The runs as they are now."""
    state.rerun_if_replaced(store)
    if st.session_state["runs"] != [f"r{run}" for run in ids]:
        st.rerun()
    chosen = compare.chosen(store, ids)
    if not chosen:
        return
    runs = chosen[:MOST]
    named = dict(zip(compare.names(runs), runs, strict=True))
    R = {name: frames.matrix(store, run["id"]).to_numpy(float) for name, run in named.items()}
    if len(chosen) == 1:
        one(store, runs[0], clock)
        left, right = st.columns([3, 2])
        with left:
            settings(runs[0])
        with right:
            matrices(R)
        curves(store, named, R)
    else:
        table(chosen)
        curves(store, named, R)
        matrices(R)


def one(store: Store, run: dict[str, Any], clock: tzinfo | None) -> None:
    """How a run went."""
    st.subheader(plain(f"r{run['id']} · {run['label']}"))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{listing.status(run)} · asked for on {listing.when(run['created'], clock)}", width="content")
        for sweep, name in list(listing.sweeps_of(store, [run["id"]]).items())[:4]:
            st.page_link(EXPLORE, label=plain(f"{name} on Explore →"), query_params={"sweep": f"s{sweep}"})
    if run["error"]:
        st.error(plain(run["error"]))
    if run["traceback"]:
        st.expander("Traceback").code(run["traceback"], language="text", wrap_lines=True)
    if run["notice"]:
        st.info(plain(run["notice"]))
    if run["resumed_task"] or run["resumed_step"]:
        st.caption(f"It was interrupted, and went on from step {run['resumed_step']} of task {run['resumed_task'] + 1}.")
    if run["seconds"] is not None:
        with st.container(horizontal=True, gap="large"):
            for name, title in compare.JUDGED.items():
                st.metric(title, mean_and_error(run[name], np.nan), width="content")
            st.metric("time, s", f"{run['seconds']:.1f}", width="content")
            st.metric("per step, ms", mean_and_error(1000 * (run["seconds_per_step"] or np.nan), np.nan), width="content")


def settings(run: dict[str, Any]) -> None:
    """All fields of a run, those that are not the default first."""
    config, usual = run["config"], compare.defaults(run["config"])
    first = list(dict.fromkeys(["benchmark", "method", "seed", *compare.own(config)]))
    st.table(fields(first, config, usual), hide_index=True)
    with st.expander("All other settings, which are the defaults"):
        st.table(fields([name for name in config if name not in first], config, usual), hide_index=True)


def fields(names: list[str], config: dict[str, Any], usual: dict[str, Any]) -> pd.DataFrame:
    known = RunConfig.model_fields
    about = {name: (known[name].description or "").split(";")[0] for name in names if name in known}
    about |= {"benchmark": "", "network": ""}  # these only list the choices
    rows = [
        {
            "setting": f"**{name.replace('_', ' ')}** :small[{plain(about.get(name, ''))}]",
            "value": plain(compare.value(config[name])),
            "default": plain(compare.value(usual.get(name))),
        }
        for name in names
    ]
    return pd.DataFrame(rows, columns=["setting", "value", "default"])


def table(runs: list[dict[str, Any]]) -> None:
    """Results and settings of some runs, what differs first."""
    st.subheader(f"{len(runs):,} runs")
    errors: dict[str, list[str]] = {}
    for run in runs:
        if run["error"]:
            errors.setdefault(run["error"], []).append(f"r{run['id']}")
    for sentence, ids in list(errors.items())[:3]:
        st.error(plain(f"{', '.join(ids[:8])}{' …' if len(ids) > 8 else ''}: {sentence}"))
    columns, rows = compare.side_by_side(runs, RUNS[:MOST])
    alone = "Chosen runs, their results and the settings in which they differ; press one to see it alone"
    parts.table(columns, rows, "side by side", alone, (), lambda keys: st.session_state.update(runs=keys[-1:]))
    same = compare.differing(runs)[1]
    with st.expander(f"{several(len(same), 'setting')} that are the same in all"):
        told = {name: next(run["config"][name] for run in runs if name in run["config"]) for name in same}
        rows = [{"setting": name.replace("_", " "), "value": plain(compare.value(one))} for name, one in told.items()]
        st.table(pd.DataFrame(rows), hide_index=True)
    of = f" of the first {MOST} runs" if len(runs) > MOST else ""
    st.markdown(f"Curves{of} in the colours of the table:")


def curves(store: Store, runs: dict[str, dict[str, Any]], R: dict[str, np.ndarray]) -> None:
    """Loss, violated constraints and time over steps, and mean accuracy over tasks, of all runs in the same pictures."""
    series = {name: compare.steps(store, run["id"]) for name, run in runs.items()}
    iterations = {name: int(run["iterations"]) for name, run in runs.items()}
    pictures = {"loss": "loss", "violated": "violated constraints (%)", "ms": "time per step (ms)"}
    if not any(len(frame) for frame in series.values()):
        waiting = any(run["status"] not in ENDED for run in runs.values())
        st.info("Curves appear with the first steps." if waiting else "No step was done: nothing to draw.")
        return
    figures = {title: draw_curves(series, name, title, iterations) for name, title in pictures.items()}
    if far_apart(pd.concat([frame["loss"] for frame in series.values() if len(frame)])):
        figures["loss"].update_yaxes(type="log")
    after = draw_curves({name: compare.accuracies(own) for name, own in R.items()}, "acc", "%", dict.fromkeys(R, 1))
    after.update_xaxes(title_text="tasks learned", dtick=max(1, max(map(len, R.values())) // 10))
    after.update_traces(mode="lines+markers")
    figures["mean accuracy so far (%)"] = after
    columns = st.columns(2)
    for number, (title, figure) in enumerate(figures.items()):
        figure.update_layout(showlegend=1 < len(runs) <= FEW).update_yaxes(title_text=title)
        with columns[number % 2]:
            parts.plot(figure, f"curve {number}", f"{title} of {', '.join(runs)}", height=320, revision=" ".join(runs))


def far_apart(values: pd.Series) -> bool:
    """Would the largest hide all others? Runs that diverge do that."""
    values = values[values > 0]
    return bool(len(values)) and bool(values.max() > 100 * values.median())


def matrices(R: dict[str, np.ndarray]) -> None:
    """A heat map of R per run, all on one scale."""
    R = {name: own for name, own in R.items() if not np.isnan(own).all()}
    if not R:
        return
    low, high = min(np.nanmin(own) for own in R.values()), max(np.nanmax(own) for own in R.values())
    st.markdown("**R** · accuracy on each task after each task, %")
    for start in range(0, len(R), ACROSS):
        row = list(R.items())[start : start + ACROSS]
        for column, (name, own) in zip(st.columns(min(ACROSS, len(R))), row, strict=False):
            figure = heat_maps({name: own}).update_coloraxes(cmin=low, cmax=high, colorbar_thickness=10)
            with column:
                about = f"R of {name}: " + compare.in_words(own)
                parts.plot(figure, f"R {name}", about, height=330)
