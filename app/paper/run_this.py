"""The dialog that launches a sweep: it shows the number of runs and the estimated time, then opens Explore."""

from collections.abc import Callable

import session
import streamlit as st
from explore.launch import add_runs, show_estimate, start_sweep
from text import escape_markdown

from mgem_core.config.sweeps import SweepSpec, missing_data
from mgem_core.store import Store


def ask_to_run(name: str, spec: SweepSpec, sweep: int | None = None) -> None:
    """Open the dialog for a new sweep, or for more runs of an existing one; a callback of buttons.

    It stays open until it is answered or dismissed.
    """
    st.session_state["to run"] = name, spec, sweep


def _forget() -> None:
    st.session_state.pop("to run", None)


def show_question(store: Store) -> None:
    """Show the dialog if a button opened it, also when the page reruns because runs have finished."""
    if session.came_from_another_page():
        _forget()
    if asked := st.session_state.get("to run"):
        _ask(store, *asked)


@st.dialog("Run this", on_dismiss=_forget)
def _ask(store: Store, name: str, spec: SweepSpec, sweep: int | None) -> None:
    """Ask before the sweep is launched; Explore then shows it, or an existing one that has exactly these runs."""
    st.markdown(f"**{escape_markdown(name)}**")
    show_launch(store, name, spec, sweep, _forget)


def show_launch(store: Store, name: str, spec: SweepSpec, sweep: int | None, on_launch: Callable[[], None]) -> None:
    """Show the estimate of a sweep and a button that launches it; `on_launch` closes the dialog that shows this."""
    configs = spec.runs()
    missing = missing_data(configs)
    if missing:
        st.warning(escape_markdown(missing))
    problem = missing or show_estimate(store, configs)
    if st.button("Launch", type="primary", disabled=bool(problem)):
        on_launch()
        if not store.is_current():
            st.rerun()  # the page reports that the store was replaced
        if sweep is None:
            sweep = start_sweep(store, spec, name)
        else:
            add_runs(store, sweep, spec)
        st.switch_page(session.EXPLORE_PAGE, query_params={"sweep": f"s{sweep}"})
