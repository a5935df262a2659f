"""The recordings among the runs of a sweep, and what is compared at their steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mgem_core import text
from mgem_core.analysis.aggregate import NO_RESULT, mean_strength
from mgem_core.learners import uses
from mgem_core.lens import recordings
from mgem_core.lens.differences import LineDifference, line_difference
from mgem_core.lens.lines import GEM, Line, comparable_lines, count_comparisons, module_counts
from mgem_core.lens.recordings import Recording
from mgem_core.lens.seed_curves import Floats, Pair, pairs_of, seed_curves, strength_grid
from mgem_core.lens.steps import steps_of
from mgem_core.store import Store

USUAL_STRENGTH = 0.5  # if several strengths were recorded, the nearest to this one is used


@dataclass(frozen=True)
class RecordedSweep:
    """Recordings of one configuration of a sweep, with one recording per seed."""

    recordings: tuple[Recording, ...]
    title: str  # of the recorded configuration, such as "GEM, strength 0.5"
    lines: list[Line]
    strengths: list[float]  # of the sweep
    pairs: list[Pair]

    @property
    def words(self) -> str:
        """Describe the recorded steps."""
        seeds = text.pluralize(len(self.recordings), "seed")
        return f"at the recorded steps of {self.title} ({seeds})"

    @property
    def comparisons(self) -> int:
        steps = steps_of(self.recordings[0], self.pairs[0][1])
        return count_comparisons(len(module_counts(steps.layers)), steps.sizes.shape[2])

    def curves(self, axes: str, gradient: str = "full", strengths: Sequence[float] | None = None) -> Floats:
        """Return the curves [lines, seeds, strengths, 3] of `seed_curves` at these strengths, or on the dense grid."""
        grid = strength_grid(self.recordings) if strengths is None else strengths
        return seed_curves(self.recordings, self.lines, grid, self.pairs, axes, gradient)

    def differences(self, axes: str, gradient: str = "full", baseline: str = GEM.name) -> dict[str, LineDifference]:
        """Compare every other line with the baseline."""
        curves, names = self.curves(axes, gradient), [line.name for line in self.lines]
        other, comparisons = curves[names.index(baseline)], self.comparisons
        return {
            name: line_difference(one, other, comparisons)
            for name, one in zip(names, curves, strict=True)
            if name != baseline
        }


def read_recorded(
    store: Store, runs: pd.DataFrame, pair: Pair | None = None, after: int | None = None
) -> RecordedSweep | None:
    """Read the recordings among runs (a frame of frames.runs) that have this pair of tasks; None if there are none.

    Without a pair, all pairs are used whose current task is among the first `after` tasks. Runs that ended without a result
    count only if `after` is given. Only one configuration is used: the one with the most recorded seeds, then GEM, then the
    strength nearest to the usual one.
    """
    if after is None:
        runs = runs[~runs["status"].isin(NO_RESULT)]
    with_snapshots = store.runs_with_snapshots(runs["id"].tolist(), first_task=pair[1] if pair else 1)
    if not with_snapshots:
        return None
    chosen = _choose(runs[runs["id"].isin(with_snapshots)])
    found = tuple(recordings.of_run(store, int(run)) for run in chosen["id"])
    pairs = [pair] if pair else pairs_of(found, after)
    if not pairs:
        return None
    first = chosen.iloc[0]
    title = f"{first['label']}, strength {text.strength(first['strength'])}"
    lines = comparable_lines(_lines(runs), steps_of(found[0], pairs[0][1]))
    return RecordedSweep(found, title, lines, _strengths(runs), pairs)


def _choose(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of one configuration, sorted by seed: of each seed the newest that has finished, or the newest."""
    order = runs.assign(is_finished=runs["status"] == "finished").sort_values(["is_finished", "id"])
    groups = order.drop_duplicates(["configuration", "snap_splits", "seed"], keep="last").sort_values("id")

    def preference(group: pd.DataFrame) -> tuple[int, bool, float, int]:
        first = group.iloc[0]
        distance = abs(mean_strength(first["strength"]) - USUAL_STRENGTH)
        return -len(group), first["label"] != GEM.name, distance, int(first["id"])

    found = [group for _, group in groups.groupby(["configuration", "snap_splits"], sort=False, dropna=False)]
    return min(found, key=preference).sort_values("seed")


def _lines(runs: pd.DataFrame) -> list[Line]:
    """Return the lines of the GEM family among the runs, by modules, splits and solver."""
    family = runs[runs["method"].map(lambda method: uses(method, "solver"))]
    known = family.dropna(subset=["modules", "splits", "solver"]).fillna({"split_by": ""})
    lines = [
        Line(row.label, _modules(row.modules), int(row.splits), row.solver, row.split_by if row.split_by else None)
        for row in known[["label", "modules", "splits", "solver", "split_by"]].itertuples(index=False)
    ]
    return list({(str(line.modules), *line[2:]): line for line in lines}.values())


def _modules(value: Any) -> Any:
    """Return a number of modules as an integer: a column of a frame with missing values has floats."""
    return int(value) if isinstance(value, float) else value


def _strengths(runs: pd.DataFrame) -> list[float]:
    """Return the strengths of the GEM family, without those that differ between past tasks."""
    values = runs.loc[runs["method"].map(lambda method: uses(method, "solver")), "strength"]
    return sorted({float(q) for q in values if not isinstance(q, list | tuple) and np.isfinite(q)})
