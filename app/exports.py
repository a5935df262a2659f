"""Take it along: one file of what the page shows."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import state
import streamlit as st

from mgem_core.analysis import View
from mgem_core.figures import files
from mgem_core.learners import shares_network
from mgem_core.store import Store

WHATS = {"pareto": "Frontier", "transfer": "Transfer", "matrix": "R heat maps", "table": "Table", "configs": "Configs"}
FORMATS = {**{name: name.upper() for name in ("png", "svg", "pdf", "html", "csv", "json")}, "latex": "LaTeX"}


def offer(store: Store, sweep: int | None, view: View, runs: list[int] | None = None) -> None:
    """Choose what; a button for each format downloads it."""
    with st.popover("Export"):
        what = st.selectbox("What", list(WHATS), format_func=WHATS.__getitem__, key="export what")
        several = store.benchmarks(runs or []) if what != "configs" else []
        if len(several) > 1:
            view = replace(view, benchmark=st.selectbox("Benchmark", several, format_func=state.title, key="export on"))
        if not _ready(store, what, view, store.run_ids(sweep) if sweep is not None else runs or [], sweep is None):
            st.info("There is nothing of that to take along yet.")
            return
        of = files.name_of(store, sweep, runs)
        names = {format: files.filename(of, what, format, view) for format in files.WHATS[what]}
        st.caption(Path(next(iter(names.values()))).stem)
        with st.container(horizontal=True):
            for format, name in names.items():
                made = partial(_made, store.path, sweep, what, format, view, runs)  # plain values: for another thread
                st.download_button(FORMATS[format], made, name, on_click="ignore", key=f"export {what} {format}")


def _ready(store: Store, what: str, view: View, runs: list[int], each: bool) -> bool:
    """Has some run told what it takes? Asked at every rerun, so by one look into the store."""
    if what == "configs":
        return True
    values = store.run_values(["id", "benchmark", "method", "status"], runs)
    benchmark = view.benchmark or next((row[1] for row in values), "")
    usable = [row for row in values if row[1] == benchmark]
    if what == "transfer":
        usable = [row for row in usable if shares_network(row[2])]
    if what == "matrix" and not each:
        usable = [row for row in usable if row[3] == "finished"]
    ids = [row[0] for row in usable]
    if what == "pareto":
        return store.has_events(ids, "Probed", view.pair[1] if view.pair else 1)
    return store.has_events(ids, "TaskLearned")


def _made(path: Path, sweep: int | None, what: str, format: str, view: View, runs: list[int] | None) -> bytes:
    store = Store(path)
    try:
        return files.export(store, sweep, what, format, view, runs)
    finally:
        store.close()
