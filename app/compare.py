"""Runs and sweeps of a store → the lists, differences and curves that the page Runs shows. Nothing of Streamlit in here."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError

from mgem_core import RunConfig, frames
from mgem_core.figures.data import mean_std, strength
from mgem_core.figures.style import family, of_family
from mgem_core.store import ENDED, STATUSES, Store
from mgem_core.sweeps import SweepSpec

MOST = 500  # rows of a list
JUDGED = {"acc": "ACC, %", "fwd": "FWD, %", "bwd": "BWD, points"}
FIELDS = ("benchmark", "method", "strength", "seed", "tasks", "iterations")  # of a config, in the list of runs
Row = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """Which runs to list; what is empty asks for all."""

    text: str = ""  # every word must be found in a run's id, label, benchmark, status or error; r12 is that run alone
    statuses: Sequence[str] = ()
    sweep: int | None = None
    benchmark: str = ""


def listed(store: Store, asked: Asked, most: int = MOST) -> tuple[list[Row], int]:
    """The newest of these runs, and how many there are."""
    where, values = _where(asked)
    fields = ", ".join(f"json_extract(config, '$.{name}') AS {name}" for name in FIELDS)
    columns = f"id, label, status, wanted, task, step, acc, fwd, bwd, seconds, created, {fields}"
    rows = store.rows(f"SELECT {columns} FROM runs WHERE {where} ORDER BY id DESC LIMIT {most}", *values)
    total = len(rows) if len(rows) < most else store.rows(f"SELECT count(*) FROM runs WHERE {where}", *values)[0][0]
    return [dict(row) for row in rows], total


def _where(asked: Asked) -> tuple[str, list[Any]]:
    parts, values = ["1"], []
    benchmark = "json_extract(config, '$.benchmark')"
    for word in asked.text.split():
        if re.fullmatch(r"r[0-9]{1,18}", word):
            parts.append("id = ?")
            values.append(int(word[1:]))
        else:
            told = f"'r' || id || ' ' || label || ' ' || {benchmark} || ' ' || status || ' ' || ifnull(error, '')"
            parts.append(f"instr(lower({told}), ?)")
            values.append(word.lower())
    if asked.statuses:
        parts.append(f"status IN ({','.join('?' * len(asked.statuses))})")
        values += asked.statuses
    if asked.sweep is not None:
        parts.append("id IN (SELECT run FROM members WHERE sweep = ?)")
        values.append(asked.sweep)
    if asked.benchmark:
        parts.append(f"{benchmark} = ?")
        values.append(asked.benchmark)
    return " AND ".join(parts), values


def benchmarks(store: Store) -> list[str]:
    return [row[0] for row in store.rows("SELECT DISTINCT json_extract(config, '$.benchmark') FROM runs ORDER BY 1")]


RUN_COLUMNS: list[Row] = [
    {"name": "run", "title": "run", "kind": "number"},
    {"name": "label", "title": "method", "kind": "text"},
    {"name": "q", "title": "q", "kind": "number", "help": "memory strength"},
    {"name": "benchmark", "title": "benchmark", "kind": "text"},
    {"name": "seed", "title": "seed", "kind": "number"},
    {"name": "status", "title": "status", "kind": "text"},
    {"name": "acc", "title": "ACC", "kind": "number", "help": "mean accuracy on all tasks at the end, %"},
    {"name": "fwd", "title": "FWD", "kind": "number", "help": "accuracy on each task just after it was learned, %"},
    {"name": "bwd", "title": "BWD", "kind": "number", "help": "what later tasks took away or gave: ACC − FWD"},
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
        "benchmark": {"text": row["benchmark"]},
        "seed": {"text": f"{row['seed']}", "value": row["seed"]},
        "status": {"text": status(row)},
        **{name: {"text": mean_std(row[name], np.nan), "value": row[name]} for name in JUDGED},
        "seconds": {"text": "—" if row["seconds"] is None else f"{row['seconds']:.1f}", "value": row["seconds"]},
        "created": {"text": when(row["created"], zone), "value": row["created"]},
    }
    color = of_family(family(row["label"])).color
    return {"key": f"r{row['id']}", "color": color, "active": row["status"] not in ENDED, "cells": cells}


def strength_of(row: Mapping[str, Any]) -> Any:
    """q, or one q per past task; None for methods that have none."""
    q = row["strength"] if row["method"] == "gem" else None
    return json.loads(q) if isinstance(q, str) else q


def status(row: Mapping[str, Any]) -> str:
    if row["status"] != "running":
        return str(row["status"])
    done = (row["task"] * row["iterations"] + row["step"]) / (row["tasks"] * row["iterations"])
    return f"{'stopping' if row['wanted'] == 'cancel' else 'running'} {100 * done:.0f} %"


def when(then: float, zone: tzinfo | None = None) -> str:
    """A moment that does not change while it is looked at, as a clock in that zone shows it."""
    moment, now = datetime.fromtimestamp(then, zone), datetime.now(zone)
    return moment.strftime("%d %b %H:%M" if moment.year == now.year else "%d %b %Y %H:%M").lstrip("0")


def sweeps(store: Store, text: str = "") -> list[Row]:
    """Every sweep whose id or name has all these words, the newest first: how many runs of each status, its best ACC."""
    counts = ", ".join(f"sum(status = '{status}') AS {status}" for status in STATUSES)
    query = (
        f"SELECT sweeps.id, name, sweeps.created, count(*) AS runs, max(acc) AS acc, {counts} FROM sweeps "
        "JOIN members ON sweep = sweeps.id JOIN runs ON runs.id = run GROUP BY sweeps.id ORDER BY sweeps.id DESC"
    )
    rows = [dict(row) for row in store.rows(query)]
    return [row for row in rows if all(word in f"s{row['id']} {row['name']}".lower() for word in text.lower().split())]


SWEEP_COLUMNS: list[Row] = [
    {"name": "sweep", "title": "sweep", "kind": "number"},
    {"name": "name", "title": "name", "kind": "text"},
    {"name": "runs", "title": "runs", "kind": "number"},
    {"name": "status", "title": "status", "kind": "text"},
    {"name": "done", "title": "progress", "kind": "progress"},
    {"name": "acc", "title": "best ACC", "kind": "number", "help": "of its best run, %"},
    {"name": "created", "title": "when", "kind": "number"},
]


def sweep_row(row: Row, zone: tzinfo | None) -> Row:
    """A sweep as a row of the table."""
    ended = sum(row[status] for status in ENDED)
    cells = {
        "sweep": {"text": f"s{row['id']}", "value": row["id"]},
        "name": {"text": row["name"]},
        "runs": {"text": f"{row['runs']:,}", "value": row["runs"]},
        "status": {"text": ", ".join(f"{row[status]:,} {status}" for status in STATUSES if row[status])},
        "done": {"value": ended / row["runs"]},
        "acc": {"text": mean_std(row["acc"], np.nan), "value": row["acc"]},
        "created": {"text": when(row["created"], zone), "value": row["created"]},
    }
    return {"key": f"s{row['id']}", "active": ended < row["runs"], "cells": cells}


def chosen(store: Store, ids: Sequence[int]) -> list[Row]:
    """The runs of these ids that are in the store, in this order; `config` holds all fields."""
    known = list(dict.fromkeys(run for run in ids if run < 2**63))
    rows = store.rows(f"SELECT * FROM runs WHERE id IN ({','.join('?' * len(known))})", *known)
    found = {row["id"]: {**(config := json.loads(row["config"])), **dict(row), "config": config} for row in rows}
    return [found[run] for run in known if run in found]


def names(runs: Sequence[Row]) -> list[str]:
    """A short name per run: its id and label, with strength and seed where they tell runs apart."""
    told = [{"q = ": strength(strength_of(run)), "seed ": str(run["seed"])} for run in runs]
    apart = [word for word in told[0] if len({words[word] for words in told}) > 1] if runs else []
    return [
        ", ".join([f"r{run['id']} {run['label']}", *(word + words[word] for word in apart if words[word] != "—")])
        for run, words in zip(runs, told, strict=True)
    ]


def defaults(config: Mapping[str, Any]) -> Row:
    """What its benchmark and method take for fields left out; nothing if this version does not know them."""
    try:
        return RunConfig(benchmark=config["benchmark"], method=config["method"]).model_dump(mode="json")
    except (ValidationError, KeyError):
        return {}


def own(config: Mapping[str, Any]) -> list[str]:
    """The fields in which a run is not its benchmark's default."""
    usual = defaults(config)
    return [name for name, value in config.items() if name not in usual or value != usual[name]]


