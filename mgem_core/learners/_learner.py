"""What all methods share: a network that moves θ ← θ − lr · z. A method defines z and what it remembers of a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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
    g: Gradient  # the batch's gradient
    z: Gradient  # the direction taken
    violated: float = 0.0  # share of modules in which g violates a constraint
    retries: int = 0
    memory_z: np.ndarray | None = None  # [S] ⟨ĝ_s, z⟩ of every past task, before z was rescaled
    scale: Tensor | None = None  # by which z was rescaled


class Learner:
    def __init__(self, config: RunConfig, stream: Stream, device: torch.device, networks: int = 1):
        """`networks`: their number, which divides the hidden widths; most methods have one."""
        from torch import nn

        from mgem_core.gradients.linear_chain import chain_of

        self.config, self.stream = config, stream
        seeds = [int(rng(config.seed, "weights", i).integers(2**63)) for i in range(networks)]
        self.networks = nn.ModuleList(
            build(config.network, stream.shape, stream.classes, seed, width=1 / networks) for seed in seeds
        ).to(device)
        if config.precision == "bf16":
            from mgem_core.gradients.devices import compute_in_bf16

            for network in self.networks:
                compute_in_bf16(network, device)
        for network in self.networks:
            chain_of(network)  # now, because it changes how weights lie in memory, and with it the order of later sums

    @property
    def network(self) -> nn.Module:
        """The network that all tasks share."""
        return self.networks[0]

    @property
    def theta(self) -> list[Tensor]:
        """The parameters of that network, to be changed in place; clone what is to be remembered."""
        return [p.detach() for p in self.network.parameters()]

    def network_of(self, task: int) -> nn.Module:
        return self.network

    def observe(self, task: int, step: int, indices: np.ndarray) -> Step:
        """Learn from the images `indices` of the stream, as `task` shows them."""
        loss, g = self.gradient(task, indices)
        return self.move(task, Step(loss, g, self.direction(g)))

    def gradient(self, task: int, indices: np.ndarray) -> tuple[Tensor, Gradient]:
        """Mean loss on these images of a task, and its gradient."""
        from mgem_core.gradients.rows import gradient

        return gradient(self.network_of(task), self.stream.batch(task, indices))

    def direction(self, g: Gradient) -> Gradient:
        """z for the gradient of the batch; for SGD, the gradient itself."""
        return g

    def move(self, task: int, step: Step) -> Step:
        """θ ← θ − lr · z."""
        import torch

        from mgem_core.gradients.rows import add

        with torch.no_grad():
            add(self.network_of(task).parameters(), step.z, -self.config.lr)
        return step

    def module_slices(self) -> list[list[slice]]:
        """The slices of each module in a flattened gradient."""
        from mgem_core.restriction.direction import module_slices

        return module_slices([p.numel() for p in self.network.parameters()], self.config.module_of)

    def check(self, task: int, shown: np.ndarray) -> None:
        """Raise UsageError if the images that the task will show cannot be remembered as the config asks."""

    def finish_task(self, task: int, shown: np.ndarray) -> None:
        """Remember a task that has ended; `shown` are the different images that it showed, in their order."""

    def memory(self, splits: int) -> Memory | None:
        """The memory of past tasks, each split into `splits` rows; None if there is none."""
        return None

    def draw_samples(self, task: int, shown: np.ndarray, samples: int) -> np.ndarray:
        """A uniform random sample of the images that a task showed, in their order."""
        places = rng(self.config.seed, "memory", task).choice(len(shown), min(samples, len(shown)), replace=False)
        return shown[np.sort(places)]

    def state(self) -> dict[str, Any]:
        """All that a checkpoint needs: tensors, and numbers, texts, lists and dictionaries."""
        return {"networks": self.networks.state_dict()}

    def restore(self, state: dict[str, Any], shown: list[np.ndarray], steps: int) -> None:
        """Continue from such a state, after so many steps; `shown` are the images that each finished task showed.

        Its tensors are in the CPU's memory, and must be copied to the device. Raise any exception if the state cannot
        belong to this run.
        """
        self.networks.load_state_dict(state["networks"])
