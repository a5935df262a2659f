"""Launching a sweep from the form or from a preset."""

from typing import Any

import runner_process
import session
import streamlit as st

from explore import form, form_widgets
from explore.selection import clear_selection
from mgem_core.presets import PRESETS
from mgem_core.runner.work import default_workers
from mgem_core.store import Store
from mgem_core.sweeps import SweepSpec, estimate_seconds
from mgem_core.text import duration, pluralize


@session.explain_errors
def launch(store: Store, spec: SweepSpec, name: str) -> None:
    if not store.is_current():  # the page is about to report this
        return
    sweep = store.submit(spec, name)
    runner_process.wake_runner()
    session.put_in_url("sweep", [f"s{sweep}"])
    clear_selection()
    finished = store.counts(sweep)["finished"]
    reused = f", {finished:,} of them already finished" if finished else ""
    session.queue_toast(f"{name} launched: {pluralize(len(store.run_ids(sweep)), 'run')}{reused}.")


def show_launch_panel(store: Store) -> None:
    """The form, a summary of the runs that it describes, and the button that launches them."""
    st.subheader("What to run")
    if spec := st.session_state.pop("spec for form", None):
        st.session_state["preset"], st.session_state["preset filled"] = form_widgets.CUSTOM, True
        form_widgets.fill_form(spec)
    with form_widgets.show_form():
        problem, configs = form.expand_form(form_widgets.read_form())
        if problem:
            st.error(problem)
        else:
            seconds = estimate_seconds(configs, session.read_speeds(store), default_workers())
            estimate = f"about {duration(seconds)}" if seconds else "duration unknown until the first runs have finished"
            st.markdown(f"**{pluralize(len(configs), 'run')}** · {estimate}")
        options: dict[str, Any] = {"type": "primary", "shortcut": "Ctrl+Enter", "width": "stretch"}
        st.button("Launch", on_click=_launch_form, args=(store,), disabled=bool(problem), **options)


def _launch_form(store: Store) -> None:
    """Launch the current values of the widgets, which the page may not have shown yet."""
    values = form_widgets.read_form()
    if problem := form.expand_form(values)[0]:
        session.queue_toast(problem)
    else:
        preset = st.session_state["preset"]
        name = PRESETS[preset].title if preset in PRESETS else "Custom sweep"
        launch(store, form.build_spec(values), name)
