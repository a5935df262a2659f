"""The page Runs: a list of runs or sweeps, and below it the selected ones."""

from typing import Any

import runner_process
import session
import streamlit as st

from mgem_core.store import RunFilter, Store
from runs.filters import choose_filter, find_selected_runs
from runs.run_actions import show_run_actions
from runs.run_detail import show_selected_runs
from runs.run_list import MOST_CURVES, show_run_list
from runs.sweep_actions import show_store_size, show_sweep_actions
from runs.sweep_list import show_sweep_list

REFRESH_SECONDS = 2.0  # between updates while runs train
# On a phone, the list comes first and its filters below it.
STYLE = """
@media (max-width: 640px) {
  .st-key-runs-list > [data-testid=stLayoutWrapper]:has(> .st-key-runs-filters) { order: 1 }
}
"""


def show_empty_store() -> None:
    st.title("Nothing has been run yet")
    st.markdown("Every sweep and every run will be listed here, with its results.")
    st.page_link(session.EXPLORE_PAGE, label="Launch a sweep on Explore →")


def show_list(store: Store, which: str, run_filter: RunFilter, selected: list[dict[str, Any]]) -> None:
    """Show the list, which is updated while runs are active.

    The whole page runs again when the selection or the status of a selected run has changed.
    """
    is_active = not session.all_ended(store.counts())
    before = _selection(store, run_filter, selected)

    @session.explain_errors
    def show_current_list() -> None:
        session.rerun_if_replaced(store)
        if is_active:
            runner_process.keep_runner_alive()
        if which == "Runs":
            show_run_list(store, run_filter, st.session_state["runs"])
        else:
            key = st.session_state["selected sweep"]
            show_sweep_list(store, run_filter.text, [key] if key else [])
        if is_active and session.all_ended(store.counts()):
            session.queue_toast("All runs have ended.")
            st.rerun()
        if _selection(store, run_filter, selected) != before:
            st.rerun()

    st.fragment(show_current_list, run_every=REFRESH_SECONDS if is_active else None)()


def _selection(store: Store, run_filter: RunFilter, selected: list[dict[str, Any]]) -> tuple[object, ...]:
    """Return what is selected, the status of these runs, and whether the selected sweep has ended."""
    statuses = store.run_values(["id", "status"], [run["id"] for run in selected]) if selected else []
    has_ended = run_filter.sweep is not None and session.all_ended(store.counts(run_filter.sweep))
    return st.session_state["runs"], st.session_state["selected sweep"], statuses, has_ended


def show_selection(store: Store, runs: list[dict[str, Any]]) -> None:
    """Show the selected runs, which are updated while one of the drawn runs is running."""
    if not runs:
        st.info("Select a run to see its details, or several to compare them.")
        return
    show_run_actions(store, runs)
    ids, is_running = [run["id"] for run in runs], any(run["status"] == "running" for run in runs[:MOST_CURVES])
    show = session.explain_errors(lambda: show_selected_runs(store, ids))
    st.fragment(show, run_every=REFRESH_SECONDS if is_running else None)()


@session.explain_errors
def show_page() -> None:
    store = session.get_store()
    session.show_toast()
    if not any(store.counts().values()):
        session.show_notices()
        show_empty_store()
        return
    st.html(f"<style>{STYLE}</style>")
    with st.container(key="runs-list"):
        st.title("Runs")
        notices, sweeps = st.container(), session.read_sweeps(store)
        with st.container(key="runs-filters"):
            which, run_filter = choose_filter(store, sweeps)
        runs = find_selected_runs(store)
        with notices:
            session.show_notices()
        show_list(store, which, run_filter, runs)
    if which == "Runs":
        show_selection(store, runs)
        return
    if run_filter.sweep is None:
        st.info("Select a sweep to open, rename, stop, resume or delete it.")
    else:
        show_sweep_actions(store, sweeps[run_filter.sweep])
    show_store_size(store)


show_page()
