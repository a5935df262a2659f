"""Messages with recorded steps, as packed factors: of recordings in memory, or of runs that are still recording."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgem_core import RunConfig, UsageError
from mgem_core.config.sweeps import snapshots_per_task
from mgem_core.lens.recordings import PackedSnapshot
from mgem_core.restriction import gram_factors
from mgem_core.store import Store

MOST_NUMBERS = 4_000_000  # that are sent, 21 MB as text; of longer recordings, every second step, or every third …
MOST_AT_ALL = 30_000_000  # where even one step of each task has more numbers
MOST_IN_MESSAGE = 1_000_000  # numbers, 5 MB as text
Message = dict[str, Any]


def thinning(lengths: Sequence[tuple[int, int]]) -> int:
    """Return n, if one of every n recorded steps is to be sent; raise a UsageError if even one step of each is too much.

    `lengths` has (numbers of one step, number of steps) of each task of each recording.
    """
    every = max(1, -(-_count(lengths, 1) // MOST_NUMBERS))
    if (numbers := _count(lengths, every)) > MOST_AT_ALL:
        remedy = "open fewer of them, or record fewer splits"
        raise UsageError(
            f"These recordings have {numbers:,} numbers at one step of each task, and at most {MOST_AT_ALL:,} can be sent "
            f"to a browser; {remedy}."
        )
    return every


def _count(lengths: Sequence[tuple[int, int]], every: int) -> int:
    return sum(numbers * -(-steps // every) for numbers, steps in lengths)


def expected_lengths(config: RunConfig) -> list[tuple[int, int]]:
    """Return what `thinning` needs about a run that records with this config."""
    steps, splits, tensors = snapshots_per_task(config), config.snap_splits or config.splits, len(config.module_of)
    return [(tensors * gram_factors.packed_length(past, splits), steps) for past in range(1, config.tasks)]


def messages_of(place: int, task: int, snapshots: Sequence[PackedSnapshot]) -> list[Message]:
    """Return messages with the steps of one task of the recording at this place."""
    if not snapshots:
        return []
    at_once = max(1, MOST_IN_MESSAGE // max(1, snapshots[0].factors.size))
    parts = [snapshots[start : start + at_once] for start in range(0, len(snapshots), at_once)]
    return [
        {
            **{"kind": "snapshots", "recording": place, "task": task},
            "steps": [one.step for one in part],
            "sizes": [one.sizes.tolist() for one in part],
            "factors": _as_text(np.stack([one.factors for one in part])),
        }
        for part in parts
    ]


def _as_text(factors: NDArray[np.float32]) -> str:
    return base64.b64encode(np.ascontiguousarray(factors, "<f4").data).decode()


class RecordedSteps:
    """The snapshots of the recording runs of a source, read as they are stored."""

    def __init__(self, places: Mapping[int, int], every: int):
        """`places` maps each recording run to its place among the recorded seeds."""
        self.places, self.every = dict(places), every
        self.notes: list[str] = []  # about steps that cannot be shown
        self._last: dict[int, tuple[int, int]] = {}  # run → task and step that was read last
        self._counts: dict[tuple[int, int], int] = {}  # (run, task) → number of steps read
        self._steps: dict[tuple[int, int], list[PackedSnapshot]] = {}  # (place, task) → steps to send

    def add(self, places: Mapping[int, int]) -> None:
        """Also read these runs."""
        self.places |= places

    def known(self) -> list[int]:
        """Return the runs of which steps have been read."""
        return list(self._last)

    def read(self, store: Store) -> list[Message]:
        """Return messages with the snapshots that were stored since the last call."""
        new: dict[tuple[int, int], list[PackedSnapshot]] = {}
        for run, place in self.places.items():
            for task, step, factors, sizes in store.packed_snapshots(run, self._last.get(run, (-1, -1))):
                self._last[run] = task, step
                count = self._counts[run, task] = self._counts.get((run, task), 0) + 1
                if (count - 1) % self.every == 0 and self._is_valid(run, task, factors):
                    new.setdefault((place, task), []).append(PackedSnapshot(task, step, factors, sizes))
        for which, snapshots in new.items():
            self._steps.setdefault(which, []).extend(snapshots)
        return [message for which, snapshots in new.items() for message in messages_of(*which, snapshots)]

    def all(self) -> list[Message]:
        """Return all steps so far, joined into few messages."""
        return [message for which in sorted(self._steps) for message in messages_of(*which, self._steps[which])]

    def _is_valid(self, run: int, task: int, factors: NDArray[np.float32]) -> bool:
        if np.isfinite(factors).all():
            return True
        note = f"r{run} has a gradient that is not finite in task {task + 1}: its training diverged."
        if note not in self.notes:
            self.notes.append(note)
        return False
