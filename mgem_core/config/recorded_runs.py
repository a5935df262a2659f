"""The recordings of a sweep: runs with snapshots, which the lens needs to draw curves.

By default, these are GEM at strength 0.5. A recording replaces a run of the sweep that would have the same results.
"""

from collections.abc import Iterable, Sequence
from math import lcm
from typing import Any

from mgem_core.config.run_config import RunConfig
from mgem_core.learners import METHOD_OF_FAMILY, uses
from mgem_core.restriction.restriction import FIELDS

GEM = METHOD_OF_FAMILY["GEM"]
RECORDED: dict[str, Any] = {"method": GEM, "modules": 1, "splits": 1, "strength": 0.5, "solver": "exact"}
CONVENTION = ("trigger", "step_length")  # the fields in which the conventions differ
SNAPSHOTS_PER_TASK = (
    25  # GEM restricts only at conflicts, which are rare: with fewer steps, differences depend on a few of them
)
SPLITS = 6  # can be joined to 1, 2, 3 and 6 splits
MOST_SPLITS = 12  # with more memory rows per past task, a snapshot is large and the curves are slow
# Fields that decide what a run measures; they change none of its results.
MEASUREMENTS = ("probe_every", "snap_every", "snap_splits")
LEAST_TASKS, MOST_TASKS = 2, 5  # the lens needs a past task; with many, snapshots are large


def default_record(runs: Sequence[RunConfig]) -> dict[str, Any] | None:
    """Return the fields in which recordings differ from these runs; None if no curves can be drawn for them.

    Other options of the restriction are those of the runs; if the runs differ in one, the first value is recorded.
    """
    if why_not_recorded(runs):
        return None
    of_gem = _of_gem_family(runs)
    values = {name: values_that_matter(of_gem, name) for name in FIELDS if name not in (*RECORDED, "rule")}
    convention = {name: next(iter(values[name]), RunConfig.model_fields[name].default) for name in CONVENTION}
    return {
        **RECORDED,
        **{name: found[0] for name, found in values.items() if len(found) > 1},
        **convention,
        "snap_every": max(1, min(run.iterations for run in of_gem) // SNAPSHOTS_PER_TASK),
        "snap_splits": _recorded_splits(of_gem),
    }


def why_not_recorded(runs: Sequence[RunConfig]) -> str:
    """Return why these runs cannot have default recordings, as the end of a sentence; empty if they can."""
    of_gem = _of_gem_family(runs)
    if not of_gem:
        return "these runs have no method of the GEM family"
    for tasks in distinct(run.tasks for run in of_gem):
        if not LEAST_TASKS <= tasks <= MOST_TASKS:
            return f"tasks is {tasks}; curves need {LEAST_TASKS} to {MOST_TASKS} tasks"
    networks = distinct(run.network for run in of_gem)
    if len(networks) > 1:
        return f"network is {', '.join(networks)}; curves need a single network"
    for run in of_gem:
        if not run.probe_every and run.benchmark_info.datasets(run.domain_names):
            return f"probe_every is 0, and snapshots of {run.benchmark} cost as much as probes; set it to at least 1"
    return ""


def without_recorded(runs: Sequence[RunConfig], recordings: Sequence[RunConfig]) -> list[RunConfig]:
    """Leave out the runs that differ from a recording in nothing but their measurements. All are canonical."""
    similar = {(run.label, run.strength) for run in recordings}  # only these are compared in full, which is slow
    recorded = set(map(_unmeasured, recordings))
    return [run for run in runs if (run.label, run.strength) not in similar or _unmeasured(run) not in recorded]


def _unmeasured(run: RunConfig) -> RunConfig:
    return run.model_copy(update=dict.fromkeys(MEASUREMENTS, 0)).canonical()


def _of_gem_family(runs: Iterable[RunConfig]) -> list[RunConfig]:
    """Return the runs of methods that can take snapshots."""
    return [run for run in runs if uses(run.method, "snap_every")]


def _recorded_splits(runs: Sequence[RunConfig]) -> int:
    """Return the number of memory splits to record, which can be joined to the splits of as many runs as possible."""
    chosen = distinct(run.splits for run in runs)
    common = lcm(*chosen)
    if SPLITS % common == 0 and _allow(runs, SPLITS):
        return SPLITS
    return common if common <= MOST_SPLITS and _allow(runs, common) else max(chosen)


def _allow(runs: Sequence[RunConfig], splits: int) -> bool:
    """Test whether the memory of each run can be split into this many parts."""
    return all(
        splits <= run.memory and (run.split_by != "class" or splits <= run.benchmark_info.classes_per_task) for run in runs
    )


def values_that_matter(runs: Iterable[RunConfig], name: str) -> list[Any]:
    """Return the distinct values of a field in the runs to which it matters; all other runs have its default."""
    return distinct(getattr(run, name) for run in runs if name in run.relevant_fields())


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return the values without repetitions, in order."""
    found: list[Any] = []
    for value in values:  # a partition is a dictionary, which a set cannot hold
        if value not in found:
            found.append(value)
    return found
