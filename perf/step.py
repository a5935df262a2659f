"""One step of GEM with 19 past tasks × 256 samples on the MLP: against the naive loop, against its bare products, and
the finer methods against GEM."""

import argparse
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mgem_core import RunConfig, learners
from mgem_core.learners._learner import Learner
from perf.naive_gem import NaiveGEM
from perf.timing import best_of, show

PAST = 19


def learner(**fields: Any) -> Learner:
    """A learner that has finished 19 tasks."""
    config = RunConfig(tasks=PAST + 1, trigger="always", **fields)
    one = learners.create(config, config.benchmark_info.open(config.tasks, 0), torch.device("cpu"))
    for task in range(PAST):
        one.finish_task(task, one.stream.tasks[task].train[::4])
    return one


def step_of(one: Learner) -> Callable[[], object]:
    images = one.stream.tasks[PAST].train[::400]
    return lambda: one.observe(PAST, 0, images)


def naive_step(gem: Learner) -> Callable[[], object]:
    memories = [gem.stream.batch(task, images) for task, images in enumerate(gem.remembered)]  # type: ignore[attr-defined]
    naive = NaiveGEM(gem.network, [(batch.x, batch.y) for batch in memories], gem.config.lr, always=True)
    batch = gem.stream.batch(PAST, gem.stream.tasks[PAST].train[::400])
    return lambda: naive.observe(batch.x, batch.y)


def bare_products(gem: Learner) -> Callable[[], object]:
    """The matrix products no GEM step can do without: forward, backward, rows, and their inner products."""
    rows = gem.memory(1)
    assert rows is not None
    C, n = rows.y.shape
    x = rows.x.reshape(C * n, 784)
    W1, W2, W3 = (p.detach() for p in gem.network.parameters() if p.ndim == 2)

    def products() -> Tensor:
        h1 = x @ W1.T
        h2 = h1 @ W2.T
        d3 = h2 @ W3.T
        d2 = d3 @ W3
        d1 = d2 @ W2
        gram = torch.zeros(C, C)
        for d, h in ((d1, x), (d2, h1), (d3, h2)):
            G = torch.bmm(d.view(C, n, -1).transpose(1, 2), h.view(C, n, -1)).flatten(1)
            gram += G @ G.T
            torch.ones(C) @ G
        return gram

    return products


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    gem = learner()
    work = {
        "naive GEM": naive_step(learner(lr=1e-6)),
        "bare products": bare_products(gem),
        "GEM": step_of(learner(lr=1e-6)),
        "p-mGEM(4)": step_of(learner(modules=4, lr=1e-6)),
        "d-mGEM(2)": step_of(learner(splits=2, lr=1e-6)),
        "md-GEM(4,2)": step_of(learner(modules=4, splits=2, lr=1e-6)),
        "approx-GEM(4,2)": step_of(learner(modules=4, splits=2, solver="approx", lr=1e-6)),
    }
    ratios = {
        "naive / GEM": ("naive GEM", "GEM", "wanted: at least 2"),
        "GEM / bare products": ("GEM", "bare products", "wanted: at most 1.25"),
        "d-mGEM(2) / GEM": ("d-mGEM(2)", "GEM", "wanted: at most 1.15"),
        "p-mGEM(4) / GEM": ("p-mGEM(4)", "GEM", "wanted: at most 1.10"),
        "approx / exact, (4,2)": ("approx-GEM(4,2)", "md-GEM(4,2)", "wanted: at most 1.0"),
    }
    show(f"A step with {PAST} past tasks × 256 samples on the MLP", best_of(rounds, work), ratios)


if __name__ == "__main__":
    main()
