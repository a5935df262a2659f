"""The filters and the selection of the page Runs; every choice is in the URL."""

from typing import Any

import session
import streamlit as st
from text import abbreviate, quote

from mgem_core.store import STATUSES, RunFilter, Store
from runs.selected_runs import load_runs

Sweeps = dict[int, dict[str, Any]]
FILTERS = ("list", "find", "benchmark", "status")  # keys of widgets, and parameters of the URL


def choose_filter(store: Store, sweeps: Sweeps) -> tuple[str, RunFilter]:
    """Show the filters; return which list to show, "Runs" or "Sweeps", and its filter."""
    in_url: dict[str, Any] = {"bind": "query-params"}
    _restore_filter()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        which = st.radio("List", ["Runs", "Sweeps"], horizontal=True, key="list", width="content", **in_url)
        example = "r12, GEM, rotations, failed …" if which == "Runs" else "s3, a name …"
        options: dict[str, Any] = {"type": "search", "live": True, "placeholder": example, "width": 160}
        text = st.text_input("Find", key="find", **options, **in_url) or ""
        sweep = find_selected_sweep(sweeps)
        if which == "Sweeps":
            return which, RunFilter(text, sweep=sweep)
        show_sweep_filter(sweeps)
        benchmark, benchmarks = None, session.read_once("benchmarks", store, None, store.benchmarks)
        if len(benchmarks) > 1:
            options = {"index": None, "placeholder": "All benchmarks", "width": 190}
            benchmark = st.selectbox("Benchmark", benchmarks, key="benchmark", **options, **in_url)
        statuses = st.pills("Status", STATUSES, selection_mode="multi", key="status", **in_url)
    st.session_state["last filter"] = {name: st.session_state[name] for name in FILTERS if name in st.session_state}
    return which, RunFilter(text, statuses, sweep, benchmark or "")


def _restore_filter() -> None:
    """Restore the filter for a user who returns from another page, perhaps with the browser's Back button.

    When a user leaves a page, Streamlit adds an entry without widget values to the browser's history. When Back leads to
    it, widgets take their defaults, whatever the session holds, and only the next run can set them.
    """
    if session.came_from_another_page() and not any(name in st.query_params for name in FILTERS):
        st.session_state.update(st.session_state.get("last filter", {}))
        st.rerun()


def find_selected_sweep(sweeps: Sweeps) -> int | None:
    """Return the selected sweep. It is first read from the URL; then the session holds it, and the URL is updated."""
    key = st.session_state.setdefault("selected sweep", st.query_params.get("sweep") or None)
    sweep = session.parse_id(key, "s") if key else None
    if key and sweep not in sweeps:
        session.queue_notice(f"There is no sweep {quote(key)} in this store.")
        sweep = None
    key = None if sweep is None else f"s{sweep}"  # s01 becomes s1
    st.session_state["selected sweep"] = key
    session.put_in_url("sweep", [key] if key else [])
    return sweep


def show_sweep_filter(sweeps: Sweeps) -> None:
    """Show a menu of sweeps. It has its own key, because the selection must survive while the menu is not shown."""
    st.session_state["sweep filter"] = st.session_state["selected sweep"]
    titles = {f"s{sweep}": f"{row['name']} · s{sweep}" for sweep, row in sweeps.items()}
    st.selectbox(
        "Sweep",
        list(titles),
        index=None,
        format_func=titles.__getitem__,
        key="sweep filter",
        on_change=lambda: st.session_state.update({"selected sweep": st.session_state["sweep filter"]}),
        placeholder="All sweeps",
        width=170,
    )


def find_selected_runs(store: Store) -> list[dict[str, Any]]:
    """Return the selected runs. They are first read from the URL; then the session holds them, and the URL is updated."""
    keys = st.session_state.setdefault("runs", [key for key in st.query_params.get("runs", "").split(",") if key])
    ids = {key: session.parse_id(key, "r") for key in keys}
    runs = load_runs(store, [run for run in ids.values() if run is not None])
    known = [f"r{run['id']}" for run in runs]
    if unknown := [key for key, run in ids.items() if f"r{run}" not in known]:
        session.queue_notice(f"There is no run {abbreviate(list(map(quote, unknown)), 5)} in this store.")
    st.session_state["runs"] = known
    session.put_in_url("runs", known)
    return runs
