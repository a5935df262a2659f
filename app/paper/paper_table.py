"""A table of the paper on the page Paper: its numbers next to ours, buttons to run it, and the export menu."""

from functools import partial
from typing import Any

import components
import session
import streamlit as st
from text import escape_markdown

from mgem_core.analysis.significance import LEAST_SEEDS
from mgem_core.config.sweeps import missing_data
from mgem_core.figures import FORMATS as FORMAT_TITLES
from mgem_core.figures import paper_differences
from mgem_core.figures.paper_files import FORMATS, as_file, file_name
from mgem_core.figures.paper_table import SHIPPED, Entry, read_entries
from mgem_core.paper import published
from mgem_core.paper.tables import SCALES, TABLES, Scale, Table, sweep_of
from mgem_core.store import Store
from paper.run_this import ask_to_run
from paper.table_rows import COLUMNS, DAGGER, choices_in_words, table_rows

IN_URL: dict[str, Any] = {"bind": "query-params"}
EXPLANATION = (
    "± is the standard error over seeds. The paper does not say what its ± is; we assume the same. Differences are ours "
    "minus the paper's, with both errors combined. Bold: the difference in ACC is significant (Student's t over at least "
    f"{LEAST_SEEDS} of our seeds, after Holm's correction over the rows). FWD and BWD are not tested."
)
SHORT_EXPLANATION = (
    "The short scale trains less than the paper. Differences from the paper are partly due to this, so none is bold."
)


def choose_table() -> tuple[Table, Scale]:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        titles = {name: table.title for name, table in TABLES.items()}
        name = st.selectbox("Table", list(titles), format_func=titles.__getitem__, key="table", width=300, **IN_URL)
        options: dict[str, Any] = {"default": SCALES[0], "required": True}
        scale = st.segmented_control("Scale of our runs", SCALES, key="scale", **options, **IN_URL)
    return TABLES[name], scale or SCALES[0]


def show_table(store: Store, table: Table, scale: Scale) -> None:
    spec = sweep_of(table, scale)
    missing = missing_data(spec.runs())
    entries = _read_entries(store, table, scale)
    st.markdown(" ".join([*([table.cut] if scale == "short" else []), table.assumed]))
    if missing:
        st.warning(escape_markdown(missing))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Run this table", on_click=_ask, args=(table, scale), disabled=bool(missing))
        _show_export_menu(table, scale, entries)
    rows = table_rows(table, scale, entries, can_run=not missing)
    description = f"{table.title}: the paper's numbers, ours and yours"
    press = partial(_ask_for_row, table, scale)
    components.show_table(COLUMNS, rows, f"table {table.name} {scale}", description, on_press=press, is_whole=True)
    _show_differences(entries)
    _show_notes(table, scale, entries)


def _show_differences(entries: list[Entry]) -> None:
    """Show the differences from GEM within our results and within the user's runs."""
    for title, sentences in paper_differences.by_source(entries).items():
        st.markdown("\n".join([f"**{title}**\n", *(f"- {escape_markdown(sentence)}" for sentence in sentences)]))


def _read_entries(store: Store, table: Table, scale: Scale) -> list[Entry]:
    subject = (table.name, scale, published.version(table.name))
    read = partial(read_entries, store, table, scale)
    found: list[Entry] = session.read_once("entries of a paper's table", store, subject, read)
    return found


def _ask(table: Table, scale: Scale) -> None:
    ask_to_run(f"{table.title}, {scale} scale", sweep_of(table, scale))


def _ask_for_row(table: Table, scale: Scale, key: str) -> None:
    """Ask whether to run the row with this key, which is "label/source"."""
    rows = [row for row in table.rows if row.label == key.partition("/")[0]]
    if rows:
        ask_to_run(f"{rows[0].label}, {table.title}, {scale} scale", sweep_of(table, scale, rows))


def _show_notes(table: Table, scale: Scale, entries: list[Entry]) -> None:
    for note in dict.fromkeys(row.note for row in table.rows if row.note):
        labels = ", ".join(row.label for row in table.rows if row.note == note)
        st.caption(escape_markdown(f"{DAGGER} {labels}: {note}"))
    st.caption(SHORT_EXPLANATION if scale == "short" else EXPLANATION)
    if not any(entry.source == SHIPPED for entry in entries):
        elsewhere = "" if published.read(table.name)[0].empty else " There are some at the other scale."
        st.caption(f"This version has no results at this scale.{elsewhere}")
    if sentences := choices_in_words(entries):
        with st.expander("Which strengths and learning rates were chosen, and on which seeds"):
            st.markdown("\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences))


def _show_export_menu(table: Table, scale: Scale, entries: list[Entry]) -> None:
    with st.popover("Export"), st.container(horizontal=True):
        for format in FORMATS:
            make = partial(as_file, table, scale, entries, format)
            options: dict[str, Any] = {"on_click": "ignore", "key": f"export {table.name} {scale} {format}"}
            st.download_button(FORMAT_TITLES[format], make, file_name(table, scale, format), **options)
