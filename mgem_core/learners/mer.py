"""MER (Riemer et al. 2019, algorithm 1): replay one sample at a time, and let Reptile align their gradients."""

from typing import Any

import numpy as np
import torch

from mgem_core.config import RunConfig
from mgem_core.gradients import gradient, kept_statistics
from mgem_core.learners._learner import Learner, Step
from mgem_core.randomness import rng
from mgem_core.streams._stream import Batch, Stream


class Method(Learner):
    """The reservoir holds a uniform sample of everything shown so far, `memory` per task of the stream."""

    def __init__(self, config: RunConfig, stream: Stream, device: torch.device):
        super().__init__(config, stream, device)
        self.theta: list[torch.Tensor] = list(self.network.parameters())
        self.reservoir: list[tuple[int, int]] = []  # (task, image)
        self.shown = 0
        self._capacity = config.memory * config.tasks

    def observe(self, task: int, step: int, indices: np.ndarray) -> Step:
        draw = rng(self.config.seed, "mer", task, step)
        before = self._theta()
        with kept_statistics(self.network):
            loss, g = gradient(self.network, self.stream.batch(task, indices))
        for index in indices:
            self._learn((task, int(index)), draw)
            self._keep((task, int(index)), draw)
        z = [(old - new.detach()) / self.config.lr for old, new in zip(before, self.theta, strict=True)]
        return Step(loss, g, z)

    def _learn(self, new: tuple[int, int], draw: np.random.Generator) -> None:
        """θ_A ← θ; for each batch: SGD over its samples, then θ ← θ_W + β (θ − θ_W); at last θ ← θ_A + γ (θ − θ_A)."""
        theta_A = self._theta()
        for _ in range(self.config.mer_batches):
            theta_W = self._theta()
            for sample in self._replays(new, draw):
                _, g = gradient(self.network, sample)
                with torch.no_grad():
                    for theta_l, g_l in zip(self.theta, g, strict=True):
                        theta_l.add_(g_l, alpha=-self.config.lr)
            self._reptile(theta_W, self.config.mer_beta)
        self._reptile(theta_A, self.config.mer_gamma)

    def _replays(self, new: tuple[int, int], draw: np.random.Generator) -> list[Batch]:
        """Samples of the reservoir, and the new one at a random place among them, each a batch of one."""
        replays = min(self.config.mer_replays, len(self.reservoir))
        samples = [self.reservoir[i] for i in draw.choice(len(self.reservoir), replays, replace=False)] if replays else []
        samples.insert(int(draw.integers(replays + 1)), new)
        return [self.stream.batch(task, np.array([index])) for task, index in samples]

    def _reptile(self, start: list[torch.Tensor], rate: float) -> None:
        with torch.no_grad():
            for theta_l, start_l in zip(self.theta, start, strict=True):
                theta_l.lerp_(start_l, 1 - rate)

    def _keep(self, new: tuple[int, int], draw: np.random.Generator) -> None:
        """Reservoir sampling: the n-th sample shown enters with probability capacity / n."""
        self.shown += 1
        if len(self.reservoir) < self._capacity:
            self.reservoir.append(new)
        elif (place := int(draw.integers(self.shown))) < len(self.reservoir):
            self.reservoir[place] = new

    def _theta(self) -> list[torch.Tensor]:
        return [p.detach().clone() for p in self.theta]

    def state(self) -> dict[str, Any]:
        return {**super().state(), "reservoir": self.reservoir, "shown": self.shown}

    def restore(self, state: dict[str, Any], shown: list[np.ndarray], steps: int) -> None:
        super().restore(state, shown, steps)
        self.reservoir, self.shown = [(int(task), int(image)) for task, image in state["reservoir"]], int(state["shown"])
        fits = self.shown == steps * self.config.batch_size and len(self.reservoir) == min(self.shown, self._capacity)
        known = all(0 <= task <= len(shown) and 0 <= image < len(self.stream.labels) for task, image in self.reservoir)
        if not (fits and known):
            raise ValueError("a reservoir that does not fit")
