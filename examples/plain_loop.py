"""Record a plain PyTorch loop that learns a new task while it remembers an old one: mgem lens plain_loop.lens"""

import torch
from torch import nn

from mgem_core.lens.recorder import Recorder, named_gradients

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, old, new = torch.randn(600, 20), torch.randint(3, (600,)), torch.randint(3, (600,))
with Recorder("plain_loop.lens", lr=0.1) as recorder:
    for step in range(60):
        batch, memory = torch.randint(600, (16,)), torch.arange(96).split(16)
        losses = [nn.functional.cross_entropy(model(x[part]), old[part]) for part in memory]
        g = named_gradients(model, nn.functional.cross_entropy(model(x[batch]), new[batch]))
        recorder.snap(g, [[named_gradients(model, loss) for loss in losses]], step=step)
        for name, parameter in model.named_parameters():
            parameter.grad = g[name]
        optimizer.step()
