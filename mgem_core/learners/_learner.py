"""The base class of all methods: a network that moves θ ← θ − lr · z. A method defines z and what it remembers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mgem_core.learners import shares_network
from mgem_core.networks import build
from mgem_core.randomness import rng

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from mgem_core.config import RunConfig
    from mgem_core.gradients.memory import Memory
    from mgem_core.gradients.rows import Gradient
    from mgem_core.streams._stream import Stream


@dataclass(frozen=True)
class Step:
    loss: Tensor  # on the batch, before the step
    g: Gradient  # gradient on the batch
    z: Gradient  # direction of the step
    violated: float = 0.0  # share of modules in which g violates a constraint
    retries: int = 0  # times the exact solver needed a larger ridge
    memory_z: np.ndarray | None = None  # [S] ⟨ĝ_s, z⟩ of each past task, before z was rescaled
    scale: Tensor | None = None  # factor by which z was rescaled


class Learner:
    def __init__(self, config: RunConfig, stream: Stream, device: torch.device):
        """Build one network, or one per task, with hidden widths divided by their number, if tasks do not share it."""
        from torch import nn

        from mgem_core.gradients.linear_chain import chain_of

        self.config, self.stream = config, stream
        count = 1 if shares_network(config.method) else config.tasks
        seeds = [int(rng(config.seed, "weights", i).integers(2**63)) for i in range(count)]
        self.networks = nn.ModuleList(
            build(config.network, stream.shape, stream.classes, seed, width=1 / count) for seed in seeds
        ).to(device)
        if config.precision == "bf16":
            from mgem_core.gradients.devices import compute_in_bf16

            for network in self.networks:
                compute_in_bf16(network, device)
        for network in self.networks:
            chain_of(network)  # here, because it changes the layout of weights in memory, and so the order of later sums
        self.prepare()

    def prepare(self) -> None:
        """Set up what the method remembers of the past; called once, at the end of `__init__`."""

    @property
    def network(self) -> nn.Module:
        """Return the network that all tasks share."""
        return self.networks[0]

    @property
    def theta(self) -> list[Tensor]:
        """Return the parameters of that network. Methods change them in place, so clone those that must be remembered."""
        return [p.detach() for p in self.network.parameters()]

    def network_of(self, task: int) -> nn.Module:
        return self.networks[task] if len(self.networks) > 1 else self.network

    def observe(self, task: int, step: int, indices: np.ndarray) -> Step:
        """Take one step on the images `indices` of the stream, as `task` shows them."""
        loss, g = self.gradient(task, indices)
        return self.move(task, Step(loss, g, self.direction(g)))

    def gradient(self, task: int, indices: np.ndarray) -> tuple[Tensor, Gradient]:
        """Return the mean loss on these images of a task, and its gradient."""
        from mgem_core.gradients.rows import gradient

        return gradient(self.network_of(task), self.stream.batch(task, indices))

    def direction(self, g: Gradient) -> Gradient:
        """Return z for the gradient of the batch; for SGD, it is the gradient itself."""
        return g

    def move(self, task: int, step: Step) -> Step:
        """Move the parameters: θ ← θ − lr · z."""
        import torch

        from mgem_core.gradients.rows import add

        with torch.no_grad():
            add(self.network_of(task).parameters(), step.z, -self.config.lr)
        return step

    def module_slices(self) -> list[list[slice]]:
        """Return the slices of each module in a flattened gradient."""
        from mgem_core.restriction.direction import module_slices

        return module_slices([p.numel() for p in self.network.parameters()], self.config.module_of)

    def check(self, task: int, shown: np.ndarray) -> None:
        """Raise UsageError if the images that the task will show cannot be stored as the config asks."""

    def finish_task(self, task: int, shown: np.ndarray) -> None:
        """Remember a task that has ended; `shown` are the distinct images that it showed, in their order."""

    def memory(self, splits: int) -> Memory | None:
        """Return the memory of past tasks, each split into `splits` rows; None if there is none."""
        return None

    def draw_samples(self, task: int, shown: np.ndarray, samples: int) -> np.ndarray:
        """Draw a uniform random sample of the images that a task showed; they stay in their order."""
        places = rng(self.config.seed, "memory", task).choice(len(shown), min(samples, len(shown)), replace=False)
        return shown[np.sort(places)]

    def state(self) -> dict[str, Any]:
        """Return everything that a checkpoint needs, as tensors, numbers, strings, lists and dictionaries."""
        return {"networks": self.networks.state_dict()}

    def restore(self, state: dict[str, Any], shown: list[np.ndarray], steps: int) -> None:
        """Continue from a state after `steps` steps; `shown` are the images that each finished task showed.

        Tensors of the state are in CPU memory and must be copied to the device. Any exception means that the state does
        not belong to this run.
        """
        self.networks.load_state_dict(state["networks"])
