"""EWC (Kirkpatrick et al. 2017): a penalty λ/2 · Σ_s F_s (θ − θ_s)² holds θ where past tasks need it."""

from typing import Any

import numpy as np
import torch

from mgem_core.config import RunConfig
from mgem_core.gradients import Gradient, gradient, kept_statistics, squared_gradients
from mgem_core.learners._learner import Learner
from mgem_core.streams._stream import Stream


class Method(Learner):
    """The penalty's gradient λ Σ_s F_s (θ − θ_s) = λ (Fθ − B) needs only the sums F = Σ F_s and B = Σ F_s θ_s."""

    def __init__(self, config: RunConfig, stream: Stream, device: torch.device):
        super().__init__(config, stream, device)
        self.F = [torch.zeros_like(p) for p in self.network.parameters()]
        self.B = [torch.zeros_like(p) for p in self.network.parameters()]

    def bent(self, g: Gradient) -> Gradient:
        weight = self.config.ewc_lambda
        with torch.no_grad():
            parts = zip(g, self.F, self.network.parameters(), self.B, strict=True)
            return [g_l + weight * (F * theta - B) for g_l, F, theta, B in parts]

    def learned(self, task: int, shown: np.ndarray) -> None:
        samples = self.stream.batch(task, self.chosen(task, shown, self.config.ewc_samples))
        if self.config.ewc_fisher == "sample":
            fisher = squared_gradients(self.network, samples)
        else:
            with kept_statistics(self.network):
                fisher = [g.square() for g in gradient(self.network, samples)[1]]
        with torch.no_grad():
            for F, B, fisher_l, theta in zip(self.F, self.B, fisher, self.network.parameters(), strict=True):
                F += fisher_l
                B += fisher_l * theta

    def state(self) -> dict[str, Any]:
        return {**super().state(), "F": self.F, "B": self.B}

    def restore(self, state: dict[str, Any], shown: list[np.ndarray], steps: int) -> None:
        super().restore(state, shown, steps)
        for ours, saved in ((self.F, state["F"]), (self.B, state["B"])):
            for tensor, value in zip(ours, saved, strict=True):
                if tensor.shape != value.shape:
                    raise ValueError(f"a tensor of shape {tuple(value.shape)}, not {tuple(tensor.shape)}")
                tensor.copy_(value)
