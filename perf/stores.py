"""Build stores of finished runs without training, to measure the code that reads stores."""

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

import numpy as np

from mgem_core.config import RunConfig
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Event, Finished, Probed, TaskLearned
from mgem_core.metrics import acc_fwd_bwd
from mgem_core.store import Store

BASE = {"tasks": 3, "iterations": 50, "memory": 100}
THOUSAND = SweepSpec(
    base=BASE,
    grid={"modules": [1, 2, 3, 4, 5], "splits": [1, 2], "strength": [i / 10 for i in range(10)], "seed": list(range(10))},
)
SIZES = ((2, 3), (4, 3), (6, 3), (4, 6), (6, 6))  # strengths and seeds: sweeps of 36, 72, 108, 144 and 216 runs


def finished_run(seed: int, shift: float) -> list[Event]:
    """Return the events of a run of three tasks: six probes in each task after the first, three rows of R, the result."""
    rng = np.random.default_rng(seed)
    R = np.full((3, 3), 70.0) + 10 * rng.random((3, 3)) + shift
    events: list[Event] = []
    for task in range(3):
        for step in range(8, 50, 8) if task else ():
            past, y = rng.random(task), float(rng.random()) - shift
            events.append(Probed(task, step, past + shift, y, y, past, 1.0, past + 1, 1.0, 1.0))
        events.append(TaskLearned(task, R[task], task + 1.0))
    return [*events, Finished("finished", "", R, *acc_fwd_bwd(R), 3.0, 0.01, "x")]


def fill(path: Path, specs: Iterable[SweepSpec]) -> Store:
    """Build a store with these sweeps, in which all runs have finished."""
    store = Store(path)
    for number, spec in enumerate(specs, 1):
        sweep = store.submit(spec, f"sweep number {number}")
        with store.database.transaction() as db:
            db.execute("UPDATE runs SET status = 'running' WHERE status = 'queued'")
        configs = store.run_values(["id", "config"], sweep=sweep)
        shifts = {run: float(np.mean(RunConfig.model_validate_json(config).strength)) / 10 for run, config in configs}
        store.record((run, event) for run, shift in shifts.items() for event in finished_run(run, shift))
    return store


def mixed_sweeps(runs: int) -> Iterator[SweepSpec]:
    """Return sweeps of different sizes, benchmarks and learning rates, with at least this many runs in total."""
    for number in count():
        strengths, seeds = SIZES[number % len(SIZES)]
        benchmark = ("mnist5k-permutations", "mnist5k-rotations")[number // 2 % 2]
        grid = {
            **{"modules": [1, 2, 4], "splits": [1, 2], "seed": list(range(seeds))},
            "strength": [round(0.1 + 0.15 * i, 2) for i in range(strengths)],
        }
        yield SweepSpec(base={**BASE, "benchmark": benchmark, "lr": round(0.001 * (number + 1), 3)}, grid=grid)
        runs -= 6 * strengths * seeds
        if runs <= 0:
            return
