"""The menu that downloads a figure of what the page shows, in any of its formats."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import state
import streamlit as st

from mgem_core.analysis import View
from mgem_core.figures import FIGURES, FORMATS
from mgem_core.figures.files import export, file_name
from mgem_core.figures.selection import Selection
from mgem_core.store import Store


def offer(store: Store, sweep: int | None, view: View, runs: list[int] | None = None) -> None:
    """Choose a figure; a button for each of its formats downloads it."""
    with st.popover("Export"):
        name = st.selectbox("What", list(FIGURES), format_func=lambda name: FIGURES[name].title, key="export what")
        figure = FIGURES[name]
        benchmarks = store.benchmarks(runs or []) if figure.uses_view else []
        if len(benchmarks) > 1:
            chosen = st.selectbox("Benchmark", benchmarks, format_func=state.title, key="export on")
            view = replace(view, benchmark=chosen)
        selection = Selection(store, sweep, runs, view)
        if not figure.is_available(selection):
            st.info(f"{figure.title}: there is nothing to export yet.")
            return
        files = {format: file_name(selection.name(), figure, format, view) for format in figure.formats}
        st.caption(Path(next(iter(files.values()))).stem)
        with st.container(horizontal=True):
            for format, file in files.items():
                content = partial(_content, store.path, sweep, runs, view, name, format)
                st.download_button(FORMATS[format], content, file, on_click="ignore", key=f"export {name} {format}")


def _content(path: Path, sweep: int | None, runs: list[int] | None, view: View, name: str, format: str) -> bytes:
    """The file's content; Streamlit asks for it in another thread, which needs a separate connection."""
    store = Store(path)
    try:
        return export(Selection(store, sweep, runs, view), name, format)
    finally:
        store.close()
