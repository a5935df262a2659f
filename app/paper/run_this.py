"""The dialog that launches a sweep: it shows the number of runs and the estimated time, then usually opens Explore."""

import session
import streamlit as st
from explore.launch import show_estimate, start_sweep
from text import escape_markdown

from mgem_core.config.sweeps import SweepSpec, missing_data
from mgem_core.store import Store


def ask_to_run(name: str, spec: SweepSpec) -> None:
    """Open the dialog for this sweep; a callback of buttons. It stays open until it is answered or dismissed."""
    st.session_state["to run"] = name, spec


def _forget() -> None:
    st.session_state.pop("to run", None)


def show_question(store: Store, goes_to_explore: bool = True) -> None:
    """Show the dialog if a button opened it, also when the page reruns because runs have finished."""
    if session.came_from_another_page():
        _forget()
    if asked := st.session_state.get("to run"):
        name, spec = asked
        _ask(store, name, spec, goes_to_explore)


@st.dialog("Run this", on_dismiss=_forget)
def _ask(store: Store, name: str, spec: SweepSpec, goes_to_explore: bool) -> None:
    """Ask, launch, and open Explore with the sweep, or with an existing one that has exactly these runs."""
    st.markdown(f"**{escape_markdown(name)}**")
    configs = spec.runs()
    missing = missing_data(configs)
    if missing:
        st.warning(escape_markdown(missing))
    problem = missing or show_estimate(store, configs)
    if st.button("Launch", type="primary", disabled=bool(problem)):
        _forget()
        if not store.is_current():
            st.rerun()  # the page reports that the store was replaced
        sweep = start_sweep(store, spec, name)
        if not goes_to_explore:
            st.rerun()
        st.switch_page(session.EXPLORE_PAGE, query_params={"sweep": f"s{sweep}"})
