"""The messages about one source, computed once for all its viewers: everything so far, then what has changed.

The cost of a call depends on what has changed: measurements are read again only for runs that have advanced, and frames of
all runs are built only when runs were added or removed, or for the verdicts.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from explore.header import Message
from explore.layout import Layout, lay_out
from explore.progress_message import progress_message
from explore.recorded_steps import RecordedSteps
from explore.sources import Source
from explore.trained_verdicts import verdicts_message
from mgem_core import UsageError
from mgem_core.analysis import frames
from mgem_core.analysis.aggregate import Measurements
from mgem_core.analysis.measurements import MeasurementCache
from mgem_core.paper.published import rounded
from mgem_core.store import ENDED, Store

PROGRESS_SECONDS = 1.0  # at least, between messages about the progress
VERDICT_SECONDS = 5.0  # at least, between verdicts while runs finish
RUNS_PER_MESSAGE = 500
PAIR_COLUMNS = (0, 1, 3, 4, 6, 7)  # of `Measurements.pairs`: x and y raw, per unit ‖z‖ and as cosines
STATE = ("id", "status", "key", "attempts", "started", "ended", "task", "step", "progress")


class SourceGoneError(UsageError):
    """The source was deleted, or its store replaced; the message says which."""


class SourceRestartedError(Exception):
    """Runs were removed or trained again, so that viewers must forget what they got."""


class LiveSource:
    """Only one thread at a time may use it."""

    def __init__(
        self,
        store: Store,
        source: Source,
        cache: MeasurementCache,
        check_runner: Callable[[Store], Sequence[str]] = lambda store: (),
        clock: Callable[[], float] = time.monotonic,
    ):
        """`check_runner` keeps a runner alive, and returns what prevents it from working; called while runs wait."""
        self.store, self.source, self.cache = store, source, cache
        self.check_runner, self.clock = check_runner, clock
        self.is_active = False
        self._layout: Layout | None = None
        self._steps = RecordedSteps({}, 1)
        self._states: dict[int, tuple[Any, ...]] = {}
        self._items: dict[int, dict[str, Any]] = {}  # run → its part of the message `runs`
        self._version: object = None
        self._progress: Message = {}
        self._verdicts: Message = {}
        self._progress_time = self._verdict_time = -VERDICT_SECONDS
        self._has_new_progress = self._has_new_result = True

    def everything(self) -> list[Message]:
        """Return all that has been found out so far, for a new viewer."""
        assert self._layout, "advance() comes first"
        items, last = list(self._items.values()), [self._progress, self._verdicts]
        first = [self._layout.header, *self._steps.all(), self._layout.configurations]
        return [*first, *_runs_messages(items), *(message for message in last if message)]

    def advance(self) -> list[Message]:
        """Return what has changed since the last call.

        Raises:
            SourceGoneError: there is no such source any more.
            SourceRestartedError: all messages so far are void; begin again with another LiveSource.
        """
        if not self.store.is_current():
            raise SourceGoneError(f"The store at {self.store.path} was replaced.")
        messages, version, is_first = [], self.store.version(), self._layout is None
        if version != self._version:
            messages = self._read_changes()
            self._version = version
        now = self.clock()
        if (self._has_new_progress or self.is_active) and now - self._progress_time >= PROGRESS_SECONDS:
            self._progress_time, self._has_new_progress = now, False
            messages += self._replace("_progress", self._read_progress())
        is_due = not self.is_active or now - self._verdict_time >= VERDICT_SECONDS
        if self._has_new_result and is_due and not is_first:  # they take longest, so the first viewer gets them later
            self._verdict_time, self._has_new_result = now, False
            messages += self._replace("_verdicts", verdicts_message(self.store, self.source, self._shown, self.cache))
        return messages

    @property
    def _shown(self) -> list[int]:
        return list(self._layout.configuration_of) if self._layout else []

    def _replace(self, name: str, message: Message) -> list[Message]:
        """Remember a message, and return it if it differs from the last one."""
        if message == getattr(self, name):
            return []
        setattr(self, name, message)
        return [message]

    def _read_changes(self) -> list[Message]:
        states = {row[0]: row for row in self.store.run_values(STATE, self._ids, self.source.sweep)}
        if not states:
            raise SourceGoneError(f"{self.source.title} was deleted.")
        messages = self._follow_layout(states)
        changed = [run for run in self._shown if run in states and states[run] != self._states.get(run)]
        has_ended = {run for run in changed if states[run][1] in ENDED}
        self._has_new_result |= bool(has_ended)
        self._has_new_progress |= states != self._states
        self.is_active = any(state[1] not in ENDED for state in states.values())
        self._states = states
        messages += self._steps.read(self.store)
        measured = self.cache.read(self.store, changed) if changed else {}
        items = [self._item(run, measured[run]) for run in changed if run in measured]
        self._items |= {item["id"]: item for item in items}
        return messages + _runs_messages(items)

    @property
    def _ids(self) -> tuple[int, ...] | None:
        return self.source.runs if self.source.sweep is None else None

    def _follow_layout(self, states: dict[int, tuple[Any, ...]]) -> list[Message]:
        """Lay the runs out again if some were added; if some were removed or recorded again, everything starts again."""
        before = self._layout
        if any(states[run][2] != self._states[run][2] for run in self._steps.known() if run in states):
            raise SourceRestartedError
        if before and states.keys() == self._states.keys():
            return []
        runs = frames.runs(self.store, self.source.sweep, self._ids)
        if runs.empty:
            raise SourceGoneError(f"{self.source.title} was deleted.")
        layout = lay_out(self.source, runs)
        if before is None:
            self._steps = RecordedSteps(layout.recordings, layout.header["every"])
        elif _can_follow(before, layout):
            self._steps.add(layout.recordings)
        else:
            raise SourceRestartedError
        self._layout = layout
        pairs = [(layout.header, before and before.header), (layout.configurations, before and before.configurations)]
        return [new for new, old in pairs if new != old]

    def _read_progress(self) -> Message:
        notes = [*self._layout.notes, *self._steps.notes] if self._layout else []
        if self.is_active:
            notes += self.check_runner(self.store)
        recordings = self._layout.recordings if self._layout else {}
        states = {run: (state[1], state[-1]) for run, state in self._states.items()}
        return progress_message(self.store, self.source, states, list(recordings), notes)

    def _item(self, run: int, measured: Measurements) -> dict[str, Any]:
        assert self._layout, "advance() comes first"
        return run_item(self._layout, run, self._states[run][1], self._states[run][-1], measured)


def run_item(layout: Layout, run: int, status: str, progress: float, measured: Measurements) -> dict[str, Any]:
    """Return the part of a run in the message `runs`."""
    pairs = {f"{s},{t}": [rounded(values[i], 7) for i in PAIR_COLUMNS] for (s, t), values in measured.pairs.items()}
    return {
        **{"id": run, "configuration": layout.configuration_of[run], "seed": layout.seeds[run]},
        **{"status": status, "progress": round(progress, 4)},
        **{"R": [[rounded(value, 7) for value in row] for row in measured.R.tolist()], "pairs": pairs},
        "isRecording": run in layout.recordings,
    }


def _can_follow(before: Layout, after: Layout) -> bool:
    """Return whether all messages about the layout before are still right after runs were added."""
    is_kept = before.recordings.items() <= after.recordings.items() and before.header["every"] == after.header["every"]
    return is_kept and before.configuration_of.items() <= after.configuration_of.items()


def _runs_messages(items: list[dict[str, Any]]) -> list[Message]:
    parts = [items[start : start + RUNS_PER_MESSAGE] for start in range(0, len(items), RUNS_PER_MESSAGE)]
    return [{"kind": "runs", "items": part} for part in parts]