def differing(runs: Sequence[Row]) -> tuple[list[str], list[str]]:
    """The fields in which these runs differ, and those in which all are the same."""
    fields = list(dict.fromkeys(name for run in runs for name in run["config"]))
    values = {name: {json.dumps(run["config"].get(name)) for run in runs} for name in fields}
    return [name for name in fields if len(values[name]) > 1], [name for name in fields if len(values[name]) == 1]


def value(told: Any) -> str:
    """A field's value as people write it."""
    if isinstance(told, Mapping):
        return ", ".join(f"{name} = {number}" for name, number in told.items())
    if isinstance(told, list | tuple | float):
        return strength(told)
    return "—" if told is None else str(told)


def more_like(runs: Sequence[Row]) -> SweepSpec:
    """A sweep of just these runs, said by the fields in which they are not their benchmark's default."""
    asked = [{name: run["config"][name] for name in ("benchmark", "method", "seed", *own(run["config"]))} for run in runs]
    return SweepSpec(grid=[{name: [value] for name, value in fields.items()} for fields in asked])


def lost(spec: SweepSpec, again: SweepSpec) -> list[str]:
    """The fields that a sweep lost on its way through a form."""
    kept = again.runs()
    for config in spec.runs():
        if config not in kept:
            near = min((_apart(config, other) for other in kept), key=len, default=["everything"])
            return near
    return []


