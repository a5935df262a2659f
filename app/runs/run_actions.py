"""Buttons for the selected runs: more like this, stop, resume, delete, export."""

from functools import partial
from typing import Any

import runner_process
import session
import streamlit as st
from explore.form import build_spec, form_values
from export_menu import show_export_button, show_figures_to_export
from text import escape_markdown, field_title

from mgem_core.analysis.aggregate import View
from mgem_core.store import ENDED, STATUSES, Store
from mgem_core.text import pluralize
from runs.run_list import select_runs
from runs.selected_runs import spec_of_runs, unrepresentable_fields

RESUME_HELP = (
    "Continue runs that failed or were cancelled. Runs that wait for other code are trained with the current code."
)
Runs = list[dict[str, Any]]


def show_run_actions(store: Store, runs: Runs) -> None:
    ids = [run["id"] for run in runs]
    counts = {status: sum(run["status"] == status for run in runs) for status in STATUSES}
    with st.container(horizontal=True, vertical_alignment="center"):
        show_more_like_this(store, runs)
        show_stop_and_resume(store, ids, counts)
        show_delete_menu(store, runs)
        with st.container(width="content"):
            show_export_button(tuple(ids), partial(show_figures_to_export, store, None, View(), ids))


def show_more_like_this(store: Store, runs: Runs) -> None:
    help = "Fill in the form on Explore with the settings of these runs, to change them there."
    if not st.button("More like this", type="primary", help=help):
        return
    try:
        spec = spec_of_runs(runs)
        omitted = unrepresentable_fields(spec, build_spec(form_values(spec)))
    except (ValueError, LookupError):
        session.queue_notice("This version does not know the benchmark or a setting of these runs; the form is unchanged.")
        st.rerun()
    st.session_state["spec for form"] = spec
    names = ", ".join(map(field_title, omitted))
    session.queue_toast(f"The form is filled in, except for: {names}." if omitted else "The form is filled in.")
    sweeps = list(store.sweeps_of([run["id"] for run in runs]))
    st.switch_page(session.EXPLORE_PAGE, query_params={"sweep": f"s{sweeps[-1]}"} if sweeps else None)


def show_stop_and_resume(store: Store, runs: list[int], counts: dict[str, int]) -> None:
    """Show the buttons Stop and Resume; `counts` has the number of these runs with each status."""
    active, stopped = counts["queued"] + counts["running"], counts["failed"] + counts["cancelled"]
    stopped += len(store.requested_with_other_code(runs)) if counts["queued"] else 0
    help = "Cancel the runs that have not ended. Finished runs keep their results."
    if st.button("Stop", disabled=not active, help=help):
        store.cancel(runs)
        session.queue_toast(f"Stopping {pluralize(active, 'run')}.")
        st.rerun()
    if st.button("Resume", disabled=not stopped, help=RESUME_HELP):
        queued = store.resume(runs)
        runner_process.wake_runner()
        session.queue_toast(f"{pluralize(queued, 'run')} queued again.")
        st.rerun()


def show_delete_menu(store: Store, runs: Runs) -> None:
    ended = [run["id"] for run in runs if run["status"] in ENDED]
    count = pluralize(len(ended), "run")
    help = None if ended else "None of these runs has ended; stop them first."
    with st.popover("Delete", disabled=not ended, help=help):
        st.markdown(f"Delete {count} and their results? This cannot be undone.")
        if active := len(runs) - len(ended):
            st.markdown(f"{pluralize(active, 'run')} {'has' if active == 1 else 'have'} not ended and will be kept.")
        if len(sweeps := store.sweeps_of(ended)) > 1:
            names = ", ".join(f"{name} (s{sweep})" for sweep, name in sweeps.items())
            st.markdown(f"They will be removed from all their sweeps: {escape_markdown(names)}.")
        if st.button(f"Delete {count}", type="primary"):
            store.delete(ended)
            select_runs([f"r{run['id']}" for run in runs if run["id"] not in ended])
            session.queue_toast(f"{count} deleted.")
            st.rerun()
