"""Probes and snapshots: compare one step with the gradients of all tasks at the parameters where it starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mgem_core.config import RunConfig
from mgem_core.events import Probed, Snapped
from mgem_core.gradients.rows import Gradient, memory_rows, preserved_statistics
from mgem_core.learners import shares_network, uses
from mgem_core.learners._learner import Learner, Step
from mgem_core.restriction import direction
from mgem_core.training.evaluation import Evaluation


@dataclass(frozen=True)
class Measurement:
    """Gradients measured before a step, at the same parameters as the gradient of the step."""

    is_probe: bool
    past: list[Gradient]  # g_s of each past task
    current: Gradient  # g_t
    rows: list[Gradient]  # memory rows for a snapshot; empty if none is taken
    sizes: NDArray[np.int64]  # sample counts of the memory rows [S, K]

    def events(self, task: int, step: int, taken: Step) -> Iterator[Probed | Snapped]:
        """Return the events of the step that was taken."""
        if self.is_probe:
            yield self._probed(task, step, taken)
        if self.rows:
            vectors = [taken.g, self.current, *self.past, *self.rows]
            yield Snapped(task, step, direction.grams(vectors), self.sizes)

    def _probed(self, task: int, step: int, taken: Step) -> Probed:
        S = len(self.past)
        with_z, squares = direction.products_with(taken.z, [*self.past, self.current, taken.g, taken.z])
        norms = np.sqrt(squares)
        memory_z = np.full(S, np.nan) if taken.memory_z is None else taken.memory_z
        return Probed(
            task=task,
            step=step,
            gs_z=with_z[:S],
            gt_z=float(with_z[S]),
            batch_z=float(with_z[S + 1]),
            memory_z=memory_z if taken.scale is None else memory_z * float(taken.scale),
            norm_z=float(norms[S + 2]),
            norm_gs=norms[:S],
            norm_gt=float(norms[S]),
            norm_g=float(norms[S + 1]),
        )


def prepare(config: RunConfig, learner: Learner, evaluation: Evaluation, task: int, step: int) -> Measurement | None:
    """Measure the gradients for the next step if it will be probed or recorded; otherwise return None."""
    probe = bool(config.probe_every) and step % config.probe_every == 0
    snap = uses(config.method, "snap_every") and config.snap_every and step % config.snap_every == 0
    if not (probe or snap) or task == 0 or not shares_network(config.method):
        return None
    with preserved_statistics(learner.network):
        *past, current = [evaluation.true_gradient(learner.network, s, task, step) for s in range(task + 1)]
        memory = learner.memory(config.snap_splits or config.splits) if snap else None
        rows = memory_rows(learner.network, memory) if memory else []
    sizes = np.reshape(memory.sizes if memory else (), (task, -1))
    return Measurement(probe, past, current, rows, sizes)
