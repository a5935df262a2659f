"""Take it along: one file of what the page shows."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import state
import streamlit as st

from mgem_core.figures import files
from mgem_core.figures.data import View
from mgem_core.store import Store

WHATS = {"pareto": "Frontier", "transfer": "Transfer", "matrix": "R heat maps", "table": "Table", "configs": "Configs"}
FORMATS = {**{name: name.upper() for name in ("png", "svg", "pdf", "html", "csv", "json")}, "latex": "LaTeX"}


def offer(store: Store, sweep: int | None, view: View, runs: list[int] | None = None) -> None:
    """Choose what and how, and download it."""
    popover = st.popover("Export", on_change="rerun", key="export")
    if not popover.open:  # what follows reads the store once more
        return
    with popover:
        what = st.selectbox("What", list(WHATS), format_func=WHATS.__getitem__, key="export what")
        formats = files.WHATS[what]
        look: dict[str, Any] = {"format_func": FORMATS.__getitem__, "default": formats[0], "required": True}
        format = str(st.segmented_control("Format", formats, **look))
        several = benchmarks(store, runs or []) if what != "configs" else []
        if len(several) > 1:
            view = replace(view, benchmark=st.selectbox("Benchmark", several, format_func=state.title, key="export on"))
        if sentence := files.refusal(store, sweep, what, view, runs):
            st.info(f"{sentence[0].upper()}{sentence[1:]}")
            return
        name = files.filename(files.name_of(store, sweep, runs), what, format, view)
        st.caption(name)
        made = partial(_made, store.path, sweep, what, format, view, runs)  # plain values: it runs in another thread
        st.download_button("Download", made, name, on_click="ignore", type="primary", width="stretch")


def benchmarks(store: Store, runs: list[int]) -> list[str]:
    marks = ",".join("?" * len(runs))
    rows = store.rows(f"SELECT DISTINCT json_extract(config, '$.benchmark') AS name FROM runs WHERE id IN ({marks})", *runs)
    return [row["name"] for row in rows]


def _made(path: Path, sweep: int | None, what: str, format: str, view: View, runs: list[int] | None) -> bytes:
    store = Store(path)
    try:
        return files.export(store, sweep, what, format, view, runs)
    finally:
        store.close()
