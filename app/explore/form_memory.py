"""The edited form, which the browser keeps for its tab and sends with the first request after a reload."""

from pathlib import Path
from urllib.parse import unquote

import streamlit as st
from components import read_sources, register

COOKIE = "mgem-form"  # as in form_memory.js
_form_memory = register("form_memory", None, read_sources(Path(__file__).with_name("js") / "form_memory.js"))


def keep_form(form: str) -> None:
    """Let the browser keep this text; if it is empty, what it has kept before stays."""
    _form_memory(key="form memory", data={"form": form})


def kept_form() -> str:
    """Return the text that the browser kept before this session began; empty if there is none."""
    return unquote(_text(st.context.cookies.get(COOKIE)))


def this_server() -> str:
    """Return the address of this dashboard; browsers send a cookie to every port of a host."""
    return _text(st.context.headers.get("Host"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""  # without a browser, as in AppTest, values are mocks
