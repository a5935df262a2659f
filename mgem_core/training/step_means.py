"""Means over steps, for Stepped events."""

import math

import torch

from mgem_core.events import Stepped
from mgem_core.learners._learner import Step


class StepMeans:
    """Means over the steps since the last Stepped event.

    Losses stay on the device until they are needed, because reading each of them would make a GPU wait.
    """

    def __init__(self) -> None:
        self.steps, self.loss, self.violated, self.seconds, self.retries = 0, 0.0, 0.0, 0.0, 0
        self.unread: list[torch.Tensor] = []

    def add(self, step: Step) -> None:
        self.steps += 1
        self.violated += step.violated
        self.retries += step.retries
        self.unread.append(step.loss)

    def read_losses(self) -> None:
        """Read the losses from the device; raise FloatingPointError if one is not finite."""
        losses = torch.stack(self.unread).tolist() if self.unread else []
        if not all(map(math.isfinite, losses)):
            raise FloatingPointError("the loss is not finite")
        self.loss += math.fsum(losses)
        self.unread.clear()

    def event(self, task: int, step: int) -> Stepped:
        n = self.steps
        return Stepped(task, step, self.loss / n, self.violated / n, self.seconds / n, self.retries)
