"""The GEM family: GEM, p-mGEM, d-mGEM, md-GEM and approx-GEM are one learner with other knobs."""

from typing import Any

import numpy as np
import torch

from mgem_core import direction, partition
from mgem_core.config import RunConfig, UsageError
from mgem_core.dual import Restriction
from mgem_core.gradients import Memory, gradient, memory_rows, pack
from mgem_core.learners._learner import Learner, Step
from mgem_core.randomness import rng
from mgem_core.streams._stream import Stream


class Method(Learner):
    def __init__(self, config: RunConfig, stream: Stream, device: torch.device):
        super().__init__(config, stream, device)
        self.module_of = config.module_of
        self.remembered: list[np.ndarray] = []  # the images kept of each past task
        self._recall()

    def observe(self, task: int, step: int, indices: np.ndarray) -> Step:
        G = memory_rows(self.network, self.rows) if self.rows else None
        loss, g = gradient(self.network, self.stream.batch(task, indices))
        if G is None or self.rows is None:
            return self.move(task, Step(loss, g, g))
        solution = direction.solve(direction.grams(g, G), self.module_of, self.knobs)
        z = direction.bend(g, G, solution.v, self.module_of)
        sizes = np.reshape(self.rows.sizes, (-1, self.config.splits))
        memory_z = np.average(np.reshape(solution.rows_z, sizes.shape), axis=1, weights=sizes)
        return self.move(task, Step(loss, g, z, float(solution.violated.mean()), solution.retries, memory_z))

    def learned(self, task: int, shown: np.ndarray) -> None:
        self.remembered.append(self.chosen(task, shown, self.config.memory))
        self._recall()

    def memory(self, splits: int) -> Memory | None:
        rows = []
        for task, kept in enumerate(self.remembered):
            rows += [self.stream.batch(task, part) for part in self._parts(task, kept, splits)]
        return pack(rows) if rows else None

    def _parts(self, task: int, kept: np.ndarray, splits: int) -> list[np.ndarray]:
        """The images kept of a task, cut into splits."""
        labels = self.stream.labels.cpu().numpy()[kept]
        draw = rng(self.config.seed, "splits", task)
        return [kept[part] for part in partition.splits(labels, splits, self.config.split_by, draw)]

    def check(self, task: int, shown: np.ndarray) -> None:
        kept = self.chosen(task, shown, self.config.memory)
        for splits in (self.config.splits, self.config.snap_splits or 1):
            try:
                self._parts(task, kept, splits)
            except ValueError as error:  # a small memory may lack a class
                raise UsageError(f"splits is {splits}; {error} (here: of task {task + 1}).") from None

    def _recall(self) -> None:
        """Make the memory's rows, and a strength for each, from the images remembered."""
        config = self.config
        self.rows = self.memory(config.splits)
        strength = np.broadcast_to(config.strength, (config.tasks - 1,))[: len(self.remembered)]
        per_row = np.repeat(strength, config.splits).tolist()
        self.knobs = Restriction(
            per_row, config.strength_kind, config.solver, config.trigger, config.ridge, config.ridge_kind
        )

    def restore(self, state: dict[str, Any], shown: list[np.ndarray], steps: int) -> None:
        super().restore(state, shown, steps)
        self.remembered = [self.chosen(task, images, self.config.memory) for task, images in enumerate(shown)]
        self._recall()
