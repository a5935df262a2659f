"""The workbench, a component that runs in the browser and gets its data from the feed (`app/feed.py`)."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from components import INTERACTIVE_STYLE, read_sources, register

from explore.header import Message

JS = Path(__file__).with_name("js")
ENTRY, STYLES = JS / "workbench.js", (JS / "workbench.css", JS / "trained.css")
HEIGHT = 620  # pixels at least, so that nothing below the workbench moves when it is drawn
SOURCES = read_sources(ENTRY, INTERACTIVE_STYLE, *STYLES)
HTML = f'<div class="interactive lens" style="min-height: {HEIGHT}px"></div>'
KEY = "workbench"
TRIGGERS = ("train", "live", "gone", "add", "source", "open", "runs", "export")
_workbench = register("workbench", HTML, SOURCES)


def show_workbench(
    source: str,
    identity: str,
    bar: dict[str, Any],
    on_trigger: Callable[[str, Any], None],
    messages: Sequence[Message] | None = None,
) -> None:
    """Show a source; `on_trigger` gets the name and the value of what the user asks for.

    Args:
        source: its key, which names its feed.
        identity: a text that changes when the workbench must begin again with other data.
        bar: what the bar above it offers; see `js/bar.js`.
        messages: all messages about the source, if it has no feed, as files have none.
    """
    text = None if messages is None else json.dumps(messages, allow_nan=False)
    digest = hashlib.sha256((text or "").encode()).hexdigest()[:16]
    data = {
        **{"key": f"{source} {identity} {digest}", "source": source, "messages": text},
        "feed": f"/feed?source={source}" if messages is None else None,
        **{"canTrain": messages is None, "standalone": SOURCES, "bar": bar},
    }

    def callback(name: str) -> Callable[[], None]:
        return lambda: on_trigger(name, read_value(st.session_state[KEY][name]))

    _workbench(key=KEY, data=data, **{f"on_{name}_change": callback(name) for name in TRIGGERS})


def read_value(sent: Any) -> Any:
    """Return the value that the browser sent with a trigger, which may be JSON as text; None if it cannot be read."""
    try:
        return json.loads(sent) if isinstance(sent, str) else sent
    except (ValueError, RecursionError):
        return None
