"""A store with one small finished sweep, whose results were made without training."""

from pathlib import Path

import numpy as np

from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Event, Finished, Probed, Stepped, TaskLearned
from mgem_core.metrics import acc_fwd_bwd
from mgem_core.store import Store

SPEC = SweepSpec(
    base={"tasks": 2, "iterations": 10, "memory": 20},
    grid={"benchmark": ["mnist5k-permutations", "mnist5k-rotations"], "modules": [1, 4]},
)


def small_store(path: Path, shift: float = 0.0, spec: SweepSpec = SPEC) -> Store:
    """Create the store; all its runs have finished, with accuracies raised by `shift`."""
    store = Store(path)
    store.submit(spec, "First")
    while claimed := store.claim():
        finish(store, claimed[0], shift)
    return store


def finish(store: Store, run: int, shift: float = 0.0, missing: tuple[int, ...] = ()) -> None:
    """Finish a claimed run of two or three tasks, without events for the rows of the tasks in `missing`."""
    tasks = store.database.rows("SELECT json_extract(config, '$.tasks') FROM runs WHERE id = ?", run)[0][0]
    R = np.array([[90.0, 10.0, 10.0], [70.0, 85.0, 10.0], [60.0, 75.0, 88.0]])[:tasks, :tasks] + shift
    events: list[Event] = []
    for task in range(tasks):
        events.append(Stepped(task, 10, 0.5, 0.25, 0.01, 0))
        if task:
            past = np.full(task, 0.1)
            events.append(Probed(task, 5, past, 2.0, 2.5, past, 1.0, np.full(task, 1.5), 2.5, 3.0))
        if task not in missing:
            events.append(TaskLearned(task, R[task], task + 1.0))
    events.append(Finished("finished", "", R, *acc_fwd_bwd(R), 2.0, 0.01, "abc"))
    store.record([(run, event) for event in events])
