"""Runs: everything ever run, to find, open, compare, stop, resume and delete."""

from datetime import tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import compare
import listing
import opened
import parts
import state
import streamlit as st
from listing import plain, several
from opened import notice

from mgem_core import UsageError
from mgem_core.store import ENDED, STATUSES, RunFilter, Store

MEBIBYTE = 2**20


def nothing_yet() -> None:
    st.title("Nothing has been run yet")
    st.markdown("Every sweep and run will be listed here, with all it told.")
    st.page_link(opened.EXPLORE, label="Launch some on Explore →")


def ask(store: Store, sweeps: dict[int, dict[str, Any]]) -> tuple[str, RunFilter]:
    """What to list; every choice is in the URL."""
    bound: dict[str, Any] = {"bind": "query-params"}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        what = st.radio("List", ["Runs", "Sweeps"], horizontal=True, key="list", width="content", **bound)
        hint = "r12, GEM, rotations, failed …" if what == "Runs" else "s3, a name …"
        text = st.text_input("Find", key="find", type="search", live=True, placeholder=hint, width=240, **bound) or ""
        sweep = choose_sweep(sweeps, what == "Runs")
        if what == "Sweeps":
            return what, RunFilter(text, sweep=sweep)
        benchmark, known = None, listing.benchmarks(store)
        if len(known) > 1:
            look: dict[str, Any] = {"index": None, "placeholder": "All benchmarks", "width": 220}
            benchmark = st.selectbox("Benchmark", known, key="benchmark", **look, **bound)
        statuses = st.pills("Status", STATUSES, selection_mode="multi", key="status", **bound)
    return what, RunFilter(text, statuses, sweep, benchmark or "")


def choose_sweep(sweeps: dict[int, dict[str, Any]], show: bool) -> int | None:
    """The sweep to look at; the session keeps it, and the URL tells it, from which it starts."""
    asked = st.session_state.setdefault("of sweep", st.query_params.get("sweep") or None)
    known = {f"s{sweep}": sweep for sweep in sweeps}
    if asked and state.parse_id(asked, "s") not in sweeps:
        notice(f"There is no sweep {state.quote(asked)} in this store.")
        asked = None
    if asked:
        asked = f"s{state.parse_id(asked, 's')}"  # s01 is s1
    st.session_state["of sweep"] = asked
    if st.query_params.get("sweep") != asked:
        state.put_in_url("sweep", [asked] if asked else [])
    if show:
        st.session_state["in sweep"] = asked
        st.selectbox(
            "Sweep",
            list(known),
            index=None,
            format_func=lambda key: f"{sweeps[known[key]]['name']} · {key}",
            key="in sweep",
            on_change=lambda: st.session_state.update({"of sweep": st.session_state["in sweep"]}),
            placeholder="All sweeps",
            width=220,
        )
    return known[asked] if asked else None


def choose_runs(store: Store) -> list[dict[str, Any]]:
    """The runs to look at; the session keeps them, and the URL tells them, from which they start."""
    told = st.query_params.get("runs", "")
    asked = st.session_state.setdefault("runs", [key for key in told.split(",") if key])
    ids = {key: state.parse_id(key, "r") for key in asked}
    found = compare.chosen(store, [run for run in ids.values() if run is not None])
    keys = [f"r{run['id']}" for run in found]
    if unknown := [key for key, run in ids.items() if f"r{run}" not in keys]:
        some = ", ".join(map(state.quote, unknown[:5])) + (" …" if len(unknown) > 5 else "")
        notice(f"There is no run {some} in this store.")
    st.session_state["runs"] = keys
    if told != ",".join(keys):
        state.put_in_url("runs", keys)
    return found


def choose(name: str, value: Any) -> None:
    st.session_state[name] = value


def list_runs(store: Store, asked: RunFilter, chosen: list[str]) -> None:
    rows, total = listing.listed(store, asked)
    shown = [f"r{row['id']}" for row in rows]
    with st.container(horizontal=True, vertical_alignment="center"):
        told = several(total, "run") if total else "No run is like that; take a filter away."
        if total > len(rows):
            told = f"{len(rows):,} of {total:,} runs; search or filter to see others."
        st.markdown(told, width="content")
        if not set(shown) <= set(chosen) and st.button(f"Choose these {len(rows)}", type="tertiary"):
            choose("runs", list(dict.fromkeys([*chosen, *shown])))
        if chosen and st.button("Choose none", type="tertiary"):
            choose("runs", [])
    clock = zone()
    table = [listing.run_row(row, clock) for row in rows]
    about = "Runs, the newest first"
    parts.table(listing.RUN_COLUMNS, table, "runs table", about, chosen, lambda keys: choose("runs", keys))


