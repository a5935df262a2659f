"""Messages about recordings that were opened from files: their header and their steps, without trained runs."""

from collections.abc import Sequence

import numpy as np
from text import abbreviate

from explore.header import Message, Recorded, header
from explore.recorded_steps import messages_of, thinning
from mgem_core import UsageError
from mgem_core.lens import recordings
from mgem_core.lens.answers import module_of, row_weights
from mgem_core.lens.header import MOST_NUMBERS
from mgem_core.lens.recordings import PackedSnapshot, Recording, Snapshot, factors_of
from mgem_core.lens.steps import Steps, check_finite, snapshots_by_task
from mgem_core.restriction import gram_factors
from mgem_core.restriction.restriction import Restriction

MOST_NAMES = 6  # number of file names in the title
ByTask = dict[int, list[Snapshot]]


def open_files(files: Sequence[tuple[str, bytes]]) -> tuple[list[Message], list[str]]:
    """Return the messages about files (name, content), and a sentence about each file that cannot be shown."""
    found: list[Recording] = []
    problems: list[str] = []
    numbers_left = MOST_NUMBERS  # for all files together, because all are in memory at once
    for name, content in files:
        try:
            recording = recordings.parse(content, name, numbers_left)
        except UsageError as error:
            problems.append(str(error))
        else:
            found.append(recording)
            numbers_left -= recording.numbers
    try:
        title = abbreviate([one.name for one in found], MOST_NAMES)
        return (recording_messages(found, title, "files") if found else []), problems
    except UsageError as error:
        return [], [*problems, str(error)]


def recording_messages(found: Sequence[Recording], title: str, source: str) -> list[Message]:
    """Return the header and all steps of recordings of one configuration; raise a UsageError if they differ in more."""
    first = found[0]
    for other in found[1:]:
        if other.layers != first.layers or other.used != first.used or other.split_by != first.split_by:
            raise UsageError(
                f"{first.name} and {other.name} differ in more than their seeds; open those of one configuration."
            )
    steps = [snapshots_by_task(recording) for recording in found]
    tasks = _common_tasks(found, steps)
    tensors = sum(len(layer.shapes) for layer in first.layers)
    lengths = [
        (tensors * gram_factors.packed_length(*by_task[task][0].sizes.shape), len(by_task[task]))
        for by_task in steps
        for task in tasks
    ]
    every, splits = thinning(lengths), steps[0][tasks[0]][0].sizes.shape[1]
    recorded = Recorded(first.layers, splits, _used(first, tasks[0], steps[0][tasks[0]]), every)
    messages = [header(source, title, recorded, _seeds(found), tasks=max(tasks) + 1)]
    order = np.argsort([recording.seed or 0 for recording in found], kind="stable")
    for place, which in enumerate(order):
        for task in tasks:
            packed = [_packed(one) for one in steps[which][task][::every]]
            check_finite(np.stack([one.factors for one in packed]), found[which].name, task)
            messages += messages_of(place, task, packed)
    return messages


def _common_tasks(found: Sequence[Recording], steps: Sequence[ByTask]) -> list[int]:
    """Return the tasks that all recordings have; raise a UsageError if their memory rows differ, or there are none."""
    tasks = sorted(set.intersection(*(set(by_task) for by_task in steps)))
    if not tasks:
        raise UsageError("These recordings have no task in common.")
    for task in tasks:
        for other, by_task in zip(found, steps, strict=True):
            if by_task[task][0].sizes.shape != steps[0][task][0].sizes.shape:
                differ = f"{found[0].name} and {other.name} differ in their memory rows in task {task + 1}"
                raise UsageError(f"{differ}; open recordings of one kind.")
    return tasks


def _seeds(found: Sequence[Recording]) -> list[int]:
    """Return the seeds in order; the numbers of the recordings where seeds are unknown or repeated."""
    seeds = [recording.seed for recording in found if recording.seed is not None]
    return sorted(seeds) if len(set(seeds)) == len(found) else list(range(len(found)))


def _packed(snapshot: Snapshot) -> PackedSnapshot:
    return PackedSnapshot(snapshot.task, snapshot.step, factors_of(snapshot), snapshot.sizes)


def _used(recording: Recording, task: int, snapshots: Sequence[Snapshot]) -> Message | None:
    """Return the settings of the run itself; None if they are unknown, or the recording cannot answer for them."""
    if not recording.used:
        return None
    setting = Restriction.of(recording.used)
    sizes, no_gram = np.stack([snapshot.sizes for snapshot in snapshots]), np.empty((0, 0, 0, 0))  # which is not needed
    steps = Steps(recording.name, task, recording.layers, recording.split_by, no_gram, sizes, np.empty(0, np.int64))
    try:
        row_weights(steps, setting)
        partition_of = list(module_of(steps, setting.modules))
    except UsageError:
        return None
    strength = np.atleast_1d(np.asarray(setting.strength, float)).tolist()
    return {"moduleOf": partition_of, "splits": setting.splits, "strength": strength, "restriction": setting.as_json()}
