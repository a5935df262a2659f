"""Take it along: one file of what the page shows."""

from functools import partial
from pathlib import Path

import streamlit as st

from mgem_core.figures import files
from mgem_core.figures.data import View
from mgem_core.store import Store

WHATS = {"pareto": "Frontier", "transfer": "Transfer", "matrix": "R heat maps", "table": "Table", "configs": "Configs"}
FORMATS = {**{name: name.upper() for name in ("png", "svg", "pdf", "html", "csv", "json")}, "latex": "LaTeX"}
NEEDED = {"pareto": "Probed", "transfer": "TaskLearned", "matrix": "TaskLearned", "table": "TaskLearned"}  # events


def offer(store: Store, sweep: int | None, view: View, runs: list[int] | None = None) -> None:
    """Choose what and how, and download it."""
    with st.popover("Export"):
        what = st.selectbox("What", list(WHATS), format_func=WHATS.__getitem__, key="export what")
        format = st.segmented_control(
            "Format", files.WHATS[what], format_func=FORMATS.__getitem__, default=files.WHATS[what][0], required=True
        )
        assert format is not None
        if not _ready(store, what, store.runs_of(sweep) if sweep is not None else runs or []):
            st.info("There is nothing to take along yet; wait for the first points.")
            return
        name = files.filename(files.name_of(store, sweep, runs), what, format, view)
        st.caption(name)
        made = partial(_made, store.path, sweep, what, format, view, runs)  # plain values: it runs in another thread
        st.download_button("Download", made, name, on_click="ignore", type="primary", width="stretch")


def _ready(store: Store, what: str, runs: list[int]) -> bool:
    marks = ",".join(map(str, runs))
    return what == "configs" or bool(
        store.rows(f"SELECT 1 FROM events WHERE kind = ? AND run IN ({marks}) LIMIT 1", NEEDED[what])
    )


def _made(path: Path, sweep: int | None, what: str, format: str, view: View, runs: list[int] | None) -> bytes:
    store = Store(path)
    try:
        return files.export(store, sweep, what, format, view, runs)
    finally:
        store.close()
