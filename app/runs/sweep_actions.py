"""Buttons for the selected sweep, and for the store."""

from typing import Any

import session
import streamlit as st
from text import escape_markdown

from mgem_core import UsageError
from mgem_core.store import Store
from mgem_core.text import file_size, pluralize
from runs.run_actions import show_stop_and_resume
from runs.sweep_list import select_sweep

LONGEST_NAME = 80


def show_sweep_actions(store: Store, row: dict[str, Any]) -> None:
    """Show the buttons for a sweep of `Store.sweeps`."""
    sweep = row["id"]
    st.subheader(escape_markdown(f"{row['name']} · s{sweep}"))
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Open on Explore", type="primary"):
            st.switch_page(session.EXPLORE_PAGE, query_params={"sweep": f"s{sweep}"})
        st.button("Show its runs", on_click=lambda: st.session_state.update({"list": "Runs", "find": ""}))
        # The key contains the name, so that renaming gives a new menu, which is closed.
        with st.popover("Rename", key=f"rename s{sweep} {row['name']}", on_change="rerun"), st.form("rename", border=False):
            name = st.text_input("New name", row["name"], max_chars=LONGEST_NAME, key=f"name of s{sweep}")
            if st.form_submit_button("Rename") and (name or "").strip():
                store.rename(sweep, name.strip())
                st.rerun()
        show_stop_and_resume(store, store.run_ids(sweep), row)
        show_delete_menu(store, row)


def show_delete_menu(store: Store, row: dict[str, Any]) -> None:
    sweep, has_ended = row["id"], not (row["queued"] or row["running"])
    help = None if has_ended else "The sweep has not ended; stop it first."
    with st.popover("Delete", disabled=not has_ended, help=help):
        shared = store.count_shared_runs(sweep)
        deleted = pluralize(row["runs"] - shared, "run")
        st.markdown(f"Delete this sweep and {deleted} that no other sweep contains? This cannot be undone.")
        if shared:
            st.markdown(f"{pluralize(shared, 'run')} that other sweeps also contain will be kept.")
        if st.button(f"Delete s{sweep}", type="primary"):
            store.delete_sweep(sweep)
            select_sweep([])
            session.queue_toast(f"s{sweep} deleted.")
            st.rerun()


def show_store_size(store: Store) -> None:
    """Show the size of the store, and a button that frees the space of deleted runs."""
    used, free = store.size()
    with st.container(horizontal=True, vertical_alignment="center"):
        freeable = f"; deleting runs left another {file_size(free)} unused" if free else ""
        st.markdown(f"The store uses {file_size(used)}{freeable}.", width="content")
        if free and st.button("Compact", type="tertiary", help="Return the space of deleted runs to the disk."):
            try:
                store.compact()
                session.queue_toast("The store has been compacted.")
            except UsageError as error:
                session.queue_notice(escape_markdown(str(error)))
            st.rerun()
