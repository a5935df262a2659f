"""The export menu: what a page shows, as a file in one of several formats."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import streamlit as st
from text import benchmark_title

from mgem_core.analysis import View
from mgem_core.figures import files
from mgem_core.learners import shares_network
from mgem_core.store import Store

TITLES = {"pareto": "Frontier", "transfer": "Transfer", "matrix": "R heat maps", "table": "Table", "configs": "Configs"}
FORMATS = {**{name: name.upper() for name in ("png", "svg", "pdf", "html", "csv", "json")}, "latex": "LaTeX"}


def show_export_menu(store: Store, sweep: int | None, view: View, runs: list[int] | None = None) -> None:
    """A menu for a sweep, or for these runs: a choice of the content, and a button for each format of it."""
    with st.popover("Export"):
        what = st.selectbox("Content", list(TITLES), format_func=TITLES.__getitem__, key="export what")
        benchmarks = store.benchmarks(runs or []) if what != "configs" else []
        if len(benchmarks) > 1:
            benchmark = st.selectbox("Benchmark", benchmarks, format_func=benchmark_title, key="export on")
            view = replace(view, benchmark=benchmark)
        if not _is_available(store, what, view, sweep, runs or []):
            st.info("There are no results of this kind to export yet.")
            return
        source = files.name_of(store, sweep, runs)
        names = {format: files.filename(source, what, format, view) for format in files.WHATS[what]}
        st.caption(Path(next(iter(names.values()))).stem)
        with st.container(horizontal=True):
            for format, name in names.items():
                # Called from another thread, where neither the session nor its store can be used.
                make = partial(_make_file, store.path, sweep, what, format, view, runs)
                st.download_button(FORMATS[format], make, name, on_click="ignore", key=f"export {what} {format}")


def _is_available(store: Store, what: str, view: View, sweep: int | None, runs: list[int]) -> bool:
    """Has some run measured what the file shows? Called at every rerun, so it reads no measurements."""
    if what == "configs":
        return True
    ids = runs if sweep is None else None
    values = store.run_values(["id", "benchmark", "method", "status"], ids, sweep)
    benchmark = view.benchmark or next((row[1] for row in values), "")
    usable = [row for row in values if row[1] == benchmark]
    if what == "transfer":
        usable = [row for row in usable if shares_network(row[2])]
    if what == "matrix" and sweep is not None:  # means over seeds, of finished runs alone
        usable = [row for row in usable if row[3] == "finished"]
    usable_ids = [row[0] for row in usable]
    if what == "pareto":
        return store.has_events(usable_ids, "Probed", view.pair[1] if view.pair else 1)
    return store.has_events(usable_ids, "TaskLearned")


def _make_file(path: Path, sweep: int | None, what: str, format: str, view: View, runs: list[int] | None) -> bytes:
    store = Store(path)
    try:
        return files.export(store, sweep, what, format, view, runs)
    finally:
        store.close()
