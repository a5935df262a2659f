"""Estimate how long a sweep will take, before it is launched."""

from collections.abc import Sequence
from dataclasses import dataclass

from mgem_core.analysis import frames
from mgem_core.analysis.machine import slowness
from mgem_core.config import RunConfig
from mgem_core.config.keys import expected_device
from mgem_core.config.reference_speeds import reference_speeds
from mgem_core.config.snapshot_cost import SnapshotCost, snapshot_cost
from mgem_core.config.sweeps import estimate_seconds
from mgem_core.store import Store
from mgem_core.text import duration, pluralize, recordings_and_runs

HOUR = 3600.0
MANY_RUNS = 10_000  # the user must confirm sweeps with at least this many runs, or of at least an hour


@dataclass(frozen=True)
class Estimate:
    runs: int  # in the sweep, with its recordings
    finished: int  # runs that have a result already
    seconds: float | None  # for the other runs; None if one of their networks has never been measured
    snapshots: SnapshotCost | None = None  # the cost of the snapshots that they record; part of `seconds`
    recordings: int = 0  # how many of the runs are the sweep's recordings
    active: int = 0  # how many of the runs without a result are training or queued
    basis: str = ""  # what an estimate from shipped speeds is for, e.g. "conv5 on 2 cores"; empty if measured here

    @property
    def phrases(self) -> list[str]:
        """Phrases for a summary: "4 recordings + 52 runs", "40 already finished", "about 10 s"."""
        runs = recordings_and_runs(self.recordings, self.runs - self.recordings)
        if self.finished == self.runs:
            return [runs, "all finished already"]
        known = [f"{self.finished:,} already finished"] if self.finished else []
        if self.finished + self.active == self.runs:  # the bar of their sweep says how long they will take
            return [runs, *known, "the others are training" if known else "training now"]
        return [runs, *known, self._time]

    @property
    def _time(self) -> str:
        if self.seconds is None:
            return "duration unknown until the first runs have finished"
        return f"about {duration(self.seconds)}" + (f" (estimate for {self.basis})" if self.basis else "")

    @property
    def to_confirm(self) -> str:
        """A phrase that the user must confirm before the launch; empty unless the sweep is long or very large."""
        if (self.seconds or 0) >= HOUR:
            return f"this may take about {duration(self.seconds or 0)}"
        return f"this is a sweep of {pluralize(self.runs, 'run')}" if self.runs - self.finished >= MANY_RUNS else ""


def estimate(
    store: Store,
    configs: Sequence[RunConfig],
    workers: int,
    again: bool = False,
    keys: Sequence[str] | None = None,
    recordings: int = 0,
) -> Estimate:
    """Estimate the time of the runs without a result (with `again`, of all runs).

    Speeds that runs had on this machine take precedence over those that ship with the tool. `recordings` is the number of
    recordings among the runs (`SweepSpec.recordings`).
    """
    to_train = configs if again else store.without_result(configs, keys)
    measured = frames.speeds(store)
    unmeasured = [config for config in to_train if config.network not in measured]
    speeds = {**(shipped_speeds() if unmeasured else {}), **measured}
    seconds, snapshots = estimate_seconds(to_train, speeds, workers), snapshot_cost(to_train, speeds, workers)
    basis = _basis(unmeasured, workers)
    active = 0 if again else store.count_active(to_train)
    return Estimate(len(configs), len(configs) - len(to_train), seconds, snapshots, recordings, active, basis)


def shipped_speeds() -> dict[str, float]:
    """Return the seconds per sample of each network, measured on another machine and scaled to the speed of this one."""
    return {name: speed.seconds_per_sample * slowness() for name, speed in reference_speeds().items()}


def _basis(unmeasured: Sequence[RunConfig], workers: int) -> str:
    if not unmeasured:
        return ""
    networks = ", ".join(dict.fromkeys(config.network for config in unmeasured))
    on_gpu = any(expected_device(config.device) != "cpu" for config in unmeasured)
    return f"{networks} on {pluralize(workers, 'core')}{', without a GPU' if on_gpu else ''}"
