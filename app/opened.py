"""What chosen runs look like, one in full or several side by side, and what can be done with them."""

from datetime import tzinfo
from typing import Any

import compare
import controls
import listing
import numpy as np
import pandas as pd
import parts
import state
import streamlit as st
from listing import plain, several

from mgem_core import RunConfig, frames
from mgem_core.figures import interactive
from mgem_core.figures.data import mean_std
from mgem_core.store import ENDED, STATUSES, Store

EXPLORE = "views/explore.py"
MOST = 8  # runs compared at once: as many colours can be told apart
ACROSS = 4  # heat maps in a row


def notice(sentence: str) -> None:
    """Say it at the top of the page, on its next run if this one ends now."""
    st.session_state.setdefault("notices", []).append(sentence)


def act(store: Store, chosen: list[dict[str, Any]]) -> None:
    """Buttons for the chosen runs."""
    counts = {status: sum(run["status"] == status for run in chosen) for status in STATUSES}
    with st.container(horizontal=True, vertical_alignment="center"):
        more_like(chosen)
        stop_and_resume(store, [run["id"] for run in chosen], counts)
        delete(store, chosen)
        exports(chosen)


def more_like(chosen: list[dict[str, Any]]) -> None:
    if st.button("More like this", type="primary", help="Fill the form on Explore with these settings, to vary them"):
        try:
            spec = compare.more_like(chosen)
            lost = compare.lost(spec, controls.spec_of(controls.said(spec)))
        except (ValueError, LookupError):
            notice("This version knows no such benchmark or setting; the form stays as it is.")
            st.rerun()
        st.session_state["more like"] = spec
        words = ", ".join(name.replace("_", " ") for name in lost)
        state.later("The form is filled." + (f" It cannot say {words}." if lost else ""))
        st.switch_page(EXPLORE)


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
        st.markdown(f"Delete {count} and all they told? Nothing brings them back.")
        if len(ended) < len(chosen):
            st.markdown(f"{several(len(chosen) - len(ended), 'run')} not yet ended will stay.")
        if len(sweeps := listing.sweeps_of(store, ended)) > 1:
            st.markdown("They vanish from all their sweeps: " + plain(", ".join(sweeps.values())) + ".")
        if st.button(f"Delete {count}", type="primary"):
            store.delete(ended)
            st.session_state["runs"] = [f"r{run['id']}" for run in chosen if run["id"] not in ended]
            state.later(f"{count} deleted.")
            st.rerun()


def exports(chosen: list[dict[str, Any]]) -> None:
    """Here is the place for downloads of the chosen runs."""


def show(store: Store, ids: list[int], clock: tzinfo | None) -> None:
    """The runs as they are now."""
    runs = compare.chosen(store, ids[:MOST])
    if not runs:
        return
    named = dict(zip(compare.names(runs), runs, strict=True))
    R = {name: frames.matrix(store, run["id"]).to_numpy(float) for name, run in named.items()}
    if len(ids) == 1:
        one(store, runs[0], clock)
        left, right = st.columns([3, 2])
        with left:
            settings(runs[0])
        with right:
            matrices(R)
        curves(store, named, R)
    else:
        table(runs, len(ids))
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
    if run["seconds"] is not None:
        with st.container(horizontal=True, gap="large"):
            for name, title in compare.JUDGED.items():
                st.metric(title, mean_std(run[name], np.nan), width="content")
            st.metric("time, s", f"{run['seconds']:.1f}", width="content")
            st.metric("per step, ms", mean_std(1000 * (run["seconds_per_step"] or np.nan), np.nan), width="content")


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
            "setting": f"{name.replace('_', ' ')} :small[{plain(about.get(name, ''))}]",
            "value": plain(compare.value(config[name])),
            "default": plain(compare.value(usual.get(name))),
        }
        for name in names
    ]
    return pd.DataFrame(rows, columns=["setting", "value", "default"])