def list_sweeps(store: Store, asked: RunFilter, chosen: list[str]) -> None:
    clock, rows = zone(), listing.sweeps(store, asked.text)
    st.markdown(several(len(rows), "sweep") if rows else "No sweep has such a name.")
    table = [listing.sweep_row(row, clock) for row in rows]
    about = "Sweeps, the newest first"
    parts.table(
        *(listing.SWEEP_COLUMNS, table, "sweeps table", about, chosen),
        lambda keys: choose("of sweep", keys[-1] if keys else None),
    )


def zone() -> tzinfo | None:
    """Where the reader's clock is."""
    try:
        return ZoneInfo(st.context.timezone or "")
    except (ValueError, ZoneInfoNotFoundError):
        return None


def act_on_sweep(store: Store, sweep: int) -> None:
    row = next(row for row in listing.sweeps(store) if row["id"] == sweep)
    runs, ended = store.run_ids(sweep), sum(row[status] for status in ENDED) == row["runs"]
    st.subheader(plain(f"{row['name']} · s{sweep}"))
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Open on Explore", type="primary"):
            st.switch_page(opened.EXPLORE, query_params={"sweep": f"s{sweep}"})
        st.button("List its runs", on_click=lambda: st.session_state.update({"list": "Runs", "find": ""}))
        with st.popover("Rename"), st.form("rename", border=False):
            name = st.text_input("New name", row["name"], max_chars=80, key=f"name of s{sweep}")
            if st.form_submit_button("Rename") and (name or "").strip():
                store.rename(sweep, name.strip())
                st.rerun()
        opened.stop_and_resume(store, runs, row)
        with st.popover("Delete", disabled=not ended, help=None if ended else "It has not ended; stop it first"):
            shared = store.count_shared_runs(sweep)
            st.markdown(f"Delete this sweep and {several(len(runs) - shared, 'run')} of its own? This cannot be undone.")
            if shared:
                st.markdown(f"{several(shared, 'run')} that other sweeps have, too, will stay.")
            if st.button(f"Delete s{sweep}", type="primary"):
                store.delete_sweep(sweep)
                choose("of sweep", None)
                state.later(f"s{sweep} deleted.")
                st.rerun()


def room(store: Store) -> None:
    """How large the store is, and a way to give back what deleted runs left."""
    used, free = store.size()
    with st.container(horizontal=True, vertical_alignment="center"):
        left = f", and {free / MEBIBYTE:,.1f} MiB that deleted runs left" if free else ""
        st.markdown(f"The store holds {used / MEBIBYTE:,.1f} MiB{left}.", width="content")
        if free and st.button("Compact", type="tertiary", help="Give that room back to the disk"):
            try:
                store.compact()
                state.later("The store is compact.")
            except UsageError as error:
                notice(plain(str(error)))
            st.rerun()


@state.explain_errors
def page() -> None:
    store = state.store()
    state.say()
    if not sum(store.counts().values()):
        nothing_yet()
        return
    place = st.container()
    what, asked = ask(store, state.sweeps(store))
    chosen = choose_runs(store)
    active, statuses = not state.over(store.counts()), [run["status"] for run in chosen]
    counts = store.counts(asked.sweep)
    ids, keys, of_sweep = [run["id"] for run in chosen], st.session_state["runs"], st.session_state["of sweep"]
    if notices := st.session_state.pop("notices", []):
        place.warning(" ".join(notices))

    @state.explain_errors
    def live() -> None:
        """The list as it is now; the whole page follows when the choice or the chosen runs have changed."""
        state.rerun_if_replaced(store)
        if active and (problem := state.keep_runner()):
            st.error(plain(problem))
        if what == "Runs":
            list_runs(store, asked, st.session_state["runs"])
        else:
            list_sweeps(store, asked, [st.session_state["of sweep"]] if st.session_state["of sweep"] else [])
        if active and state.over(store.counts()):
            state.later("All runs have ended.")
            st.rerun()
        now = [run["status"] for run in compare.chosen(store, ids)]
        ended = asked.sweep is not None and state.over(counts) != state.over(store.counts(asked.sweep))
        if ended or (st.session_state["runs"], st.session_state["of sweep"], now) != (keys, of_sweep, statuses):
            st.rerun()

    st.fragment(live, run_every=1.0 if active else None)()
    if what == "Sweeps":
        if asked.sweep:
            act_on_sweep(store, asked.sweep)
        else:
            st.info("Choose a sweep to open, rename, stop, resume or delete it.")
        room(store)
    elif chosen:
        opened.act(store, chosen)
        moving = any(run["status"] == "running" for run in chosen[: opened.MOST])
        show = state.explain_errors(lambda: opened.show(store, ids, zone()))
        st.fragment(show, run_every=1.0 if moving else None)()
    else:
        st.info("Choose a run to see it in full, or several to compare them.")


page()
