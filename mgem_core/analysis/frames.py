"""Read the store into tidy pandas frames: one row per run or per event."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError

from mgem_core.config import RunConfig
from mgem_core.config.sweeps import relative_work, trained_configuration_of
from mgem_core.store import Store

COLUMNS = (
    *("id", "label", "status", "attempts", "task", "step", "acc", "fwd", "bwd"),
    *("validation_acc", "seconds", "seconds_per_step", "error", "created", "ended", "progress"),
)


def runs(store: Store, sweep: int | None = None, ids: Sequence[int] | None = None) -> pd.DataFrame:
    """Return one row per run (of a sweep, with these ids, or all): status, metrics and every field of the config.

    Runs that differ only in their seed, or in the snapshots that they record, have the same text in the column
    `configuration`.
    """
    return with_fields(pd.DataFrame(store.run_values([*COLUMNS, "config"], ids, sweep), columns=[*COLUMNS, "config"]))


def with_forgetting(store: Store, runs: pd.DataFrame) -> pd.DataFrame:
    """Add the column `forgetting` to a frame of `runs`; reading R of many runs takes longer than reading the frame."""
    found = {record["id"]: record["forgetting"] for record in store.run_records(runs["id"].tolist())}
    return runs.assign(forgetting=runs["id"].map(found).astype(float))


def with_fields(frame: pd.DataFrame) -> pd.DataFrame:
    """Replace the column `config` (stored configs) by `configuration` and one column per field of a config."""
    configs = pd.DataFrame([_fields(config) for config in frame["config"]], columns=[*RunConfig.model_fields])
    configurations = [trained_configuration_of(config) for config in frame["config"]]
    return pd.concat([frame.drop(columns="config").assign(configuration=configurations), configs], axis=1)


@lru_cache(maxsize=20_000)
def _fields(config: str) -> tuple[Any, ...]:
    """Return the value of each field of a stored config; None for fields that the version that stored it did not have."""
    values = json.loads(config)
    return tuple(values.get(name) for name in RunConfig.model_fields)


def series(store: Store, run: int, kind: str) -> pd.DataFrame:
    """Return one row per event of this kind ("Stepped", "Probed", "TaskLearned") of a run."""
    return pd.DataFrame([data for _, _, data in store.events([run], [kind])])


def matrix(store: Store, run: int) -> pd.DataFrame:
    """Return R as far as it is known: row i, column j is the accuracy on task j after task i; a missing row is NaN."""
    events = series(store, run, "TaskLearned")
    if events.empty:
        return pd.DataFrame()
    [(learned,)] = store.run_values(["learned"], [run]) or [(0,)]
    R = stack_rows(dict(zip(events["task"], events["row"], strict=True)), learned)
    return pd.DataFrame(R, index=pd.RangeIndex(len(R), name="task"))


def stack_rows(rows: Mapping[int, Sequence[float]], learned: int) -> np.ndarray:
    """Build R [learned, T] from its rows by task; a missing row is NaN. Empty if no row is known."""
    if not rows:
        return np.empty((0, 0))
    height = max(learned, max(rows) + 1)
    R = np.full((height, max(height, *map(len, rows.values()))), np.nan)
    for task, row in rows.items():
        R[task, : len(row)] = row
    return R


def speeds(store: Store) -> dict[str, float]:
    """Return the seconds per sample of each network on this machine: the median over its finished runs."""
    measured: dict[str, list[float]] = {}
    for config_text, seconds in store.recent_durations():
        try:
            config = RunConfig.model_validate_json(config_text)
        except ValidationError:  # stored by another version
            continue
        measured.setdefault(config.network, []).append(seconds / relative_work(config))
    return {network: float(np.median(values)) for network, values in measured.items()}
