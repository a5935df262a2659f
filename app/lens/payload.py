"""What the lens in the browser gets: recorded steps as packed factors, partitions to choose from, settings of the run."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from mgem_core import UsageError, gram_factors, partition
from mgem_core.lens import Setting, module_of, row_weights
from mgem_core.lens_steps import Steps, joined, steps_of
from mgem_core.recordings import Recording

MOST_NUMBERS = 4_000_000  # that are sent, 21 MB as text; of longer recordings, every second step, or every third …
PARTITIONS = (1, 2, 3, 4, 6, 8)  # numbers of modules to choose from, beside one per layer and one per tensor


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
    tasks = sorted(set.intersection(*(set(recording.tasks) for recording in found)))
    if not tasks:
        raise UsageError("These recordings have no task in common.")
    steps = {task: [steps_of(recording, task) for recording in found] for task in tasks}
    for parts in steps.values():
        joined(parts)  # checks that they fit together
    every = max(1, -(-sum(_numbers(one) for parts in steps.values() for one in parts) // MOST_NUMBERS))
    return {
        "title": title,
        "source": source,
        "layers": [{"name": layer.name, "tensors": list(layer.tensors)} for layer in first.layers],
        "partitions": _partitions(first),
        "recordings": [
            {
                "name": recording.name,
                "seed": recording.seed,
                "tasks": [_task(steps[t][r].at(slice(None, None, every))) for t in tasks],
            }
            for r, recording in enumerate(found)
        ],
        "used": _used(steps[tasks[0]][0], first),
        "every": every,
        "quantile": _quantile(len(found)),
    }


def _numbers(steps: Steps) -> int:
    N, L, M, _ = steps.gram.shape
    return int(N * L * M * (M + 1) // 2)


def _task(steps: Steps) -> dict[str, Any]:
    factors = np.stack([gram_factors.pack(gram) for gram in steps.gram])
    text = base64.b64encode(np.ascontiguousarray(factors, "<f4").tobytes()).decode()
    return {"task": steps.task, "steps": steps.steps.tolist(), "sizes": steps.sizes.tolist(), "factors": text}


def _partitions(recording: Recording) -> list[dict[str, Any]]:
    layers, tensors = len(recording.layers), sum(len(layer.tensors) for layer in recording.layers)
    counts = sorted({count for count in (*PARTITIONS, layers, tensors) if count <= tensors})
    return [{"modules": count, "moduleOf": list(partition.modules(recording.layers, count))} for count in counts]


def _used(steps: Steps, recording: Recording) -> dict[str, Any] | None:
    """The settings of the run itself; None if they are unknown, or the recording cannot answer for them."""
    if not recording.used:
        return None
    setting = Setting.of(recording.used)
    try:
        row_weights(steps, setting)
    except UsageError:
        return None
    strength = np.atleast_1d(np.asarray(setting.strength, float)).tolist()
    knobs: dict[str, str] = {"solver": setting.solver, "kind": setting.strength_kind, "trigger": setting.trigger}
    knobs |= {"per": setting.strength_per, "stepLength": setting.step_length}
    ridge = {"ridge": setting.ridge, "ridgeKind": setting.ridge_kind}
    partition_of = list(module_of(steps, setting.modules))
    return {"moduleOf": partition_of, "splits": setting.splits, "strength": strength, "knobs": {**knobs, **ridge}}


def _quantile(seeds: int) -> float:
    """Of Student's t, for 95 % intervals."""
    from scipy.special import stdtrit  # takes a third of a second

    return float(stdtrit(max(1, seeds - 1), 0.975))
