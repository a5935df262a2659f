"""The page Explore. The results of a sweep are computed before the form in the sidebar, because users wait for them."""

from typing import Any

import components
import runner_process
import session
import streamlit as st
from export_menu import show_export_menu

from explore.example import show_example
from explore.launch import launch, show_launch_panel
from explore.sweep_controls import choose_sweep, choose_view, show_link_to_lens, show_stop_or_resume
from explore.sweep_results import show_results
from mgem_core.paper.presets import PRESETS
from mgem_core.store import Store


def show_welcome(store: Store) -> None:
    """Introduce the tool and offer the quick look, for a store without sweeps."""
    st.title("What does it cost to remember?")
    st.markdown(
        "A network that learns one task after another forgets the earlier ones. **GEM** restricts every update so that it "
        "does not harm past tasks; **mGEM** applies this restriction to each module of the network and each part of the "
        "memory separately. Train a few dozen small networks, and watch the trade-off between keeping old tasks and "
        "learning new ones."
    )
    title, description, spec = PRESETS["quick-look"]
    label = f"Run the quick look: {len(spec.runs())} short runs, about a minute"
    st.button(label, type="primary", on_click=launch, args=(store, spec, title))
    st.caption(f"{description}. Or choose your own settings on the left.")
    show_example()
    components.preload_plotly()


def show_sweep(store: Store, sweeps: dict[int, dict[str, Any]]) -> int:
    """Show a sweep with its controls and live results; return its id."""
    with st.container(horizontal=True, vertical_alignment="center"):
        sweep = choose_sweep(sweeps)
        counts = store.counts(sweep)  # read once, so that the button and the polling agree
        show_stop_or_resume(store, sweep, counts)
        if session.all_ended(counts):
            show_link_to_lens(store, sweep)
        export_place = st.container(width="content")
    view, plots = choose_view(store, sweep)
    is_active = not session.all_ended(counts)

    @session.explain_errors
    def show_current_results() -> None:
        session.rerun_if_replaced(store)
        if not store.run_ids(sweep):  # deleted on another page
            st.rerun()
        show_results(store, sweep, view, plots)
        if is_active and session.all_ended(store.counts(sweep)):
            session.queue_toast("The sweep has ended.")
            st.rerun()

    st.fragment(show_current_results, run_every=1.0 if is_active else None)()
    if not is_active:
        session.rerun_when_changed(store, "counts of an ended sweep", lambda: (sweep, store.counts(sweep)))
    with export_place:
        show_export_menu(store, sweep, view)
    return sweep


@session.explain_errors
def show_page() -> None:
    store = session.get_store()
    session.show_toast()
    session.show_notices()
    sweep = None
    if sweeps := session.read_sweeps(store):
        sweep = show_sweep(store, sweeps)
    else:
        show_welcome(store)
        session.rerun_when_changed(store, "has sweeps", lambda: bool(session.read_sweeps(store)))
    with st.sidebar:
        show_launch_panel(store, sweep)
    if "runner woken" not in st.session_state:
        st.session_state["runner woken"] = True
        runner_process.wake_runner()


show_page()
