"""The progress of a sweep and its remaining time."""

from dataclasses import dataclass

from mgem_core.store import ENDED, Store


@dataclass(frozen=True)
class SweepProgress:
    counts: dict[str, int]  # status → number of runs
    share: float  # completed share of all steps; failed and diverged runs count as complete
    remaining: float  # number of runs still to train; a run that is half done counts as half
    mean_seconds: float | None  # mean duration of a finished run

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        return sum(self.counts[status] for status in ENDED)

    def seconds_left(self, workers: int) -> float | None:
        """Estimate the remaining time; None until a run has finished."""
        return self.remaining * self.mean_seconds / self._at_once(workers) if self.mean_seconds else None

    def runs_per_minute(self, workers: int) -> float | None:
        return 60 * self._at_once(workers) / self.mean_seconds if self.mean_seconds else None

    def _at_once(self, workers: int) -> int:
        """Return how many runs train at the same time; the number of workers if none has started."""
        return max(1, min(self.counts["running"] or workers, self.total - self.ended))


def sweep_progress(store: Store, sweep: int) -> SweepProgress:
    counts, done, seconds = store.progress_by_status(sweep)
    total = sum(counts.values())
    ended_early = counts["failed"] + counts["diverged"]
    share = sum(done[status] for status in counts if status not in ("failed", "diverged")) + ended_early
    remaining = sum(counts[status] - done[status] for status in ("queued", "running"))
    return SweepProgress(counts, share / total if total else 0.0, remaining, seconds)
