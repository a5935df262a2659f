"""The engine against GEM written down as published: one backward per past task, whole gradients in float64."""

from functools import cache

import numpy as np
import pytest
import quadprog
import torch
from torch import nn

from mgem_core import RunConfig
from mgem_core.training.engine import _Run

KNOBS = {"tasks": 3, "iterations": 67, "memory": 64, "lr": 0.05, "strength": 0.5, "probe_every": 0}
GEMS_RIDGE = {"ridge": 1e-3, "ridge_kind": "absolute"}


def trained(**fields) -> _Run:
    """A run gone through to its end."""
    one = _Run(RunConfig(**{**KNOBS, **fields}), torch.device("cpu"))
    for _ in one.events():
        pass
    return one


@cache
def gem_weights() -> torch.Tensor:
    return vector(trained().learner.network)


def vector(network: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in network.parameters()])


class ReferenceGEM:
    """GEM as published (Lopez-Paz and Ranzato 2017): SGD whose gradient is projected when a past task speaks against it."""

    def __init__(self, network: nn.Module, lr: float, strength: float):
        self.network, self.strength = network, strength
        self.optimiser = torch.optim.SGD(network.parameters(), lr)
        self.memories: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.projections = 0

    def backward(self, x: torch.Tensor, y: torch.Tensor) -> np.ndarray:
        self.optimiser.zero_grad()
        nn.CrossEntropyLoss()(self.network(x), y).backward()
        return torch.cat([p.grad.flatten() for p in self.network.parameters()]).double().numpy()

    def observe(self, x: torch.Tensor, y: torch.Tensor) -> None:
        past = [self.backward(*memory) for memory in self.memories]
        g = self.backward(x, y)
        if past and min(row @ g for row in past) < 0:
            self.overwrite(self.project(g, np.stack(past)))
            self.projections += 1
        self.optimiser.step()

    def project(self, g: np.ndarray, G: np.ndarray) -> np.ndarray:
        A = G @ G.T + 1e-3 * np.eye(len(G))
        v = quadprog.solve_qp(A, -G @ g, np.eye(len(G)), np.full(len(G), self.strength))[0]
        return G.T @ v + g

    def overwrite(self, z: np.ndarray) -> None:
        start = 0
        for p in self.network.parameters():
            p.grad.copy_(torch.from_numpy(z[start : start + p.numel()]).view_as(p))
            start += p.numel()


@pytest.mark.parametrize("benchmark", ["mnist5k-permutations", "mnist5k-rotations"])
def test_201_steps_over_3_tasks_give_the_weights_of_the_published_algorithm(benchmark):
    ours = trained(benchmark=benchmark, **GEMS_RIDGE)
    config, stream = ours.config, ours.stream
    fresh = _Run(config, torch.device("cpu"))
    reference = ReferenceGEM(fresh.learner.network, config.lr, config.strength)
    for task in range(config.tasks):
        for step in range(config.iterations):
            batch = stream.batch(task, fresh._images(task, step))
            reference.observe(batch.x, batch.y)
        kept = stream.batch(task, ours.learner.remembered[task])
        reference.memories.append((kept.x, kept.y))
    assert reference.projections > 20  # otherwise nothing was compared
    difference = (vector(ours.learner.network) - vector(reference.network)).abs().max()
    assert difference < 1e-4


def test_one_module_and_one_split_is_bit_identical_to_gem():
    gem = gem_weights()
    whole = {"fc1": 0, "fc2": 0, "fc3": 0}
    for fields in ({"modules": whole}, {"split_by": "class"}, {"split_by": "order"}):
        assert torch.equal(vector(trained(**fields).learner.network), gem), fields


def test_finer_restrictions_differ_from_gem():
    gem = gem_weights()
    for fields in ({"modules": 3}, {"splits": 2}, {"solver": "approx", "strength": 0.0}, {"trigger": "always"}):
        assert not torch.equal(vector(trained(**fields).learner.network), gem), fields


def test_equal_strengths_per_task_equal_a_single_strength():
    gem = gem_weights()
    assert torch.equal(vector(trained(strength=(0.5, 0.5)).learner.network), gem)


def test_strength_per_past_task_applies_to_its_task():
    """Task 2 only knows task 1, so its first strength alone decides where the second task ends."""
    two = {"tasks": 2, "trigger": "always"}
    weak, strong = (vector(trained(**two, strength=(q,)).learner.network) for q in (0.0, 0.5))
    assert not torch.equal(weak, strong)
    for splits, expected in ((1, [0.5, 0.0]), (2, [0.5, 0.5, 0.0, 0.0])):  # a strength for each split of each past task
        restriction = trained(strength=(0.5, 0.0), splits=splits).learner.restriction
        assert restriction.row_strengths(2 * splits).tolist() == expected
