"""The page Explore: the workbench, which the feed keeps up to date, and the form that launches sweeps."""

from functools import partial
from typing import Any

import runner_process
import session
import streamlit as st
from export_menu import show_export_dialog, show_figures_to_export
from paper.run_this import show_question

from explore.component import show_workbench
from explore.launch import show_launch_panel
from explore.source_choice import FILES, chosen_source, offered_sources, opened_files, read_sources, show_file_dialog
from explore.sources import Source
from explore.sweep_controls import choose_view, stop_or_resume
from explore.sweep_results import show_results
from explore.training import handle_trigger
from mgem_core.analysis.aggregate import View
from mgem_core.store import Store

MORE = "More figures of the trained runs"
MORE_SECONDS = 2.0  # between updates while runs train


def show_source(store: Store) -> Source:
    """Show a source in the workbench; return it."""
    sources = read_sources(store)
    source = chosen_source(store, sources)
    counts = read_counts(store, source)  # read once, so that the button and the check for changes agree
    has_runs = source.sweep is not None or bool(source.runs)
    bar: dict[str, Any] = {
        **{"sources": offered_sources(sources, source.key), "source": source.key, "canExport": has_runs},
        "action": stop_or_resume(store, source.sweep, counts) if source.sweep is not None and counts else None,
    }

    def handle(name: str, value: Any) -> None:
        handle_trigger(store, source, name, value)

    if messages := opened_files(source):
        bar |= {
            "sources": [(FILES, messages[0]["title"]), *bar["sources"]],
            "source": FILES,
            "canExport": False,
            "action": None,
        }
        show_workbench(FILES, "", bar, handle, messages)
        return source
    show_workbench(source.key, f"{store.version()[0]}", bar, handle)
    view = show_more(store, source.sweep, counts) if source.sweep is not None else View()
    if has_runs:
        show = partial(show_figures_to_export, store, source.sweep, view, list(source.runs) or None)
        show_export_dialog(source.key, show)
    follow_changes(store, source, counts)
    return source


def read_counts(store: Store, source: Source) -> dict[str, int]:
    return {} if source.sweep is None else store.counts(source.sweep)


def show_more(store: Store, sweep: int, counts: dict[str, int]) -> View:
    """Offer the other figures of a sweep; they are drawn, and updated while runs train, only if the user wants them."""
    if "plots" in st.query_params:  # an old link to these figures
        st.session_state.setdefault("more", True)
        session.put_in_url("more", ["true"])  # so that a copied link shows them, too
    if not st.toggle(MORE, key="more", bind="query-params"):
        return View()
    view, plots = choose_view(store, sweep)
    is_active = not session.all_ended(counts)

    @session.explain_errors
    def show_current_results() -> None:
        session.rerun_if_replaced(store)
        if not store.run_ids(sweep):  # deleted on another page
            st.rerun()
        with session.lagging(is_active):
            show_results(store, sweep, view, plots)

    st.fragment(show_current_results, run_every=MORE_SECONDS if is_active else None)()
    return view


def follow_changes(store: Store, source: Source, counts: dict[str, int]) -> None:
    """Run the page again when a sweep is added or removed, or when the runs of this one start or end.

    This draws nothing: the feed updates the workbench.
    """
    before, state = st.session_state.get("shown state"), (source.key, describe_state(counts))
    st.session_state["shown state"] = state
    if before == (source.key, "active") and state[1] != "active":
        st.toast("The sweep has ended.")

    def read() -> Any:
        return list(session.read_sweeps(store)), describe_state(read_counts(store, source))

    session.rerun_when_changed(store, "state of the sweeps", read, (list(session.read_sweeps(store)), state[1]))


def describe_state(counts: dict[str, int]) -> str:
    """Return whether runs are active, were stopped, or have all finished: the button next to the sweep depends on it."""
    if not session.all_ended(counts):
        return "active"
    return "stopped" if counts.get("cancelled") or counts.get("failed") else "finished"


@session.explain_errors
def show_page() -> None:
    store = session.get_store()
    session.show_toast()
    session.show_notices()
    with st.sidebar, st.container(key="sidebar"):
        st.html("<span></span>")  # so that the sidebar has its width before the form, which takes longer, is there
    source = show_source(store)
    with st.sidebar:
        show_launch_panel(store, source.sweep)
    show_question(store)
    show_file_dialog(source)
    if "runner woken" not in st.session_state:
        st.session_state["runner woken"] = True
        runner_process.wake_runner()


show_page()
