"""Read the measurements of runs from the store, with a cache that reads a run again only after it has advanced."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from mgem_core.analysis import aggregate, frames
from mgem_core.analysis.aggregate import Measurements, View
from mgem_core.store import Store


class MeasurementCache:
    """A least-recently-used cache of measurements, for one or several stores; threads may share it.

    It holds up to `most` runs, or all runs of the last call if these are more.
    """

    def __init__(self, most: int = 20_000) -> None:
        self.most = most
        self._known: OrderedDict[tuple[int, float], tuple[object, Measurements]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, store: Store, runs: Sequence[int]) -> dict[int, Measurements]:
        states = _states(store, runs)  # read before the events, so that later events are read by the next call
        with self._lock:
            known = {run: self._known.get(name) for run, (name, _) in states.items()}
        measured = {run: entry[1] for run, entry in known.items() if entry and entry[0] == states[run][1]}
        if advanced := [run for run in runs if run not in measured]:
            measured |= read_measurements(store, advanced)
        with self._lock:
            for run, (name, state) in states.items():
                self._known[name] = state, measured[run]
                self._known.move_to_end(name)
            while len(self._known) > max(self.most, len(states)):
                self._known.popitem(last=False)
        return measured


def _states(store: Store, runs: Sequence[int]) -> dict[int, tuple[tuple[int, float], object]]:
    """Return each run's identity, which differs from that of a run with the same id in another store, and its state."""
    columns = ("id", "created", "key", "started", "ended", "status", "attempts", "task", "step")
    return {row[0]: (row[:2], row[2:]) for row in store.run_values(columns, runs)}


def read_measurements(store: Store, runs: Sequence[int]) -> dict[int, Measurements]:
    pairs: dict[int, dict[tuple[int, int], list[list[float]]]] = {run: {} for run in runs}
    rows: dict[int, dict[int, list[float]]] = {run: {} for run in runs}
    for run, kind, data in store.events(runs, ["Probed", "TaskLearned"]):
        if kind == "TaskLearned":
            rows[run][data["task"]] = data["row"]
        else:
            for s, products in enumerate(_products(data)):
                pairs[run].setdefault((s, data["task"]), []).append(products)
    learned = dict(store.run_values(["id", "learned"], runs))
    return {
        run: measurements(_mean_products(pairs[run]), frames.stack_rows(rows[run], learned.get(run, 0))) for run in runs
    }


def _mean_products(pairs: dict[tuple[int, int], list[list[float]]]) -> dict[tuple[int, int], list[float]]:
    return {pair: [fmean(column) for column in zip(*steps, strict=True)] for pair, steps in pairs.items()}


def _products(probed: dict[str, Any]) -> list[list[float]]:
    """Return for each past task of a probed step ⟨g_s,z⟩, ⟨g_t,z⟩ and ⟨g,z⟩: raw, per unit ‖z‖, and as cosines."""
    if "batch_z" not in probed:  # an older version measured the current task on the batch only
        probed = {**probed, "gt_z": np.nan, "norm_gt": np.nan, "batch_z": probed["gt_z"], "norm_g": probed["norm_gt"]}
    norm_z = probed["norm_z"] or np.nan
    rows = []
    for gs_z, norm_gs in zip(probed["gs_z"], probed["norm_gs"], strict=True):
        raw = [gs_z, probed["gt_z"], probed["batch_z"]]
        unit = [product / norm_z for product in raw]
        norms = norm_gs, probed["norm_gt"], probed["norm_g"]
        rows.append([*raw, *unit, *(value / (norm or np.nan) for value, norm in zip(unit, norms, strict=True))])
    return rows


def measurements(pairs: dict[tuple[int, int], list[float]], R: np.ndarray) -> Measurements:
    """Build Measurements from the mean products of each pair of tasks and the known rows of R."""
    rows = R.tolist()
    mean_accuracy = [fmean(row[: i + 1]) for i, row in enumerate(rows)]
    return Measurements(pairs, R, mean_accuracy, [row[i] for i, row in enumerate(rows)])


def points(store: Store, runs: pd.DataFrame, view: View, cache: MeasurementCache | None = None) -> pd.DataFrame:
    """Return `aggregate.points` for the runs in a frame of frames.runs."""
    ids = runs["id"].tolist()
    return aggregate.points(runs, cache.read(store, ids) if cache else read_measurements(store, ids), view)
