"""Values of the form that the browser keeps for its tab, because a reload of the page starts a new session."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st
from components import read_sources, register

KEY = "form memory"
_form_memory = register("form_memory", None, read_sources(Path(__file__).with_name("js") / "form_memory.js"))


def keep_form(sweep: str, values: str, edited: bool, on_restore: Callable[[str], None]) -> None:
    """Let the browser keep the values of a form that was edited while it showed this sweep.

    If this session shows the same sweep and the form has not been edited in it, `on_restore` gets the values kept before.
    """
    data = {"sweep": sweep, "values": values, "edited": edited}
    _form_memory(key=KEY, data=data, on_restored_change=lambda: on_restore(str(st.session_state[KEY]["restored"])))