def table(runs: list[dict[str, Any]], count: int) -> None:
    """Results and settings of some runs, what differs first."""
    st.subheader(f"{count} runs" + (f", the first {len(runs)} compared" if count > len(runs) else ""))
    for run in runs:
        if run["error"]:
            st.error(plain(f"r{run['id']}: {run['error']}"))
    differ, same = compare.differing(runs)
    rows: dict[str, list[str]] = {"method": [run["label"] for run in runs], "status": [listing.status(run) for run in runs]}
    for name, title in compare.JUDGED.items():
        best = max((run[name] for run in runs if run[name] is not None), default=None)
        texts = [mean_std(run[name], np.nan) for run in runs]
        rows[title] = [
            f"**{text}**" if run[name] is not None and text == mean_std(best, np.nan) else text
            for text, run in zip(texts, runs, strict=True)
        ]
    rows["time, s"] = ["—" if run["seconds"] is None else f"{run['seconds']:.1f}" for run in runs]
    rows |= {
        name.replace("_", " "): [plain(compare.value(run["config"].get(name))) for run in runs]
        for name in differ
        if name != "method"
    }
    st.table(pd.DataFrame(rows, index=[f"r{run['id']}" for run in runs]).T.rename_axis("what"))
    with st.expander(f"{len(same)} settings that are the same in all"):
        values = {name.replace("_", " "): plain(compare.value(runs[0]["config"][name])) for name in same}
        st.table(pd.DataFrame({"value": values}).rename_axis("setting"))


def curves(store: Store, runs: dict[str, dict[str, Any]], R: dict[str, np.ndarray]) -> None:
    """Loss, violated constraints and time over steps, and mean accuracy over tasks, of all runs in the same pictures."""
    series = {name: compare.steps(store, run["id"]) for name, run in runs.items()}
    iterations = {name: int(run["iterations"]) for name, run in runs.items()}
    pictures = {"loss": "loss", "violated": "violated constraints (%)", "ms": "time per step (ms)"}
    if not any(len(frame) for frame in series.values()):
        waiting = any(run["status"] not in ENDED for run in runs.values())
        st.info("Curves appear with the first steps." if waiting else "It ended before its first step: nothing to draw.")
        return
    figures = {title: interactive.curves(series, name, title, iterations) for name, title in pictures.items()}
    if far_apart(pd.concat([frame["loss"] for frame in series.values() if len(frame)])):
        figures["loss"].update_yaxes(type="log")
    after = interactive.curves({name: compare.accuracies(own) for name, own in R.items()}, "acc", "%", dict.fromkeys(R, 1))
    after.update_xaxes(title="tasks learned", dtick=max(1, max(map(len, R.values())) // 10))
    after.update_traces(mode="lines+markers")
    figures["mean accuracy so far (%)"] = after
    columns = st.columns(2)
    for number, (title, figure) in enumerate(figures.items()):
        figure.update_layout(yaxis_title=title, showlegend=len(runs) > 1)
        with columns[number % 2]:
            parts.plot(figure, f"curve {number}", f"{title} of {', '.join(runs)}", height=320, revision=" ".join(runs))


def far_apart(values: pd.Series) -> bool:
    """Would the largest hide all others? Runs that diverge do that."""
    values = values[values > 0]
    return bool(len(values)) and bool(values.max() > 100 * values.median())


def matrices(R: dict[str, np.ndarray]) -> None:
    """A heat map of R per run, all on one scale."""
    R = {name: own for name, own in R.items() if own.size}
    if not R:
        return
    low, high = min(np.nanmin(own) for own in R.values()), max(np.nanmax(own) for own in R.values())
    st.markdown("**R** · accuracy on each task after each task, %")
    for start in range(0, len(R), ACROSS):
        row = list(R.items())[start : start + ACROSS]
        for column, (name, own) in zip(st.columns(min(ACROSS, len(R))), row, strict=False):
            figure = interactive.matrices({name: own}).update_coloraxes(cmin=low, cmax=high, colorbar_thickness=10)
            with column:
                about = f"R of {name}: " + "; ".join(", ".join(f"{one:.0f}" for one in line) for line in own)
                parts.plot(figure, f"R {name}", about, height=330)
