"""Set up what the suite measures: learners in the middle of a stream, and the loops that they are compared with."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from mgem_core import RunConfig, learners, networks
from mgem_core.learners._learner import Learner
from mgem_core.learners.gem import GEM
from mgem_core.networks._convolution import Conv2d
from mgem_core.streams import BENCHMARKS, Benchmark, register
from mgem_core.streams._stream import Stream, Task
from mgem_core.streams.domainnet import SIDE

DIGITS = "mnist5k-permutations" if BENCHMARKS["mnist-permutations"].missing() else "mnist-permutations"
Step = Callable[[], object]


def gem(past: int, **fields: Any) -> GEM:
    """Return GEM on permuted digits after `past` tasks, with 256 samples of each; every step is restricted."""
    config = RunConfig(benchmark=DIGITS, tasks=past + 1, memory=256, **{"trigger": "always", "lr": 1e-6, **fields})
    return _after(past, config, config.benchmark_info.open(config.tasks, 0))


def open_noise(tasks: int, seed: int, side: int = 32) -> Stream:
    """Open a stream of noise, five classes per task; the images do not matter for timing."""
    draw, each = np.random.default_rng(seed), 200
    images = draw.integers(0, 256, (tasks * each, 3 * side**2), dtype=np.uint8)
    labels = np.concatenate([draw.integers(5 * t, 5 * t + 5, each) for t in range(tasks)])
    parts = [Task(str(t), np.arange(t * each, (t + 1) * each), np.arange(1)) for t in range(tasks)]
    return Stream(images, labels, (3, side, side), 100, parts)


SIDES = {"noise": 32, "noise-of-domains": SIDE}
NOISE_DEFAULTS = {"network": "conv5", "tasks": 5, "iterations": 20, "batch_size": 10, "memory": 64}
for name, side in SIDES.items():
    open_it = partial(open_noise, side=side)
    register(
        Benchmark(name, f"Noise of {side} × {side} pixels", (3, side, side), 100, 200, 1, 5, 20, NOISE_DEFAULTS, open_it)
    )


def gem_on_noise(network: str, past: int, memory: int) -> GEM:
    benchmark = "noise-of-domains" if network == "domain-cnn" else "noise"
    config = RunConfig(benchmark=benchmark, network=network, tasks=past + 1, memory=memory, trigger="always", lr=1e-6)
    return _after(past, config, open_noise(past + 1, 0, SIDES[benchmark]))


def _after(past: int, config: RunConfig, stream: Stream) -> GEM:
    one = GEM(config, stream, torch.device("cpu"))
    for task in range(past):
        one.finish_task(task, one.stream.tasks[task].train[:5000])
    return one


def plain_network(one: Learner) -> nn.Module:
    """Return a network like the learner's, with torch's own convolutions, that the engine has not modified."""
    network = networks.build(one.config.network, one.stream.shape, one.stream.classes, seed=0)
    for layer in network.modules():
        if isinstance(layer, Conv2d):
            layer.__class__ = nn.Conv2d  # type: ignore[assignment]
    return network


def mer() -> Learner:
    """Return MER on permuted digits with a reservoir that is not empty."""
    config = RunConfig(benchmark=DIGITS, method="mer", lr=1e-6)
    one = learners.create(config, config.benchmark_info.open(config.tasks, 0), torch.device("cpu"))
    for step in range(5):
        one.observe(0, step, one.stream.tasks[0].train[10 * step : 10 * step + 10])
    return one


def step_of(one: Learner) -> Step:
    task = len(one.remembered) if isinstance(one, GEM) else 0
    images = one.stream.tasks[task].train[-10:]
    return lambda: one.observe(task, 0, images)


def memories(one: GEM) -> list[tuple[torch.Tensor, torch.Tensor]]:
    batches = [one.stream.batch(task, images) for task, images in enumerate(one.remembered)]
    return [(batch.x, batch.y) for batch in batches]


def bare_loop(one: GEM) -> Step:
    """Return a loop with only the backward passes of a step, in plain torch: one per past task, and one for the batch."""
    network = plain_network(one)
    parameters = list(network.parameters())
    task = len(one.remembered)
    batch = one.stream.batch(task, one.stream.tasks[task].train[-10:])
    sets = [*memories(one), (batch.x, batch.y)]

    def loop() -> None:
        for x, y in sets:
            torch.autograd.grad(cross_entropy(network(x), y), parameters)

    return loop


def bare_products(one: GEM) -> Step:
    """Return the dense matrix products of a step on the MLP: forward, backward, rows, and their inner products."""
    parts = product_parts(one).values()
    return lambda: [product() for product in parts]


def product_parts(one: GEM) -> dict[str, Step]:
    """Return the dense products under the names that `perf/step_parts.py` uses for the parts of a step."""
    rows = one.memory(1)
    assert rows is not None
    C, n = rows.y.shape
    x = rows.x.reshape(C * n, -1)
    W1, W2, W3 = (p.detach() for p in plain_network(one).parameters() if p.ndim == 2)
    h1 = x @ W1.T
    h2 = h1 @ W2.T
    d3 = h2 @ W3.T
    d2 = d3 @ W3
    d1 = d2 @ W2

    def rows_of(d: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        return torch.bmm(d.view(C, n, -1).transpose(1, 2), h.view(C, n, -1)).flatten(1)

    layers = [rows_of(d1, x), rows_of(d2, h1), rows_of(d3, h2)]
    return {
        "  first layer forward": lambda: x @ W1.T,
        "  first layer rows": lambda: rows_of(d1, x),
        "  other layers, and g": lambda: (h1 @ W2.T, h2 @ W3.T, d3 @ W3, d2 @ W2, rows_of(d2, h1), rows_of(d3, h2)),
        "  A = G Gᵀ": lambda: [G @ G.T for G in layers],
        "z = g + Gᵀ v": lambda: [torch.ones(C) @ G for G in layers],
    }


def one_optimiser_step_per_sample(one: Learner, samples: int) -> Step:
    """Return a loop of plain SGD steps on single images, as many as one step of MER takes."""
    network = plain_network(one)
    optimiser = torch.optim.SGD(network.parameters(), one.config.lr)
    batch = one.stream.batch(0, one.stream.tasks[0].train[:samples])

    def loop() -> None:
        for i in range(samples):
            optimiser.zero_grad()
            cross_entropy(network(batch.x[i : i + 1]), batch.y[i : i + 1]).backward()
            optimiser.step()

    return loop
