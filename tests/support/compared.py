"""A store with a sweep of known differences to GEM: those of p-mGEM(4) are real, those of p-mGEM(2) only noise."""

from pathlib import Path

import numpy as np

from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Finished, Probed, TaskLearned
from mgem_core.metrics import acc_fwd_bwd
from mgem_core.store import Store

STRENGTHS = [0.0, 0.5, 1.0]


def compared_store(path: Path, seeds: int = 6, shift: float = 3.0) -> Store:
    grid = [
        {"modules": [1, 2, 4], "strength": STRENGTHS, "seed": list(range(seeds))},
        {"method": ["single"], "seed": list(range(seeds))},
    ]
    store = Store(path)
    store.submit(SweepSpec(base={"tasks": 2, "iterations": 10, "memory": 20}, grid=grid), "compared")
    rng = np.random.default_rng(0)
    of_seed = 5 * rng.normal(size=seeds)
    while claimed := store.claim():
        run, config = claimed
        better = shift if config.modules == 4 else 0.0
        R = np.array([[90.0, 10.0], [70.0 + of_seed[config.seed] + 10 * config.strength, 80.0]])
        R[1] += better + rng.normal(0, 0.05, 2)
        past = np.array([1.0 + config.seed + config.strength])
        y = (5.0 + 0.1 * config.seed) * (1 + better / 30) + rng.normal(0, 0.01)
        probed = Probed(1, 5, past, y, y, past, 1.0, np.array([1.5]), 2.5, 3.0)
        learned = [TaskLearned(task, R[task], 1.0 + task) for task in (0, 1)]
        finished = Finished("finished", "", R, *acc_fwd_bwd(R), 2.0, 0.01, "abc")
        store.record([(run, event) for event in (learned[0], probed, learned[1], finished)])
    return store
