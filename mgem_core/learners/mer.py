"""MER (Riemer et al. 2019, algorithm 1): replay samples one at a time, with Reptile to align their gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from mgem_core.learners import Method, Style, register
from mgem_core.learners._learner import Step
from mgem_core.learners._reservoir import ReplayLearner, Sample, batch_of
from mgem_core.randomness import rng

if TYPE_CHECKING:
    import torch

    from mgem_core.config import RunConfig
    from mgem_core.streams._stream import Batch


class MER(ReplayLearner):
    def observe(self, task: int, step: int, indices: np.ndarray) -> Step:
        from mgem_core.gradients.rows import preserved_statistics

        generator = rng(self.config.seed, "mer", task, step)
        before = self._copy()
        with preserved_statistics(self.network):
            loss, g = self.gradient(task, indices)
        drawn = []  # the batches of each new sample
        for index in indices:
            new = task, int(index)
            drawn.append([self._replays(new, generator) for _ in range(self.config.mer_batches)])
            self.reservoir.add(new, generator)
        for batches in self._images(drawn):
            self._learn(batches)
        z = [(old - new) / self.config.lr for old, new in zip(before, self.theta, strict=True)]
        return Step(loss, g, z)

    def _images(self, drawn: list[list[list[Sample]]]) -> Iterator[list[list[Batch]]]:
        """Yield the drawn batches as images; all images are looked up together, which is faster."""
        whole = batch_of(self.stream, [sample for batches in drawn for batch in batches for sample in batch])
        singles = iter(whole.singles())
        for batches in drawn:
            yield [[next(singles) for _ in batch] for batch in batches]

    def _learn(self, batches: list[list[Batch]]) -> None:
        """Learn the batches of one new sample.

        θ_A ← θ; for each batch: SGD over its samples, then θ ← θ_W + β (θ − θ_W); finally θ ← θ_A + γ (θ − θ_A).
        """
        from mgem_core.gradients.rows import descend

        theta_A = self._copy()
        for batch in batches:
            theta_W = self._copy()
            for sample in batch:
                descend(self.network, sample, self.config.lr)
            self._reptile(theta_W, self.config.mer_beta)
        self._reptile(theta_A, self.config.mer_gamma)

    def _replays(self, new: Sample, generator: np.random.Generator) -> list[Sample]:
        """Return the new sample, followed by samples of the reservoir."""
        return [new, *self.reservoir.draw(self.config.mer_replays, generator)]

    def _reptile(self, start: list[torch.Tensor], rate: float) -> None:
        if rate != 1:
            for theta_l, start_l in zip(self.theta, start, strict=True):
                theta_l.lerp_(start_l, 1 - rate)

    def _copy(self) -> list[torch.Tensor]:
        return [p.clone() for p in self.theta]


def _replayed(config: RunConfig) -> int:
    """Return the number of samples that a step learns one at a time."""
    return int(config.batch_size * config.mer_batches * (config.mer_replays + 1))


register(
    Method(
        name="mer",
        about="meta-experience replay: Reptile over replayed samples, one at a time",
        learner=MER,
        label=lambda config: "MER",
        families={"MER": Style("#8C6D31", "triangle-down", "v")},
        fields=("memory",),
        options={
            "mer_batches": (int, Field(1, ge=1, description="MER: replay batches per sample of the stream")),
            "mer_replays": (int, Field(10, ge=0, description="MER: replayed samples in each batch")),
            "mer_beta": (float, Field(0.1, gt=0, le=1, description="MER: Reptile rate within a batch")),
            "mer_gamma": (float, Field(1.0, gt=0, le=1, description="MER: Reptile rate across batches")),
        },
        cost=lambda config, task: _replayed(config),
        passes=lambda config, task: 1 + 0.8 * _replayed(config),  # measured: 0.5 with the MLP, 1.2 with conv-small
    )
)
