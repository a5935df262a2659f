"""The selected runs: the details of one, or a comparison of several."""

from typing import Any

import pandas as pd
import session
import streamlit as st
from text import escape_markdown, field_title, format_time

from mgem_core import RunConfig
from mgem_core.analysis import frames
from mgem_core.store import OTHER_CODE, Store
from mgem_core.text import mean_and_error
from runs.comparison import show_comparison
from runs.curves import show_curves, show_matrices
from runs.run_list import MOST_CURVES, status_text
from runs.selected_runs import default_values, format_value, load_runs, non_default_fields, run_names

METRICS = {"acc": "ACC, %", "fwd": "FWD, %", "bwd": "BWD, points", "forgetting": "Forgetting, points"}
MOST_SWEEPS = 4  # the most sweeps to which a run links


def show_selected_runs(store: Store, ids: list[int]) -> None:
    """Show the runs in their current state."""
    session.rerun_if_replaced(store)
    if st.session_state["runs"] != [f"r{run}" for run in ids]:
        st.rerun()
    runs = load_runs(store, ids)
    if not runs:
        return
    with_curves = runs[:MOST_CURVES]
    named = dict(zip(run_names(with_curves), with_curves, strict=True))
    matrices = {name: frames.matrix(store, run["id"]).to_numpy(float) for name, run in named.items()}
    if len(runs) == 1:
        show_run(store, runs[0])
        left, right = st.columns([3, 2])
        with left:
            show_settings(runs[0]["config"])
        with right:
            show_matrices(named, matrices)
        show_curves(store, named, matrices)
    else:
        show_comparison(runs)
        show_curves(store, named, matrices)
        show_matrices(named, matrices)


def show_run(store: Store, run: dict[str, Any]) -> None:
    """Show the status, sweeps, messages and results of a run."""
    st.subheader(escape_markdown(f"r{run['id']} · {run['label']}"))
    with st.container(horizontal=True, vertical_alignment="center"):
        requested = format_time(run["created"], session.browser_time_zone())
        st.markdown(f"{status_text(run)} · requested on {requested}", width="content")
        for sweep, name in list(store.sweeps_of([run["id"]]).items())[:MOST_SWEEPS]:
            label = escape_markdown(f"{name} (s{sweep}) on Explore →")
            st.page_link(session.EXPLORE_PAGE, label=label, query_params={"sweep": f"s{sweep}"})
    if store.requested_with_other_code([run["id"]]):
        st.info(f"This run waits: it was {OTHER_CODE}. Press *Resume* to train it with the current code.")
    if run["error"]:
        st.error(escape_markdown(run["error"]))
    if run["traceback"]:
        st.expander("Traceback").code(run["traceback"], language="text", wrap_lines=True)
    if run["notice"]:
        st.info(escape_markdown(run["notice"]))
    if run["resumed_task"] or run["resumed_step"]:
        step = f"step {run['resumed_step']} of task {run['resumed_task'] + 1}"
        st.caption(f"This run was interrupted and continued from {step}.")
    if run["seconds"] is not None:
        with st.container(horizontal=True, gap="medium"):
            for name, title in METRICS.items():
                st.metric(title, mean_and_error(run[name]), width="content")
            st.metric("time, s", f"{run['seconds']:.1f}", width="content")
            per_step = run["seconds_per_step"]
            st.metric("per step, ms", mean_and_error(1000 * per_step if per_step else None), width="content")


def show_settings(config: dict[str, Any]) -> None:
    """Show all settings of a run, starting with those that differ from their defaults."""
    defaults = default_values(config)
    first = list(dict.fromkeys(["benchmark", "method", "seed", *non_default_fields(config)]))
    st.table(settings_table(first, config, defaults), hide_index=True)
    with st.expander("Settings with their default values"):
        st.table(settings_table([name for name in config if name not in first], config, defaults), hide_index=True)


def settings_table(names: list[str], config: dict[str, Any], defaults: dict[str, Any]) -> pd.DataFrame:
    known = RunConfig.model_fields
    descriptions = {name: (known[name].description or "").split(";")[0] for name in names if name in known}
    descriptions |= {"benchmark": "", "network": ""}  # their descriptions only list the choices
    rows = [
        {
            "setting": f"**{field_title(name)}** :small[{escape_markdown(descriptions.get(name, ''))}]",
            "value": escape_markdown(format_value(config[name])),
            "default": escape_markdown(format_value(defaults.get(name))),
        }
        for name in names
    ]
    return pd.DataFrame(rows, columns=["setting", "value", "default"])
