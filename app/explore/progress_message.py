"""The message about the progress of a source: counts, time left, speed, and sentences about what needs attention."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from text import abbreviate

from explore.header import Message
from explore.sources import Source
from mgem_core.analysis.progress import SweepProgress, sweep_progress
from mgem_core.store import STATUSES, Store, describe_waiting

MOST_ERRORS = 3  # different errors of failed runs in the notes
States = Mapping[int, tuple[str, float]]  # run → status and progress


def progress_message(
    store: Store, source: Source, states: States, recordings: Sequence[int], notes: Sequence[str]
) -> Message:
    """Describe the progress of a source; `recordings` are its recording runs."""
    progress = _progress(store, source, states)
    done = sum(states[run][0] == "finished" for run in recordings if run in states)
    sentences = [*notes, *_notes_of_sweep(store, source, progress), *_errors(store, states)]
    counts = {"recordings": [done, len(recordings)], "notes": list(dict.fromkeys(sentences))}
    return {"kind": "progress", **progress.plain(), **counts}


def _progress(store: Store, source: Source, states: States) -> SweepProgress:
    if source.sweep is not None:
        return sweep_progress(store, source.sweep)
    counts = {status: sum(one == status for one, _ in states.values()) for status in STATUSES}
    return SweepProgress(counts, fmean(progress for _, progress in states.values()))


def _notes_of_sweep(store: Store, source: Source, progress: SweepProgress) -> list[str]:
    """Say why queued runs wait."""
    if source.sweep is None or not progress.counts["queued"]:
        return []
    others = len(store.requested_with_other_code(sweep=source.sweep))
    if others:
        return [f"{describe_waiting(others)}. Press *Resume* to request them again."]
    if not progress.counts["running"] and store.counts()["running"]:
        return ["Waiting for a free worker: runs of other sweeps are training."]
    return []


def _errors(store: Store, states: States) -> list[str]:
    """Return the errors of failed runs, each with the runs that have it."""
    failed = [run for run, (status, _) in states.items() if status in ("failed", "diverged")]
    by_error: dict[str, list[str]] = {}
    for run, error in store.run_values(["id", "error"], failed) if failed else ():
        by_error.setdefault(error or "failed", []).append(f"r{run}")
    sentences = [f"{error} ({abbreviate(runs, 8)})" for error, runs in by_error.items()]
    rest = len(sentences) - MOST_ERRORS
    return sentences[:MOST_ERRORS] + ([f"{rest} more errors are listed on the page Runs."] if rest > 0 else [])
