"""The progress of a sweep: share, speed and remaining time, as every page and command shows them.

Speeds come from what happened last: the runs that are training and those that ended last. Work is counted as in
`relative_work`, so that runs of different lengths, networks and methods can be mixed.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from mgem_core.config import RunConfig
from mgem_core.config.sweeps import SEED, relative_work
from mgem_core.store import ENDED, Store
from mgem_core.store.recent_runs import RecentRun, recent_runs, remaining_runs
from mgem_core.text import duration

RECENT_RUNS = 40  # number of ended runs from which the speed is computed
RECENT_SECONDS = 3600.0  # none of them ended longer ago than this


@dataclass(frozen=True)
class SweepProgress:
    counts: dict[str, int]  # status → number of runs
    share: float  # completed share of all steps; failed and diverged runs count as complete
    seconds_left: float | None = None  # None while nothing has trained recently, and at the end
    ms_per_step: float | None = None  # mean duration of a training step, without measurements and evaluations
    runs_per_minute: float | None = None  # runs that ended, per minute in which at least one run trained

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        return sum(self.counts[status] for status in ENDED)

    @property
    def is_active(self) -> bool:
        """Whether runs are training or queued."""
        return self.ended < self.total

    @property
    def speed(self) -> list[str]:
        """Phrases for a summary while runs train: "3 min left", "2.1 ms per step", "44 runs per minute"."""
        if not self.is_active:
            return []
        left = [] if self.seconds_left is None else [f"{duration(self.seconds_left)} left"]
        step = [] if self.ms_per_step is None else [f"{_number(self.ms_per_step)} ms per step"]
        rate = [] if self.runs_per_minute is None else [f"{_number(self.runs_per_minute)} runs per minute"]
        return [*left, *step, *rate]

    def plain(self) -> dict[str, Any]:
        """Return the progress as plain data for JSON, with the names that the browser uses."""
        return {
            "counts": self.counts,
            "share": self.share,
            "secondsLeft": self.seconds_left,
            "msPerStep": self.ms_per_step,
            "runsPerMinute": self.runs_per_minute,
            "isActive": self.is_active,
        }


def _number(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def sweep_progress(store: Store, sweep: int) -> SweepProgress:
    counts, done = store.progress_by_status(sweep)
    total = sum(counts.values())
    ended_early = counts["failed"] + counts["diverged"]
    share = sum(done[status] for status in counts if status not in ("failed", "diverged")) + ended_early
    now = time.time()
    recent = recent_runs(store, sweep, now - RECENT_SECONDS, RECENT_RUNS)
    left = _seconds_left(store, sweep, recent, now) if counts["queued"] + counts["running"] else None
    return SweepProgress(counts, share / total if total else 0.0, left, _ms_per_step(recent), _runs_per_minute(recent, now))


def _seconds_left(store: Store, sweep: int, recent: list[RecentRun], now: float) -> float | None:
    """Divide the remaining work by the work per second of all workers together; None before the first step.

    It takes at least as long as the longest remaining run, which a single worker trains.
    """
    work = sum(run.trained * _work(run.config) for run in recent)
    times = [(run.started, run.ended or now) for run in recent]
    wall, busy = _covered(times), sum(end - start for start, end in times)
    if not work or not wall:
        return None
    remaining = [missing * _work(config) for config, missing in remaining_runs(store, sweep)]
    return max(sum(remaining) * wall, max(remaining, default=0.0) * busy) / work


def _runs_per_minute(recent: list[RecentRun], now: float) -> float | None:
    """Count ended runs. Of runs that are still training, the trained part counts, with the time that it took."""
    wall = _covered((run.started, run.ended or now) for run in recent)
    has_ended = any(run.ended for run in recent)
    return 60 * sum(1.0 if run.ended else run.trained for run in recent) / wall if has_ended and wall else None


def _ms_per_step(recent: list[RecentRun]) -> float | None:
    """Return the mean over the steps of runs with a measured time per step."""
    measured = [(run.seconds_per_step, run.steps) for run in recent if run.seconds_per_step and run.steps]
    steps = sum(steps for _, steps in measured)
    return 1000 * sum(seconds * steps for seconds, steps in measured) / steps if steps else None


def _covered(times: Iterable[tuple[float, float]]) -> float:
    """Return how many seconds lie in at least one of these intervals; pauses between runs do not count."""
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(times):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


def _work(config: str) -> float:
    """Return the work of a stored config. All seeds share one entry of the cache."""
    return _work_without_seed(SEED.sub("", config, count=1))


@lru_cache(maxsize=20_000)
def _work_without_seed(config: str) -> float:
    try:
        return relative_work(RunConfig.model_validate_json(config))
    except ValidationError:  # stored by another version
        return 0.0
