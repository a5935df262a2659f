"""EWC (Kirkpatrick et al. 2017): a penalty λ/2 · Σ_s F_s (θ − θ_s)² keeps θ close to what past tasks need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from mgem_core.learners import Method, Style, register
from mgem_core.learners._learner import Learner

if TYPE_CHECKING:
    from mgem_core.gradients.rows import Gradient


class EWC(Learner):
    """The penalty's gradient λ Σ_s F_s (θ − θ_s) = λ (Fθ − B) needs only the sums F = Σ F_s and B = Σ F_s θ_s."""

    def prepare(self) -> None:
        self.F = [p.new_zeros(p.shape) for p in self.theta]
        self.B = [p.new_zeros(p.shape) for p in self.theta]

    def direction(self, g: Gradient) -> Gradient:
        weight = self.config.ewc_lambda
        parts = zip(g, self.F, self.theta, self.B, strict=True)
        return [g_l + weight * (F * theta - B) for g_l, F, theta, B in parts]

    def finish_task(self, task: int, shown: np.ndarray) -> None:
        from mgem_core.gradients.rows import preserved_statistics, squared_gradients

        samples = self.draw_samples(task, shown, self.config.ewc_samples)
        if self.config.ewc_fisher == "sample":
            fisher = squared_gradients(self.network, self.stream.batch(task, samples))
        else:
            with preserved_statistics(self.network):
                fisher = [g.square() for g in self.gradient(task, samples)[1]]
        for F, B, fisher_l, theta in zip(self.F, self.B, fisher, self.theta, strict=True):
            F += fisher_l
            B += fisher_l * theta

    def state(self) -> dict[str, Any]:
        return {**super().state(), "F": self.F, "B": self.B}

    def restore(self, state: dict[str, Any], shown: list[np.ndarray], steps: int) -> None:
        super().restore(state, shown, steps)
        for current, saved in ((self.F, state["F"]), (self.B, state["B"])):
            for tensor, value in zip(current, saved, strict=True):
                if tensor.shape != value.shape:
                    raise ValueError(f"a tensor has shape {tuple(value.shape)}, not {tuple(tensor.shape)}")
                tensor.copy_(value)


register(
    Method(
        name="ewc",
        about="elastic weight consolidation: a penalty on changing weights that past tasks need",
        learner=EWC,
        label=lambda config: "EWC",
        families={"EWC": Style("#56B4E9", "hexagon", "h")},
        options={
            "ewc_lambda": (float, Field(10.0, ge=0, le=1e12, description="EWC: weight λ of the penalty λ/2 · F (θ − θ*)²")),
            "ewc_samples": (
                int,
                Field(256, ge=1, description="EWC: samples per task from which the Fisher matrix is estimated"),
            ),
            "ewc_fisher": (
                Literal["sample", "batch"],
                Field(
                    "sample", description="EWC: mean of squared per-sample gradients, or square of their mean (GEM's code)"
                ),
            ),
        },
        passes=lambda config, task: 1.4,  # the penalty takes as long as 0.0 to 1.0 passes
    )
)
