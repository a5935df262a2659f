"""Independent: a network per task, hidden widths divided by the number of tasks. Nothing is shared or forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mgem_core.learners import Method, Style, register
from mgem_core.learners._learner import Learner

if TYPE_CHECKING:
    import torch
    from torch import nn

    from mgem_core.config import RunConfig
    from mgem_core.streams._stream import Stream


class Independent(Learner):
    def __init__(self, config: RunConfig, stream: Stream, device: torch.device):
        super().__init__(config, stream, device, networks=config.tasks)

    def network_of(self, task: int) -> nn.Module:
        return self.networks[task]


register(
    Method(
        name="independent",
        about="a network per task",
        learner=Independent,
        label=lambda config: "Independent",
        families={"Independent": Style("#808080", "pentagon", "p")},
        shares_network=False,
    )
)
