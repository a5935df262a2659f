"""The runs and the view that a figure shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from mgem_core.analysis import aggregate, frames, measurements
from mgem_core.analysis.aggregate import CHOICES, View
from mgem_core.analysis.choice import best_by_validation
from mgem_core.analysis.measurements import MeasurementCache
from mgem_core.errors import UsageError, check_choice
from mgem_core.store import Store


@dataclass(frozen=True)
class Selection:
    """The runs of a sweep, which figures show as means over seeds, or single runs."""

    store: Store
    sweep: int | None = None
    run_ids: Sequence[int] | None = None  # the single runs, if there is no sweep
    view: View = field(default_factory=View)
    cache: MeasurementCache | None = None  # of measurements

    def candidates(self) -> list[tuple[int, str, str]]:
        """Return id, method and status of each run of the view's benchmark with one quick query."""
        rows = self.store.run_values(["id", "method", "status", "benchmark"], self.run_ids, self.sweep)
        benchmark = self.view.benchmark or next((row[3] for row in rows), "")
        return [row[:3] for row in rows if row[3] == benchmark]

    def all_runs(self) -> pd.DataFrame:
        """Return the runs as frames.runs does; raise a UsageError if there are none."""
        runs = frames.runs(self.store, self.sweep, self.run_ids)
        if runs.empty:
            name = f"s{self.sweep}" if self.sweep is not None else ", ".join(f"r{run}" for run in self.run_ids or ())
            raise UsageError(f"there is no {name!r}; mgem runs lists what there is.")
        return runs

    def runs(self) -> pd.DataFrame:
        """Return the runs of the view's benchmark; raise a UsageError if the view does not fit them."""
        runs, view = self.all_runs(), self.view
        benchmarks = aggregate.benchmarks(runs)
        check_choice("benchmark", view.benchmark or benchmarks[0], benchmarks)
        for name, allowed in CHOICES.items():
            check_choice(name, getattr(view, name), allowed)
        runs = runs[runs["benchmark"] == (view.benchmark or benchmarks[0])]
        tasks = int(runs["tasks"].max())
        if view.after is not None and not 1 <= view.after <= tasks:
            raise UsageError(f"after is {view.after}; it must be from 1 to {tasks}, the number of tasks.")
        return runs

    def points(self) -> pd.DataFrame:
        """Return one row per configuration, as `aggregate.points` does."""
        return measurements.points(self.store, self.runs(), self.view, self.cache)

    def best_points(self) -> tuple[pd.DataFrame, frozenset[int]]:
        """Return the configuration of each line that is best by validation, and the seeds that chose it.

        Its means are over the other seeds: on those that chose it, the best configuration looks better than it is.
        """
        best = best_by_validation(self.points())
        runs = self.runs()
        others = runs[~runs["seed"].isin(best.chosen_on)]
        points = measurements.points(self.store, others, self.view, self.cache)
        return points[points["configuration"].isin(best.configurations)], best.chosen_on

    def runs_to_compare(self) -> pd.DataFrame:
        """Return one row per run and line, as `aggregate.runs_to_compare` does."""
        runs = self.runs()
        ids = runs["id"].tolist()
        measured = self.cache.read(self.store, ids) if self.cache else measurements.read_measurements(self.store, ids)
        return aggregate.runs_to_compare(runs, measured, self.view)

    def sweep_record(self) -> dict[str, Any]:
        """Return name and spec of the sweep; both are None for single runs."""
        if self.sweep is None:
            return {"name": None, "spec": None}
        if not (record := self.store.sweep(self.sweep)):
            raise UsageError(f"there is no 's{self.sweep}'; mgem runs lists what there is.")
        return record

    def source(self) -> str:
        """Name the source of the numbers on one line, such as "quick look (s3), mnist5k-split"."""
        benchmark = self.view.benchmark or self.store.run_values(["benchmark"], self.run_ids, self.sweep)[0][0]
        name = self.sweep_record()["name"]
        return benchmark if name is None else f"{' '.join(name.split())} (s{self.sweep}), {benchmark}"

    def name(self) -> str:
        """Return the first part of the names of files, such as "quick look-s3" or "p-mGEM(4)-r12"."""
        if self.sweep is not None:
            return f"{self.sweep_record()['name'][:60]}-s{self.sweep}"
        ids = list(self.run_ids or [])
        labels = dict(self.store.run_values(["id", "label"], ids))
        is_known = bool(ids) and labels.keys() >= set(ids)
        return f"{labels[ids[0]]}-{'-'.join(f'r{run}' for run in ids[:5])}" if is_known else "runs"
