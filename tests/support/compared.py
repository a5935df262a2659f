"""A store with a sweep of known differences to GEM: those of p-mGEM(4) are real, those of p-mGEM(2) only noise."""

from pathlib import Path

import numpy as np
from filled_store import TWO_TASKS, filled_store, probe

from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store

STRENGTHS = [0.0, 0.5, 1.0]


def compared_store(path: Path, seeds: int = 6, shift: float = 3.0) -> Store:
    grid = [
        {"modules": [1, 2, 4], "strength": STRENGTHS, "seed": list(range(seeds))},
        {"method": ["single"], "seed": list(range(seeds))},
    ]
    rng = np.random.default_rng(0)
    of_seed = 5 * rng.normal(size=seeds)

    def results(run, config):
        better = shift if config.modules == 4 else 0.0
        R = np.array([[90.0, 10.0], [70.0 + of_seed[config.seed] + 10 * config.strength, 80.0]])
        R[1] += better + rng.normal(0, 0.05, 2)
        x = np.array([1.0 + config.seed + config.strength])
        y = (5.0 + 0.1 * config.seed) * (1 + better / 30) + rng.normal(0, 0.01)
        return R, [probe(1, x, y)]

    return filled_store(path, SweepSpec(base=TWO_TASKS, grid=grid), "compared", results=results)
