"""A table of the paper on the page Paper: its numbers next to ours, buttons to run it, and the export menu."""

from functools import partial
from typing import Any

import components
import session
import streamlit as st
from export_menu import Files, show_export_button, show_files
from text import escape_markdown

from mgem_core.analysis.significance import LEAST_SEEDS
from mgem_core.config.sweeps import missing_data
from mgem_core.figures import paper_differences
from mgem_core.figures.page import Page
from mgem_core.figures.paper_files import FORMATS, as_file, file_name
from mgem_core.figures.paper_findings import table_finding
from mgem_core.figures.paper_table import OWN, SHIPPED, Entry, read_entries
from mgem_core.paper import published
from mgem_core.paper.selection import published_results
from mgem_core.paper.tables import POST_HOC, SCALES, TABLES, Scale, Table, sweep_of
from mgem_core.store import Store
from paper.run_this import ask_to_run
from paper.table_rows import DAGGER, choices_in_words, columns, table_rows

IN_URL: dict[str, Any] = {"bind": "query-params"}
EXPLANATION = (
    "± is the standard error over seeds. The paper does not say what its ± is; we assume the same. Differences are ours "
    "minus the paper's, with both errors combined. Bold: the difference in ACC is significant (Student's t over at least "
    f"{LEAST_SEEDS} of our seeds, after Holm's correction over the rows). FWD and BWD are not tested."
)
UNTESTED = "± is the standard error over seeds. Differences are ours minus the paper's; they are not tested."
SHORT_EXPLANATION = (
    "The short scale trains less than the paper. Differences from the paper are partly due to this, so none is bold."
)


def show_tables(store: Store) -> None:
    """Show the choices of table, scale and numbers, and the table."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        titles = {name: table.title for name, table in TABLES.items()}
        options: dict[str, Any] = {"format_func": titles.__getitem__, "on_change": _open_chosen_table, "args": (store,)}
        name = st.selectbox("Table", list(titles), key="table", width=300, **options, **IN_URL)
        table = TABLES[name]
        scale = _choose_scale(store, table)
        entries = _read_entries(store, table, scale)
        source = _choose_source(entries)
    _show_table(table, scale, entries, source)


def _choose_scale(store: Store, table: Table) -> Scale:
    if st.session_state.get("scale") is None:
        st.session_state["scale"] = st.query_params.get("scale")
    if st.session_state["scale"] not in SCALES:
        st.session_state["scale"] = scale_with_results(store, table)
    scale = st.segmented_control("Scale of our runs", SCALES, key="scale", required=True, **IN_URL)
    return scale or SCALES[0]


def scale_with_results(store: Store, table: Table) -> Scale:
    """Return the first scale at which this version has results, or else the user; without results, the first."""
    for scale in SCALES:
        if published_results(table.name, scale):
            return scale
    return next((scale for scale in SCALES if any(entry.result for entry in _read_entries(store, table, scale))), SCALES[0])


def open_table(store: Store, name: str) -> None:
    """Choose a table, and the scale that has results; a callback."""
    st.session_state["table"] = name
    _open_chosen_table(store)


def _open_chosen_table(store: Store) -> None:
    st.session_state["scale"] = scale_with_results(store, TABLES[st.session_state["table"]])


def _choose_source(entries: list[Entry]) -> str:
    """Return whose numbers to compare with the paper's; ask if the user has runs of this table, too."""
    found = {entry.source for entry in entries}
    sources = [source for source in (SHIPPED, OWN) if source in found]
    if len(sources) < 2:
        return sources[0] if sources else SHIPPED
    options: dict[str, Any] = {"default": SHIPPED, "required": True, "key": "numbers"}
    return st.segmented_control("Compare with the paper", sources, **options, **IN_URL) or SHIPPED


def _show_table(table: Table, scale: Scale, entries: list[Entry], source: str) -> None:
    spec = sweep_of(table, scale)
    missing = missing_data(spec.runs())
    if finding := table_finding(entries, source, scale):
        st.markdown(f"**{escape_markdown(finding)}**")
    rows = table_rows(table, scale, entries, source, can_run=not missing)
    description = f"{table.title}: the paper's numbers, {source}, and the differences"
    press = partial(_ask_for_row, table, scale)
    components.show_table(columns(source), rows, f"table {table.name} {scale}", description, on_press=press, is_whole=True)
    if missing:
        st.warning(escape_markdown(missing))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Run this table", on_click=_ask, args=(table, scale), disabled=bool(missing))
        _show_export_menu(table, scale, entries)
    _show_differences(entries)
    _show_notes(table, scale, entries)


def _show_differences(entries: list[Entry]) -> None:
    """Show the differences from GEM within our results and within the user's runs."""
    for title, sentences in paper_differences.by_source(entries).items():
        st.markdown("\n".join([f"**{title}**\n", *(f"- {escape_markdown(sentence)}" for sentence in sentences)]))


def _read_entries(store: Store, table: Table, scale: Scale) -> list[Entry]:
    subject = (table.name, scale, published.version(table.name))
    read = partial(read_entries, store, table, scale)
    found: list[Entry] = session.read_once(f"entries of a paper's table, {scale}", store, subject, read)
    return found


def _ask(table: Table, scale: Scale) -> None:
    ask_to_run(f"{table.title}, {scale} scale", sweep_of(table, scale))


def _ask_for_row(table: Table, scale: Scale, key: str) -> None:
    """Ask whether to run the row with this key, which is its label."""
    rows = [row for row in table.rows if row.label == key]
    if rows:
        ask_to_run(f"{rows[0].label}, {table.title}, {scale} scale", sweep_of(table, scale, rows))


def _show_notes(table: Table, scale: Scale, entries: list[Entry]) -> None:
    st.caption(escape_markdown(" ".join(filter(None, [table.cut if scale == "short" else "", table.assumed]))))
    for note in dict.fromkeys(row.note for row in table.rows if row.note):
        labels = ", ".join(row.label for row in table.rows if row.note == note)
        st.caption(escape_markdown(f"{DAGGER} {labels}: {note}"))
    explanation = SHORT_EXPLANATION if scale == "short" else EXPLANATION if table.is_protocol else UNTESTED
    st.caption(f"{explanation} {POST_HOC}")
    if not any(entry.source == SHIPPED for entry in entries):
        elsewhere = "" if published.read(table.name)[0].empty else " There are some at the other scale."
        st.caption(f"This version has no results at this scale.{elsewhere}")
    if sentences := choices_in_words(entries):
        with st.expander("Which strengths and learning rates were chosen, and on which seeds"):
            st.markdown("\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences))


def _show_export_menu(table: Table, scale: Scale, entries: list[Entry]) -> None:
    def file(format: str, page: Page) -> str:
        return file_name(table, scale, format)

    def make(format: str, page: Page) -> bytes:
        return as_file(table, scale, entries, format)

    show_export_button(f"{table.name} {scale}", partial(show_files, Files(table.name, FORMATS, False, file, make)))
