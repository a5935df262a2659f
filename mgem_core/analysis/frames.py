"""The store as tidy pandas frames: one row per run or per event."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError

from mgem_core.config import RunConfig
from mgem_core.config.sweeps import configuration_of, relative_work
from mgem_core.store import Store

COLUMNS = (
    *("id", "label", "status", "attempts", "task", "step", "acc", "fwd", "bwd"),
    *("validation_acc", "seconds", "seconds_per_step", "error", "created", "ended", "progress"),
)


def runs(store: Store, sweep: int | None = None, ids: Sequence[int] | None = None) -> pd.DataFrame:
    """One row per run of a sweep, or of these, or of all: its status and metrics, and every field of its config.

    Runs that differ in their seed alone have the same text in `configuration`.
    """
    return with_fields(pd.DataFrame(store.run_values([*COLUMNS, "config"], ids, sweep), columns=[*COLUMNS, "config"]))


def with_fields(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with `configuration` and every field of a config in place of the column `config`, stored configs."""
    configs = pd.DataFrame([_fields(config) for config in frame["config"]], columns=[*RunConfig.model_fields])
    configurations = [configuration_of(config) for config in frame["config"]]
    return pd.concat([frame.drop(columns="config").assign(configuration=configurations), configs], axis=1)


@lru_cache(maxsize=20_000)
def _fields(config: str) -> tuple[Any, ...]:
    """The value of each field in a stored config; a run that an older version stored may lack some."""
    values = json.loads(config)
    return tuple(values.get(name) for name in RunConfig.model_fields)


def series(store: Store, run: int, kind: str) -> pd.DataFrame:
    """One row per event of that kind ("Stepped", "Probed", "TaskLearned") of a run."""
    return pd.DataFrame([data for _, _, data in store.events([run], [kind])])


def matrix(store: Store, run: int) -> pd.DataFrame:
    """R as far as it is known: row i, column j is the accuracy on task j after task i; NaN where a row is missing."""
    events = series(store, run, "TaskLearned")
    if events.empty:
        return pd.DataFrame()
    [(learned,)] = store.run_values(["learned"], [run]) or [(0,)]
    R = stack_rows(dict(zip(events["task"], events["row"], strict=True)), learned)
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


def speeds(store: Store) -> dict[str, float]:
    """Seconds per sample measured on this machine with each network: the median over its finished runs."""
    measured: dict[str, list[float]] = {}
    for config_text, seconds in store.recent_durations():
        try:
            config = RunConfig.model_validate_json(config_text)
        except ValidationError:  # stored by another version
            continue
        measured.setdefault(config.network, []).append(seconds / relative_work(config))
    return {network: float(np.median(values)) for network, values in measured.items()}
