"""The store as tidy pandas frames: one row per run, per configuration, per event."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError

from mgem_core.config import RunConfig
from mgem_core.store import Store
from mgem_core.sweeps import configuration_of, relative_work

JUDGED = ("acc", "fwd", "bwd", "seconds")
COLUMNS = (
    *("id", "label", "status", "attempts", "task", "step", "acc", "fwd", "bwd", "seconds", "seconds_per_step"),
    *("error", "created", "ended"),
)


def runs(store: Store, sweep: int | None = None) -> pd.DataFrame:
    """One row per run: its status and metrics, and every field of its config as a column.

    Runs that differ in their seed alone have the same text in `configuration`.
    """
    where, values = ("", []) if sweep is None else ("WHERE id IN (SELECT run FROM members WHERE sweep = ?)", [sweep])
    rows = store.rows(f"SELECT {', '.join(COLUMNS)}, config FROM runs {where} ORDER BY id", *values)
    frame = pd.DataFrame([tuple(row) for row in rows], columns=[*COLUMNS, "configuration"])
    configs = pd.DataFrame([_fields(text) for text in frame["configuration"]], columns=[*RunConfig.model_fields])
    seedless = frame["configuration"].str.replace(r'"seed":[0-9]+,', "", regex=True)  # fewer texts to look up
    frame["configuration"] = [configuration_of(text) for text in seedless]
    frame = pd.concat([frame, configs], axis=1)
    done = (frame["task"] * frame["iterations"] + frame["step"]) / (frame["tasks"] * frame["iterations"])
    frame["progress"] = done.where(frame["status"] != "finished", 1.0).astype(float).fillna(0.0)
    return frame


@lru_cache(maxsize=20_000)
def _fields(config: str) -> tuple[Any, ...]:
    """What a stored config says of each field; a run that an older version stored may lack some."""
    told = json.loads(config)
    return tuple(told.get(name) for name in RunConfig.model_fields)


def configurations(store: Store, sweep: int | None = None) -> pd.DataFrame:
    """One row per configuration: mean, std and standard error of its finished runs over seeds, and how many there are."""
    every = runs(store, sweep)
    if every.empty:
        return every
    groups = every.groupby("configuration", sort=False)
    fields = [name for name in every.columns if name not in (*COLUMNS, "configuration", "seed")]
    frame = every.drop_duplicates("configuration").set_index("configuration")[["label", *fields]]
    frame["runs"] = groups.size()
    frame["finished"] = (every["status"] == "finished").groupby(every["configuration"], sort=False).sum()
    for name in JUDGED:
        values = groups[name]
        frame[name], frame[f"{name}_std"], frame[f"{name}_sem"] = values.mean(), values.std(ddof=1), values.sem(ddof=1)
    return frame.reset_index(drop=True)


def series(store: Store, run: int, kind: str) -> pd.DataFrame:
    """What a run told, one row per event of that kind ("Stepped", "Probed", "TaskLearned")."""
    rows = store.rows("SELECT data FROM events WHERE run = ? AND kind = ? ORDER BY task, step", run, kind)
    return pd.DataFrame([json.loads(row["data"]) for row in rows])


def matrix(store: Store, run: int) -> pd.DataFrame:
    """R as far as it is known: row i, column j is the accuracy on task j after task i; NaN where a row is missing."""
    events = series(store, run, "TaskLearned")
    if events.empty:
        return pd.DataFrame()
    R = stack_rows(dict(zip(events["task"], events["row"], strict=True)), tasks_learned(store, [run]).get(run, 0))
    return pd.DataFrame(R, index=pd.RangeIndex(len(R), name="task"))


def stack_rows(rows: Mapping[int, Sequence[float]], learned: int) -> np.ndarray:
    """R [learned, T], each row at its task; NaN where a row is missing. Empty if no row is known."""
    if not rows:
        return np.empty((0, 0))
    height = max(learned, max(rows) + 1)
    R = np.full((height, max(height, *map(len, rows.values()))), np.nan)
    for task, row in rows.items():
        R[task, : len(row)] = row
    return R


def tasks_learned(store: Store, runs: Sequence[int]) -> dict[int, int]:
    """How many tasks each of these runs has learned, whether or not the rows of all of them are known."""
    learned = "CASE status WHEN 'finished' THEN max(task, ifnull(json_extract(config, '$.tasks'), 0)) ELSE task END"
    query = f"SELECT id, {learned} FROM runs WHERE id IN (SELECT value FROM json_each(?))"
    return {row[0]: row[1] for row in store.rows(query, json.dumps([int(run) for run in runs]))}


def speeds(store: Store) -> dict[str, float]:
    """Seconds per sample measured on this machine with each network: the median over its finished runs."""
    query = "SELECT config, seconds FROM runs WHERE status = 'finished' AND seconds > 0 ORDER BY id DESC LIMIT 200"
    measured: dict[str, list[float]] = {}
    for row in store.rows(query):
        try:
            config = RunConfig.model_validate_json(row["config"])
        except ValidationError:  # of another version
            continue
        measured.setdefault(config.network, []).append(row["seconds"] / relative_work(config))
    return {network: float(pd.Series(values).median()) for network, values in measured.items()}
