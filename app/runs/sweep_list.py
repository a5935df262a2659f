"""The list of sweeps."""

from datetime import tzinfo
from typing import Any

import components
import streamlit as st
from session import browser_time_zone, read_sweeps
from text import format_time

from mgem_core.store import ENDED, STATUSES, Store
from mgem_core.text import mean_and_error, pluralize

Row = dict[str, Any]
COLUMNS: list[Row] = [
    {"name": "sweep", "title": "sweep", "kind": "number"},
    {"name": "name", "title": "name", "kind": "text"},
    {"name": "runs", "title": "runs", "kind": "number"},
    {"name": "status", "title": "status", "kind": "text"},
    {"name": "done", "title": "progress", "kind": "progress"},
    {"name": "acc", "title": "best ACC", "kind": "number", "help": "ACC of the best configuration, mean over its seeds, %"},
    {"name": "created", "title": "when", "kind": "number", "help": "when the sweep was launched"},
]
_known_accuracies: dict[tuple[int, ...], float | None] = {}  # shared by all sessions


def show_sweep_list(store: Store, text: str, selected: list[str]) -> None:
    rows = find_sweeps(list(read_sweeps(store).values()), text)
    st.markdown(pluralize(len(rows), "sweep") if rows else "No sweep matches; change the search.")
    zone, best = browser_time_zone(), read_best_accuracies(store, rows)
    table = [sweep_row({**row, "acc": best.get(row["id"])}, zone) for row in rows]
    description = "Sweeps, the newest first"
    components.show_table(COLUMNS, table, "sweeps table", description, selected, lambda keys: select_sweep(keys[-1:]))


def select_sweep(keys: list[str]) -> None:
    """Select a sweep by its key, such as s3, or none."""
    st.session_state["selected sweep"] = keys[0] if keys else None


def find_sweeps(sweeps: list[Row], text: str) -> list[Row]:
    """Return the sweeps whose id and name contain all these words."""
    words = text.lower().split()
    return [row for row in sweeps if all(word in f"s{row['id']} {row['name']}".lower() for word in words)]


def read_best_accuracies(store: Store, sweeps: list[Row]) -> dict[int, float | None]:
    """Return `Store.best_accuracies`, read again only for sweeps in which runs have finished or were deleted."""
    database, known = store.version()[0], _known_accuracies
    keys = {row["id"]: (database, row["id"], row["runs"], row["finished"]) for row in sweeps}
    if unknown := [sweep for sweep, key in keys.items() if key not in known]:
        best = store.best_accuracies(unknown)
        known.update({keys[sweep]: best.get(sweep) for sweep in unknown})
    return {sweep: known[key] for sweep, key in keys.items()}


def sweep_row(row: Row, zone: tzinfo | None) -> Row:
    """Return the row of the table for a sweep of `Store.sweeps` with its best ACC."""
    ended = sum(row[status] for status in ENDED)
    cells = {
        "sweep": {"text": f"s{row['id']}", "value": row["id"]},
        "name": {"text": row["name"]},
        "runs": {"text": f"{row['runs']:,}", "value": row["runs"]},
        "status": {"text": ", ".join(f"{row[status]:,} {status}" for status in STATUSES if row[status])},
        "done": {"value": (ended - row["cancelled"]) / row["runs"]},
        "acc": {"text": mean_and_error(row["acc"]), "value": row["acc"]},
        "created": {"text": format_time(row["created"], zone), "value": row["created"]},
    }
    return {"key": f"s{row['id']}", "active": ended < row["runs"], "cells": cells}
