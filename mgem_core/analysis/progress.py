"""How far a sweep has come, and how long the rest will take."""

from dataclasses import dataclass

from mgem_core.store import ENDED, Store


@dataclass(frozen=True)
class SweepProgress:
    counts: dict[str, int]  # runs with each status
    share: float  # of the steps of all runs; runs that failed or diverged take no more steps
    remaining: float  # runs that are still to train; a run that is half done counts as half
    mean_seconds: float | None  # of a finished run

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        return sum(self.counts[status] for status in ENDED)

    def seconds_left(self, workers: int) -> float | None:
        """None until a run has finished."""
        return self.remaining * self.mean_seconds / self._at_once(workers) if self.mean_seconds else None

    def runs_per_minute(self, workers: int) -> float | None:
        return 60 * self._at_once(workers) / self.mean_seconds if self.mean_seconds else None

    def _at_once(self, workers: int) -> int:
        """The number of runs that train at the same time; as many as there are workers if none has begun."""
        return max(1, min(self.counts["running"] or workers, self.total - self.ended))


def sweep_progress(store: Store, sweep: int) -> SweepProgress:
    counts, done, seconds = store.progress_by_status(sweep)
    total = sum(counts.values())
    without_rest = counts["failed"] + counts["diverged"]
    share = sum(done[status] for status in counts if status not in ("failed", "diverged")) + without_rest
    remaining = sum(counts[status] - done[status] for status in ("queued", "running"))
    return SweepProgress(counts, share / total if total else 0.0, remaining, seconds)
