"""Points selected in the plots and rows selected in the table of a sweep; `session.url_selection` reads them."""

import streamlit as st


def select_points(keys: list[str]) -> None:
    """The table shows only the configurations of these points."""
    st.session_state["chosen"] = keys


def mark_rows(keys: list[str]) -> None:
    """The plots show the points of these rows larger."""
    st.session_state["marked"] = keys


def clear_selection() -> None:
    select_points([])
    mark_rows([])
