"""Store the selected points of the plots and rows of the table in the URL; `session.url_selection` reads them."""

import streamlit as st


def select_points(keys: list[str]) -> None:
    """Select points: the table then shows only their configurations."""
    st.session_state["chosen"] = keys


def mark_rows(keys: list[str]) -> None:
    """Mark rows: the plots then show their points larger."""
    st.session_state["marked"] = keys


def clear_selection() -> None:
    select_points([])
    mark_rows([])
