"""The export menu: a figure of what the page shows, as a file in any of its formats."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import session
import streamlit as st
from text import benchmark_title

from mgem_core.analysis.aggregate import View
from mgem_core.figures import FIGURES, FORMATS
from mgem_core.figures.files import export, file_name
from mgem_core.figures.selection import Selection
from mgem_core.store import Store


def show_export_menu(store: Store, sweep: int | None, view: View, runs: list[int] | None = None) -> None:
    """Show the menu of a sweep, or of these runs: a choice of the figure, and a button for each of its formats."""
    with st.popover("Export"):
        name = st.selectbox("Content", list(FIGURES), format_func=lambda name: FIGURES[name].title, key="export what")
        figure = FIGURES[name]
        benchmarks = store.benchmarks(runs or []) if figure.uses_view else []
        if len(benchmarks) > 1:
            benchmark = st.selectbox("Benchmark", benchmarks, format_func=benchmark_title, key="export on")
            view = replace(view, benchmark=benchmark)
        selection = Selection(store, sweep, runs, view, session.measurement_cache())
        subject = (name, sweep, runs, view)
        if not session.read_once("can be exported", store, subject, lambda: figure.is_available(selection)):
            st.info(f"{figure.title}: there is nothing to export yet.")
            return
        files = {format: file_name(selection.name(), figure, format, view) for format in figure.formats}
        st.caption(Path(next(iter(files.values()))).stem)
        with st.container(horizontal=True):
            for format, file in files.items():
                make = partial(_make_file, store.path, sweep, runs, view, name, format)
                st.download_button(FORMATS[format], make, file, on_click="ignore", key=f"export {name} {format}")


def _make_file(path: Path, sweep: int | None, runs: list[int] | None, view: View, name: str, format: str) -> bytes:
    """Return the content of the file. Called from another thread, where neither the session nor its store can be used."""
    store = Store(path)
    try:
        return export(Selection(store, sweep, runs, view), name, format)
    finally:
        store.close()
