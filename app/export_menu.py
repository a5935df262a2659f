"""The export dialog: a figure of what the page shows, as it will be printed, and its files and LaTeX."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import session
import streamlit as st
from text import benchmark_title, escape_markdown

from mgem_core.analysis.aggregate import View
from mgem_core.errors import UsageError
from mgem_core.figures import FIGURES, FORMATS
from mgem_core.figures.files import caption, export, file_name, render
from mgem_core.figures.latex_figure import latex_figure
from mgem_core.figures.page import LATEX_FIGURE, PICTURES, WIDTHS, Page
from mgem_core.figures.selection import Selection
from mgem_core.store import Store

OPEN = "to export"  # what the open dialog exports, in the session
COLUMNS = {1: "One column", 2: "Two columns"}
LEGENDS = {"outside": "Below", "inside": "Inside"}
PIXELS = 96  # of an inch on the screen
MOST_LETTERS = 2000
CAPTION_HELP = (
    "Of the LaTeX figure and the HTML file; `$…$` is mathematics. Without a caption, a description of the figure is used."
)


class Files(NamedTuple):
    """The files of one figure. `make` is called from another thread, where the session cannot be used."""

    name: str
    formats: tuple[str, ...]
    has_legend: bool
    file_name: Callable[[str, Page], str]
    make: Callable[[str, Page], bytes]
    preview: Callable[[Page], tuple[bytes, str]] | None = None  # of a figure for paper: a PNG, and a description of it


def show_export_button(subject: object, show: Callable[[], None]) -> None:
    """Show a button that opens the dialog, in which `show` shows what can be exported of this subject."""
    st.button("Export", on_click=ask_to_export, args=(subject,), key=f"export of {subject}")
    show_export_dialog(subject, show)


def ask_to_export(subject: object) -> None:
    """Open the dialog for this subject, in the next run of the page."""
    st.session_state[OPEN] = subject


def show_export_dialog(subject: object, show: Callable[[], None]) -> None:
    """Show the dialog if it was opened for this subject; it stays open when the page runs again."""
    if session.came_from_another_page():
        _forget()
    if st.session_state.get(OPEN) == subject:
        _show_dialog(show)


def _forget() -> None:
    st.session_state.pop(OPEN, None)


@st.dialog("Export", width="medium", on_dismiss=_forget)
@session.explain_errors
def _show_dialog(show: Callable[[], None]) -> None:
    show()


def show_figures_to_export(store: Store, sweep: int | None, view: View, runs: list[int] | None = None) -> None:
    """Show a choice of a figure of a sweep, or of these runs, and its files."""
    of_view = Selection(store, sweep, runs, view, session.measurement_cache)
    names = sorted(FIGURES, key=lambda name: not (FIGURES[name].is_first and FIGURES[name].is_available(of_view)))
    with st.container():
        name = st.selectbox("Content", names, format_func=_title, key="export what")
        figure = FIGURES[name]
        benchmarks = store.benchmarks(runs or []) if figure.uses_view else []
        if len(benchmarks) > 1:
            benchmark = st.selectbox("Benchmark", benchmarks, format_func=benchmark_title, key="export on")
            view = replace(view, benchmark=benchmark)
    selection = Selection(store, sweep, runs, view, session.measurement_cache)
    subject = (name, sweep, runs, view)
    if not session.read_once("can be exported", store, subject, lambda: figure.is_available(selection)):
        st.info(f"{figure.title}: there is nothing to export yet.")
        return
    ids, of_runs = None if runs is None else tuple(runs), selection.name()
    show_files(
        Files(
            name,
            figure.formats,
            figure.has_legend,
            lambda format, page: file_name(of_runs, figure, format, view, page),
            partial(_make_file, store.path, sweep, ids, view, name),
            partial(_preview, store.path, store.version(), sweep, ids, view, name) if figure.printed else None,
        )
    )


def _title(name: str) -> str:
    return FIGURES[name].export_title or FIGURES[name].title


def show_files(files: Files) -> None:
    """Show a picture of the figure with choices of its look, a button for each format, and the LaTeX to include it.

    While this runs, the browser keeps what the previous figure showed. Every button has the same place and key for all
    figures, so that it replaces that of the previous one.
    """
    page, block = Page(), ""
    with st.container():
        if files.preview:
            picture_place = st.container()
            page = _choose_page(files.has_legend)
            picture, described = files.preview(replace(page, caption=""))
            block = latex_figure(files.file_name("pdf", page), page, described, files.name)
            with picture_place.container(width=round(PIXELS * WIDTHS[page.columns])):
                st.image(picture, escape_markdown(page.caption or described), width="stretch", alt=described)
    st.caption(Path(files.file_name(files.formats[0], page)).stem)
    with st.container(horizontal=True):
        for format in (format for format in files.formats if format != LATEX_FIGURE):
            make, file = partial(files.make, format, page), files.file_name(format, page)
            st.download_button(FORMATS[format], make, file, on_click="ignore", key=f"export {format}")
    if block:
        st.caption(f"{FORMATS[LATEX_FIGURE]}, to copy")
        st.code(block, language="latex", wrap_lines=True)


def _choose_page(has_legend: bool) -> Page:
    def choose(title: str, choices: dict[Any, str]) -> Any:
        return st.radio(
            title, list(choices), format_func=choices.__getitem__, horizontal=True, key=f"export {title.lower()}"
        )

    with st.container(horizontal=True):
        columns = choose("Width", COLUMNS)
        legend = choose("Legend", LEGENDS) if has_legend else Page().legend
    words = st.text_input("Caption", help=CAPTION_HELP, max_chars=MOST_LETTERS, key="export caption")
    return Page(columns, legend, words)


def _make_file(
    path: Path, sweep: int | None, runs: tuple[int, ...] | None, view: View, name: str, format: str, page: Page
) -> bytes:
    store = Store(path)
    try:
        return export(Selection(store, sweep, runs, view), name, format, page)
    finally:
        store.close()


@lru_cache(maxsize=32)
def _preview(
    path: Path, version: object, sweep: int | None, runs: tuple[int, ...] | None, view: View, name: str, page: Page
) -> tuple[bytes, str]:
    """Draw the figure once for all sessions, until the store changes."""
    store = Store(path)
    try:
        selection = Selection(store, sweep, runs, view, session.measurement_cache)
        figure = FIGURES[name]
        if figure.data is None:
            raise UsageError(f"{figure.title} has no picture.")
        data = figure.data(selection)
        return render(selection, figure, data, PICTURES[0], page), caption(figure, data, view)
    finally:
        store.close()
