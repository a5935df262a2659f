"""Record a model with two heads, whose losses pull its shared layers apart: mgem lens two_losses.lens"""

import torch
from torch import nn

from mgem_core.lens.recorder import Recorder, named_gradients

torch.manual_seed(0)
model = nn.ModuleDict({"body": nn.Linear(10, 32), "size": nn.Linear(32, 1), "sign": nn.Linear(32, 1)})
optimizer = torch.optim.Adam(model.parameters())
with Recorder("two_losses.lens") as recorder:
    for step in range(50):
        x = torch.randn(64, 10)
        hidden = torch.tanh(model["body"](x))
        size_loss = (model["size"](hidden) - x.norm(dim=1, keepdim=True)).square().mean()
        sign_loss = nn.functional.softplus(-model["sign"](hidden) * x.sum(1, keepdim=True).sign()).mean()
        recorder.snap(named_gradients(model, size_loss), [named_gradients(model, sign_loss)], step=step)
        optimizer.zero_grad()
        (size_loss + sign_loss).backward()
        optimizer.step()
