"""Chosen runs → what tells them apart, and their curves, as the page Runs shows them. Nothing of Streamlit in here."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from listing import RUN_COLUMNS, Row, run_row, strength_of
from pydantic import ValidationError

from mgem_core import RunConfig, frames
from mgem_core.learners import method_specific_fields, uses
from mgem_core.store import Store
from mgem_core.sweeps import SweepSpec
from mgem_core.text import mean_and_error, strength

JUDGED = {"acc": "ACC, %", "fwd": "FWD, %", "bwd": "BWD, points"}


def chosen(store: Store, ids: Sequence[int]) -> list[Row]:
    """The runs of these ids that are in the store, in this order; `config` holds the fields that mean something to them."""
    known = list(dict.fromkeys(run for run in ids if run < 2**63))
    records = store.run_records(known)
    found = {run["id"]: {**run["config"], **run, "config": telling(run["config"])} for run in records}
    return [found[run] for run in known if run in found]


def telling(config: Row) -> Row:
    """A config without the fields of other methods."""
    others = {name for name in method_specific_fields() if not uses(config["method"], name)}
    return {name: value for name, value in config.items() if name not in others}


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
    """The fields in which these runs differ, and those in which all that have them are the same."""
    fields = list(dict.fromkeys(name for run in runs for name in run["config"]))
    values = {name: {json.dumps(run["config"][name]) for run in runs if name in run["config"]} for name in fields}
    return [name for name in fields if len(values[name]) > 1], [name for name in fields if len(values[name]) == 1]


def side_by_side(runs: Sequence[Row], colors: Sequence[str]) -> tuple[list[Row], list[Row]]:
    """Columns and rows of a table of runs: results first, the best in bold, then every field in which they differ."""
    fields = [name for name in differing(runs)[0] if name != "method"]
    results = [column for column in RUN_COLUMNS if column["name"] in ("run", "label", "status", "seconds", *JUDGED)]
    texts = {name for name in fields if any(isinstance(run["config"].get(name), str) for run in runs)}
    columns = results + [
        {"name": name, "title": name.replace("_", " "), "kind": "text" if name in texts else "number"} for name in fields
    ]
    best = {name: max((run[name] for run in runs if run[name] is not None), default=np.nan) for name in JUDGED}
    rows = []
    for number, run in enumerate(runs):
        row = run_row(run, None)
        cells = {column["name"]: row["cells"][column["name"]] for column in results}
        for name in fields:
            told = run["config"].get(name)
            cells[name] = {"text": value(told), "value": told if isinstance(told, int | float) else None}
        for name, top in best.items():
            cells[name]["bold"] = run[name] is not None and mean_and_error(run[name], np.nan) == mean_and_error(top, np.nan)
        rows.append({**row, "color": colors[number] if number < len(colors) else None, "cells": cells})
    return columns, rows


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
    """The fields that a sweep lost on its way through a form: those of the first run that is not in it any more."""
    kept = dict.fromkeys(again.runs())
    for config in spec.runs():
        if config not in kept:
            return min((_apart(config, other) for other in kept), key=len, default=["all of it"])
    return []


def _apart(one: RunConfig, other: RunConfig) -> list[str]:
    return [name for name in RunConfig.model_fields if getattr(one, name) != getattr(other, name)]


def steps(store: Store, run: int) -> pd.DataFrame:
    """What a run told of its steps, in the units of the page: violations in percent, times in milliseconds."""
    frame = frames.series(store, run, "Stepped")
    return frame if frame.empty else frame.assign(violated=100 * frame["violated"], ms=1000 * frame["seconds_per_step"])


def in_words(R: np.ndarray) -> str:
    """R for those who cannot see it: a row per task, in whole percent; a dash for what is missing."""
    return "; ".join(", ".join("—" if np.isnan(value) else f"{value:.0f}" for value in row) for row in R)


def accuracies(R: np.ndarray) -> pd.DataFrame:
    """Mean accuracy on the tasks learned so far, after each task: a point per row of R, NaN for a row that is missing."""
    means = [float(R[task, : task + 1].mean()) for task in range(len(R))]
    return pd.DataFrame({"task": range(len(means)), "step": 1, "acc": means})
