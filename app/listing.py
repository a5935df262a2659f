"""A store → the lists of runs and of sweeps that the page Runs shows. Nothing of Streamlit in here."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

import numpy as np

from mgem_core.figures.style import family, of_family
from mgem_core.learners import uses
from mgem_core.store import ENDED, STATUSES, RunFilter, Store
from mgem_core.text import mean_and_error, strength

MOST = 500  # rows of a list
Row = dict[str, Any]


def listed(store: Store, asked: RunFilter, most: int = MOST) -> tuple[list[Row], int]:
    """The newest of these runs, and how many there are."""
    return store.find_runs(asked, most)


def benchmarks(store: Store) -> list[str]:
    return store.benchmarks()


RUN_COLUMNS: list[Row] = [
    {"name": "run", "title": "run", "kind": "number"},
    {"name": "label", "title": "method", "kind": "text"},
    {"name": "q", "title": "q", "kind": "number", "help": "memory strength"},
    {"name": "seed", "title": "seed", "kind": "number"},
    {"name": "status", "title": "status", "kind": "text"},
    {"name": "acc", "title": "ACC", "kind": "number", "help": "mean accuracy on all tasks at the end, %"},
    {"name": "fwd", "title": "FWD", "kind": "number", "help": "accuracy on each task just after it was learned, %"},
    {"name": "bwd", "title": "BWD", "kind": "number", "help": "what later tasks took away or gave: ACC − FWD"},
    {"name": "benchmark", "title": "benchmark", "kind": "text"},
    {"name": "seconds", "title": "seconds", "kind": "number", "help": "spent training and measuring"},
    {"name": "created", "title": "when", "kind": "number", "help": "when it was asked for"},
]


def run_row(row: Row, zone: tzinfo | None) -> Row:
    """A run as a row of the table."""
    q = strength_of(row)
    cells = {
        "run": {"text": f"r{row['id']}", "value": row["id"]},
        "label": {"text": row["label"]},
        "q": {"text": strength(q), "value": q if isinstance(q, float) else None},
        "seed": {"text": f"{row['seed']}", "value": row["seed"]},
        "status": {"text": status(row)},
        **{name: {"text": mean_and_error(row[name], np.nan), "value": row[name]} for name in ("acc", "fwd", "bwd")},
        "benchmark": {"text": row["benchmark"]},
        "seconds": {"text": "—" if row["seconds"] is None else f"{row['seconds']:.1f}", "value": row["seconds"]},
        "created": {"text": when(row["created"], zone), "value": row["created"]},
    }
    color = of_family(family(row["label"])).color
    return {"key": f"r{row['id']}", "color": color, "active": row["status"] not in ENDED, "cells": cells}


def strength_of(row: Mapping[str, Any]) -> Any:
    """q, or one q per past task; None for methods that have none."""
    q = row["strength"] if uses(row["method"], "strength") else None
    return json.loads(q) if isinstance(q, str) else q


def status(row: Mapping[str, Any]) -> str:
    if row["status"] != "running":
        return str(row["status"])
    return f"{'stopping' if row['wanted'] == 'cancel' else 'running'} {100 * row['progress']:.0f} %"


def when(then: float, zone: tzinfo | None = None) -> str:
    """A moment that does not change while it is looked at, as a clock in that zone shows it."""
    moment, now = datetime.fromtimestamp(then, zone), datetime.now(zone)
    return moment.strftime("%d %b %H:%M" if moment.year == now.year else "%d %b %Y %H:%M").lstrip("0")


def sweeps(store: Store, text: str = "") -> list[Row]:
    """Every sweep whose id or name has all these words, the newest first: how many runs of each status, its best ACC."""
    best = store.best_accuracies()
    rows = [{**row, "acc": best.get(row["id"])} for row in store.sweeps()]
    return [row for row in rows if all(word in f"s{row['id']} {row['name']}".lower() for word in text.lower().split())]


SWEEP_COLUMNS: list[Row] = [
    {"name": "sweep", "title": "sweep", "kind": "number"},
    {"name": "name", "title": "name", "kind": "text"},
    {"name": "runs", "title": "runs", "kind": "number"},
    {"name": "status", "title": "status", "kind": "text"},
    {"name": "done", "title": "progress", "kind": "progress"},
    {"name": "acc", "title": "best ACC", "kind": "number", "help": "of its best configuration, mean over seeds, %"},
    {"name": "created", "title": "when", "kind": "number"},
]


def sweep_row(row: Row, zone: tzinfo | None) -> Row:
    """A sweep as a row of the table."""
    ended, done = (sum(row[status] for status in which) for which in (ENDED, set(ENDED) - {"cancelled"}))
    cells = {
        "sweep": {"text": f"s{row['id']}", "value": row["id"]},
        "name": {"text": row["name"]},
        "runs": {"text": f"{row['runs']:,}", "value": row["runs"]},
        "status": {"text": ", ".join(f"{row[status]:,} {status}" for status in STATUSES if row[status])},
        "done": {"value": done / row["runs"]},
        "acc": {"text": mean_and_error(row["acc"], np.nan), "value": row["acc"]},
        "created": {"text": when(row["created"], zone), "value": row["created"]},
    }
    return {"key": f"s{row['id']}", "active": ended < row["runs"], "cells": cells}


def sweeps_of(store: Store, runs: Sequence[int]) -> dict[int, str]:
    """The sweeps to which any of these runs belongs, and what to call them."""
    return {sweep: f"{name} (s{sweep})" for sweep, name in store.sweeps_of(runs).items()}


def several(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def plain(text: str) -> str:
    """A text of the user's, or of an error, that must not be read as Markdown."""
    return re.sub(r"([\\`*_{}\[\]()#+!|$~:<>])", r"\\\1", text)