def _apart(one: RunConfig, other: RunConfig) -> list[str]:
    return [name for name in RunConfig.model_fields if getattr(one, name) != getattr(other, name)]


def steps(store: Store, run: int) -> pd.DataFrame:
    """What a run told of its steps, in the units of the page: violations in percent, times in milliseconds."""
    frame = frames.series(store, run, "Stepped")
    return frame if frame.empty else frame.assign(violated=100 * frame["violated"], ms=1000 * frame["seconds_per_step"])


def accuracies(R: np.ndarray) -> pd.DataFrame:
    """Mean accuracy on the tasks learned so far, after each task: a point per row of R."""
    means = [float(R[task, : task + 1].mean()) for task in range(len(R))]
    return pd.DataFrame({"task": range(len(means)), "step": 1, "acc": means})


def sweeps_of(store: Store, runs: Sequence[int]) -> dict[int, str]:
    """The sweeps to which any of these runs belongs, and what to call them."""
    marks = ",".join("?" * len(runs))
    query = f"SELECT DISTINCT id, name FROM sweeps JOIN members ON sweep = id WHERE run IN ({marks}) ORDER BY id"
    return {row["id"]: f"{row['name']} (s{row['id']})" for row in store.rows(query, *runs)}


def shared(store: Store, sweep: int) -> int:
    """How many runs of a sweep belong to others, too."""
    query = (
        "SELECT count(DISTINCT run) FROM members WHERE sweep != ?1 AND run IN (SELECT run FROM members WHERE sweep = ?1)"
    )
    return int(store.rows(query, sweep)[0][0])


def several(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def plain(text: str) -> str:
    """A text of the user's, or of an error, that must not be read as Markdown."""
    return re.sub(r"([\\`*_{}\[\]()#+!|$~:<>])", r"\\\1", text)
