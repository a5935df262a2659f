"""Independent: a network per task, hidden widths divided by the number of tasks. Nothing is shared or forgotten."""

import torch
from torch import nn

from mgem_core.config import RunConfig
from mgem_core.learners._learner import Learner
from mgem_core.streams._stream import Stream


class Method(Learner):
    def __init__(self, config: RunConfig, stream: Stream, device: torch.device):
        super().__init__(config, stream, device, networks=config.tasks)

    def network_of(self, task: int) -> nn.Module:
        return self.networks[task]
