"""The list of runs that match the filter: running ones first, then those that have ended, then queued ones."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Any

import components
import streamlit as st
from session import browser_time_zone
from text import format_time

from mgem_core.figures.style import RUNS
from mgem_core.learners import uses
from mgem_core.store import ENDED, RunFilter, Store
from mgem_core.text import MISSING, mean_and_error, pluralize, strength

MOST_ROWS = 500
MOST_CURVES = len(RUNS)  # the number of distinct colours
ORDER = (("running",), ENDED, ("queued",))  # of the list; within each group, the newest runs come first
NO_COLOR = "transparent"
Row = dict[str, Any]
COLUMNS: list[Row] = [
    {"name": "run", "title": "run", "kind": "number"},
    {"name": "label", "title": "method", "kind": "text"},
    {"name": "q", "title": "q", "kind": "number", "help": "memory strength"},
    {"name": "seed", "title": "seed", "kind": "number"},
    {"name": "status", "title": "status", "kind": "text"},
    {"name": "acc", "title": "ACC", "kind": "number", "help": "mean accuracy on all tasks after the last task, %"},
    {"name": "fwd", "title": "FWD", "kind": "number", "help": "mean accuracy on each task directly after learning it, %"},
    {"name": "bwd", "title": "BWD", "kind": "number", "help": "change caused by later tasks: ACC − FWD, in points"},
    {"name": "benchmark", "title": "benchmark", "kind": "text"},
    {"name": "seconds", "title": "seconds", "kind": "number", "help": "time spent on training and measuring"},
    {"name": "created", "title": "when", "kind": "number", "help": "when the run was requested"},
]


def show_run_list(store: Store, run_filter: RunFilter, selected: list[str]) -> None:
    rows, total = find_runs(store, run_filter, MOST_ROWS)
    keys = [f"r{row['id']}" for row in rows]
    with st.container(horizontal=True, vertical_alignment="center"):
        count = pluralize(total, "run") if total else "No run matches; remove a filter."
        if total > len(rows):
            count = f"{len(rows):,} of {total:,} runs; search or filter to see others."
        st.markdown(count, width="content")
        if not set(keys) <= set(selected) and st.button(f"Select these {len(rows)}", type="tertiary"):
            select_runs(list(dict.fromkeys([*selected, *keys])))
        if selected and st.button("Clear selection", type="tertiary"):
            select_runs([])
    zone = browser_time_zone()
    waiting = [row["id"] for row in rows if row["status"] == "queued"]
    others = set(store.requested_with_other_code(waiting)) if waiting else set()
    colors = run_colors(selected)
    table = [run_row({**row, "waits_for_other_code": row["id"] in others}, zone, colors) for row in rows]
    description = "Runs: those that are running, then those that have ended, then those that wait; the newest first"
    components.show_table(COLUMNS, table, "runs table", description, selected, select_runs)


def find_runs(store: Store, run_filter: RunFilter, most: int) -> tuple[list[Row], int]:
    """Return up to `most` runs in the order of the list, and how many the filter selects in all."""
    found: dict[int, Row] = {}  # a run that starts or ends between two of these queries is listed once
    total = 0
    for group in ORDER:
        if statuses := [status for status in group if status in (run_filter.statuses or group)]:
            rows, count = store.find_runs(replace(run_filter, statuses=statuses), most)
            for row in rows:
                found.setdefault(row["id"], row)
            total += count
    return list(found.values())[:most], total


def run_colors(keys: Sequence[str]) -> dict[str, str]:
    """Return the colours of the first selected runs, by key, in the list, the comparison and the curves."""
    return dict(zip(keys, RUNS, strict=False))


def select_runs(keys: list[str]) -> None:
    """Select runs by their keys, such as r12."""
    st.session_state["runs"] = keys


def run_row(row: Mapping[str, Any], zone: tzinfo | None, colors: Mapping[str, str]) -> Row:
    """Return the row of the table for a run of `Store.find_runs`; `colors` are those of the selected runs."""
    q = strength_of(row)
    cells = {
        "run": {"text": f"r{row['id']}", "value": row["id"]},
        "label": {"text": row["label"]},
        "q": {"text": strength(q), "value": q if isinstance(q, float) else None},
        "seed": {"text": f"{row['seed']}", "value": row["seed"]},
        "status": {"text": status_text(row)},
        **{name: {"text": mean_and_error(row[name]), "value": row[name]} for name in ("acc", "fwd", "bwd")},
        "benchmark": {"text": row["benchmark"]},
        "seconds": {"text": MISSING if row["seconds"] is None else f"{row['seconds']:.1f}", "value": row["seconds"]},
        "created": {"text": format_time(row["created"], zone), "value": row["created"]},
    }
    key = f"r{row['id']}"
    return {"key": key, "color": colors.get(key, NO_COLOR), "active": row["status"] not in ENDED, "cells": cells}


def strength_of(row: Mapping[str, Any]) -> Any:
    """Return the strength q, or one q per past task; None for methods without strengths."""
    q = row["strength"] if uses(row["method"], "strength") else None
    return json.loads(q) if isinstance(q, str) else q


def status_text(row: Mapping[str, Any]) -> str:
    """Return the status of a run, with its progress while it is running."""
    if row.get("waits_for_other_code"):
        return "queued for other code"
    if row["status"] != "running":
        return str(row["status"])
    return f"{'stopping' if row['wanted'] == 'cancel' else 'running'} {100 * row['progress']:.0f} %"
