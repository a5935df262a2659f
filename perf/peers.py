"""Compare a restricted step of GEM on the MLP with peers: Avalanche's plugin, a tidy loop in plain torch, and products.

    pip install -e ".[perf]"    # Avalanche; without it, the others are measured

The products are the dense matrix products of a step, on all inputs; ours leaves out inputs that are zero. All steps are
restricted, and all project for real.
"""

import argparse
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import quadprog
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mgem_core.learners.gem import GEM
from perf.setting import DIGITS, Step, bare_loop, bare_products, gem, memories, plain_network, step_of
from perf.timing import Ratio, ratio, save_ratios, show, take_turns

MISSING = 'Avalanche is not measured ({}); get it with: pip install -e ".[perf]"'


def batch_of(one: GEM) -> tuple[Tensor, Tensor]:
    """Return images that task 1 remembers; steps that raise their loss (`unlearn`) hurt it, and must be restricted."""
    x, y = memories(one)[0]
    return x[:10], y[:10]


def unlearn(network: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return -cross_entropy(network(x), y)


def tidy_step(one: GEM) -> Step:
    """Return a step in plain torch as one would write it today: float32, with only the dual problem in float64."""
    network, past, (x, y) = plain_network(one), memories(one), batch_of(one)
    parameters, S = list(network.parameters()), len(past)

    def gradient(loss: Tensor) -> Tensor:
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters)])

    @torch.no_grad()
    def move(z: Tensor) -> None:
        for p, z_l in zip(parameters, z.split([p.numel() for p in parameters]), strict=True):
            p.sub_(z_l.view_as(p), alpha=one.config.lr)

    def step() -> None:
        G = torch.stack([gradient(cross_entropy(network(x), y)) for x, y in past])
        g = gradient(unlearn(network, x, y))
        A = (G @ G.T).double().numpy() + 1e-3 * np.eye(S)
        v = quadprog.solve_qp(A, -(G @ g).double().numpy(), np.eye(S), np.full(S, 0.5))[0]
        move(g + torch.from_numpy(v).float() @ G)

    return step


def avalanche_step(one: GEM) -> Step:
    """Return a step of Avalanche's GEM plugin, without the framework's loop around it; fail if it does not project."""
    from avalanche.training.plugins import GEMPlugin

    network, (x, y) = plain_network(one), batch_of(one)
    optimiser = torch.optim.SGD(network.parameters(), one.config.lr)
    plugin = GEMPlugin(patterns_per_experience=one.config.memory, memory_strength=0.5)
    for task, (memory_x, memory_y) in enumerate(memories(one)):
        plugin.memory_x[task], plugin.memory_y[task] = memory_x, memory_y
        plugin.memory_tid[task] = torch.full_like(memory_y, task)
    clock = SimpleNamespace(train_exp_counter=len(one.remembered))
    strategy: Any = SimpleNamespace(model=network, optimizer=optimiser, device="cpu", clock=clock)
    strategy._criterion = nn.CrossEntropyLoss()

    def step() -> None:
        plugin.before_training_iteration(strategy)
        optimiser.zero_grad()
        unlearn(network, x, y).backward()
        before = next(network.parameters()).grad.clone()  # type: ignore[union-attr]
        plugin.after_backward(strategy)
        if torch.equal(before, next(network.parameters()).grad):  # type: ignore[arg-type]
            raise RuntimeError("Avalanche did not restrict this step")
        optimiser.step()

    return step


def measure(past: int, rounds: int) -> list[Ratio]:
    one = gem(past)
    work = {
        "bare loop": bare_loop(one),
        "dense products on all inputs": bare_products(one),
        "ours": step_of(one),
        "tidy float32 loop": tidy_step(one),
    }
    try:
        work["Avalanche"] = avalanche_step(one)
    except ImportError as error:
        print(MISSING.format(error), file=sys.stderr)
    times = take_turns(rounds, work)
    bare = times.pop("bare loop")
    return [ratio(f"{name} / bare loop, k = {past}", seconds, bare) for name, seconds in times.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    found = []
    for past in (1, 4, 9, 19):
        found += (part := measure(past, rounds))
        show(f"CPU time of restricted steps on {DIGITS}, 256 samples per past task", part)
    save_ratios("peers", found)


if __name__ == "__main__":
    main()
