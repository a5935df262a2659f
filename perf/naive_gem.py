"""GEM's step as in published code: one backward pass per past task, and full gradients copied to float64 for the QP."""

import numpy as np
import quadprog
import torch
from torch import Tensor, nn


class NaiveGEM:
    def __init__(self, network: nn.Module, memories: list[tuple[Tensor, Tensor]], lr: float, always: bool = False):
        self.always, self.strength = always, 0.5
        self.network, self.memories = network, memories
        self.optimiser = torch.optim.SGD(network.parameters(), lr)
        self.rows = torch.zeros(sum(p.numel() for p in network.parameters()), len(memories) + 1)

    def observe(self, x: Tensor, y: Tensor) -> None:
        for task, memory in enumerate(self.memories):
            self._store(task, *memory)
        t = len(self.memories)
        self._store(t, x, y)
        if self.always or (self.rows[:, t] @ self.rows[:, :t] < 0).any():
            self._project(t)
        self.optimiser.step()

    def _store(self, column: int, x: Tensor, y: Tensor) -> None:
        self.optimiser.zero_grad()
        nn.functional.cross_entropy(self.network(x), y).backward()
        start = 0
        for p in self.network.parameters():
            assert p.grad is not None
            self.rows[start : start + p.numel(), column] = p.grad.flatten()
            start += p.numel()

    def _project(self, t: int) -> None:
        G = self.rows[:, :t].t().double().numpy()
        g = self.rows[:, t].double().numpy()
        A = G @ G.T + 1e-3 * np.eye(t)
        v = quadprog.solve_qp(A, -G @ g, np.eye(t), np.full(t, self.strength))[0]
        z = torch.from_numpy(v @ G + g).float()
        start = 0
        for p in self.network.parameters():
            assert p.grad is not None
            p.grad.copy_(z[start : start + p.numel()].view_as(p))
            start += p.numel()
