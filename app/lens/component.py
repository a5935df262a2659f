"""The lens, which runs in the browser."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st
from components import INTERACTIVE_STYLE, read_sources, register

JS = Path(__file__).parents[1] / "explore" / "js"
SOURCES = read_sources(JS / "lens.js", INTERACTIVE_STYLE, JS / "lens.css")
_lens = register("lens", '<div class="interactive lens"></div>', SOURCES)
_trained_runs = register("trained", '<div class="trained-runs"></div>', read_sources(JS / "trained_runs.js"))


def show_lens(payload: dict[str, Any], key: str, on_train: Callable[[dict[str, Any]], None] | None) -> None:
    """Show recorded steps (`lens.payload`); `on_train` gets the settings that the user wants to train.

    All dragging happens in the browser; only the button to train sends a message to the server.
    """
    text = json.dumps(payload)
    data = {"payload": text, "key": hashlib.sha256(text.encode()).hexdigest(), "canTrain": on_train is not None}
    train = on_train or (lambda settings: None)
    callback = {"on_train_change": lambda: train(json.loads(st.session_state[key]["train"]))}
    _lens(key=key, data={**data, "standalone": SOURCES}, **callback)


def send_trained_runs(trained: dict[str, Any], key: str) -> None:
    """Send runs that were trained with settings of the lens (`lens.trained`) to the lens on this page."""
    _trained_runs(key=key, data=json.dumps(trained))
