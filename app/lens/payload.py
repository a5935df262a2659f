"""What the lens in the browser gets: recorded steps as packed factors, partitions to choose from, settings of the run."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from mgem_core import UsageError
from mgem_core.analysis import curves, paired, significance
from mgem_core.lens.answers import module_of, row_weights
from mgem_core.lens.recordings import Recording, Snapshot, factors_of
from mgem_core.lens.steps import CANCELLED, Steps, check_finite, snapshots_by_task
from mgem_core.restriction import gram_factors, partition
from mgem_core.restriction.restriction import Restriction

MOST_NUMBERS = 4_000_000  # that are sent, 21 MB as text; of longer recordings, every second step, or every third …
MOST_AT_ALL = 30_000_000  # where even one step of each task has more numbers; Streamlit sends at most 200 MB of text
PARTITIONS = (1, 2, 3, 4, 6, 8)  # numbers of modules to choose from, beside one per layer and one per tensor
ByTask = dict[int, list[Snapshot]]


def payload(found: Sequence[Recording], title: str, source: str = "") -> dict[str, Any]:
    """Of recordings of one configuration; an error if they cannot be shown together.

    `source` is the key by which the lens knows runs that were trained with its settings (`lens.trained`).
    """
    first = found[0]
    for other in found[1:]:
        if other.layers != first.layers or other.used != first.used or other.split_by != first.split_by:
            raise UsageError(
                f"{first.name} and {other.name} differ in more than their seeds; open those of one configuration."
            )
    snapshots = [snapshots_by_task(recording) for recording in found]
    tasks = sorted(set.intersection(*(set(by_task) for by_task in snapshots)))
    if not tasks:
        raise UsageError("These recordings have no task in common.")
    for task in tasks:
        for other, by_task in zip(found, snapshots, strict=True):
            if by_task[task][0].sizes.shape != snapshots[0][task][0].sizes.shape:
                differ = f"{first.name} and {other.name} differ in their memory rows in task {task + 1}"
                raise UsageError(f"{differ}; open recordings of one kind.")
    every = max(1, -(-_count_numbers(first, snapshots, tasks, 1) // MOST_NUMBERS))
    if (numbers := _count_numbers(first, snapshots, tasks, every)) > MOST_AT_ALL:
        remedy = "open fewer of them, or record fewer splits"
        raise UsageError(
            f"These recordings have {numbers:,} numbers at one step of each task, and at most {MOST_AT_ALL:,} can be sent "
            f"to a browser; {remedy}."
        )
    partitions = _partitions(first)
    return {
        "title": title,
        "source": source,
        "layers": [{"name": layer.name, "tensors": list(layer.tensors)} for layer in first.layers],
        "partitions": partitions,
        "recordings": [
            {
                "name": recording.name,
                "seed": recording.seed,
                "tasks": [_task(recording.name, task, by_task[task][::every]) for task in tasks],
            }
            for recording, by_task in zip(found, snapshots, strict=True)
        ],
        "used": _used(first, tasks[0], snapshots[0][tasks[0]]),
        "every": every,
        "defaults": Restriction().as_json(),
        "cancelled": CANCELLED,
        "rule": _rule(len(found), len(partitions), snapshots[0][tasks[0]][0].sizes.shape[1]),
    }


def _count_numbers(first: Recording, snapshots: Sequence[ByTask], tasks: Sequence[int], every: int) -> int:
    """In the packed factors of these tasks, if one of every `every` snapshots is sent."""
    tensors, total = sum(len(layer.shapes) for layer in first.layers), 0
    for task in tasks:
        length = gram_factors.packed_length(*snapshots[0][task][0].sizes.shape)
        total += tensors * length * sum(len(by_task[task][::every]) for by_task in snapshots)
    return total


def _task(name: str, task: int, snapshots: Sequence[Snapshot]) -> dict[str, Any]:
    factors = np.stack([factors_of(snapshot) for snapshot in snapshots])
    check_finite(factors, name, task)
    text = base64.b64encode(np.ascontiguousarray(factors, "<f4").data).decode()
    sizes = [snapshot.sizes.tolist() for snapshot in snapshots]
    return {"task": task, "steps": [snapshot.step for snapshot in snapshots], "sizes": sizes, "factors": text}


def _partitions(recording: Recording) -> list[dict[str, Any]]:
    layers, tensors = len(recording.layers), sum(len(layer.tensors) for layer in recording.layers)
    counts = sorted({count for count in (*PARTITIONS, layers, tensors) if count <= tensors})
    return [{"modules": count, "moduleOf": list(partition.modules(recording.layers, count))} for count in counts]


def _used(recording: Recording, task: int, snapshots: Sequence[Snapshot]) -> dict[str, Any] | None:
    """The settings of the run itself; None if they are unknown, or the recording cannot answer for them."""
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


def _rule(seeds: int, partitions: int, splits: int) -> dict[str, Any]:
    """Return the rule of significance for the comparisons of all partitions and splits to choose from with GEM."""
    choices = partitions * sum(splits % divisor == 0 for divisor in range(1, splits + 1))
    return {
        **significance.for_browser(seeds, max(1, choices - 1)),
        **{"places": curves.PLACES, "same": curves.SAME, "mostCommon": paired.MOST},
    }
