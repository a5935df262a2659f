"""A store with a sweep whose runs have made-up results."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from mgem_core import RunConfig
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Event, Finished, Probed, TaskLearned
from mgem_core.metrics import acc_fwd_bwd
from mgem_core.store import Store

SMALL = {"tasks": 3, "iterations": 10, "memory": 20}
SPEC = SweepSpec(
    base=SMALL,
    grid=[
        {"modules": [1, 4], "strength": [0.0, 0.1, 0.5], "seed": [0, 1]},
        {"method": ["single"], "seed": [0, 1]},
    ],
)


def filled_store(
    path: Path,
    spec: SweepSpec = SPEC,
    name: str = "quick look",
    finishes: Callable[[int], bool] = lambda run: True,
    probed: bool = True,
) -> Store:
    """Fill a store. Unfinished runs have learned their first two tasks; without `probed`, no run has probes."""
    store = Store(path)
    store.submit(spec, name)
    while claimed := store.claim():
        run, config = claimed
        events = _events(run, config, finishes(run))
        store.record([(run, event) for event in events if probed or not isinstance(event, Probed)])
    return store


def _events(run: int, config: RunConfig, finishes: bool) -> Iterator[Event]:
    random = np.random.default_rng(run)
    R = random.uniform(50, 95, (config.tasks, config.tasks))
    for t in range(config.tasks if finishes else 2):
        for step in (1, 6) if t else ():
            norms = random.uniform(1, 2, (2, t))
            y, norm_z = random.uniform(1, 3, 2)
            yield Probed(t, step, random.normal(size=t), y, y + 0.1, norms[0], norm_z, norms[1], 1.5, 2.0)
        yield TaskLearned(t, R[t], 1.0)
    if finishes:
        yield Finished("finished", "", R, *acc_fwd_bwd(R), 1.5, 0.01, "abc")
