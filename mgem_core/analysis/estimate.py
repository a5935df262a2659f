"""Estimate how long a sweep will take, before it is launched."""

from collections.abc import Sequence
from dataclasses import dataclass

from mgem_core.analysis import frames
from mgem_core.config import RunConfig
from mgem_core.config.snapshot_cost import SnapshotCost, snapshot_cost
from mgem_core.config.sweeps import estimate_seconds
from mgem_core.store import Store
from mgem_core.text import duration, pluralize

HOUR, DAY = 3600.0, 86400.0
MANY_RUNS = 10_000  # the user must confirm sweeps with at least this many runs, or of at least a day


@dataclass(frozen=True)
class Estimate:
    runs: int  # in the sweep
    finished: int  # runs that have a result already
    seconds: float | None  # for the other runs; None if no run with one of their networks has finished here yet
    snapshots: SnapshotCost | None = None  # the cost of the snapshots that they record; part of `seconds`

    @property
    def phrases(self) -> list[str]:
        """Phrases for a summary: "52 runs", "40 already finished", "about 10 s"."""
        if self.finished == self.runs:
            return [pluralize(self.runs, "run"), "all finished already"]
        known = [f"{self.finished:,} already finished"] if self.finished else []
        time = "duration unknown until the first runs have finished"
        return [pluralize(self.runs, "run"), *known, time if self.seconds is None else f"about {duration(self.seconds)}"]

    @property
    def is_long(self) -> bool:
        return (self.seconds or 0) >= HOUR

    @property
    def to_confirm(self) -> str:
        """A phrase that the user must confirm before the launch; empty unless the sweep is very long or very large."""
        if (self.seconds or 0) >= DAY:
            return f"this may take about {duration(self.seconds or 0)}"
        return f"this is a sweep of {pluralize(self.runs, 'run')}" if self.runs - self.finished >= MANY_RUNS else ""


def estimate(
    store: Store, configs: Sequence[RunConfig], workers: int, again: bool = False, keys: Sequence[str] | None = None
) -> Estimate:
    """Estimate the time of the runs without a result (with `again`, of all runs) from speeds measured on this machine."""
    to_train = configs if again else store.without_result(configs, keys)
    speeds = frames.speeds(store)
    seconds, snapshots = estimate_seconds(to_train, speeds, workers), snapshot_cost(to_train, speeds, workers)
    return Estimate(len(configs), len(configs) - len(to_train), seconds, snapshots)
