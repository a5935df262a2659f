"""Stores whose runs have results without training: known ones, random ones, or those that a test computes."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from mgem_core import RunConfig, networks
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Event, Finished, Probed, Snapped, Stepped, TaskLearned
from mgem_core.metrics import acc_fwd_bwd
from mgem_core.store import Store

TWO_TASKS = {"tasks": 2, "iterations": 10, "memory": 20}
SMALL = {**TWO_TASKS, "tasks": 3}
SPEC = SweepSpec(
    base=SMALL,
    grid=[
        {"modules": [1, 4], "strength": [0.0, 0.1, 0.5], "seed": [0, 1]},
        {"method": ["single"], "seed": [0, 1]},
    ],
)
FOUR_RUNS = SweepSpec(base=TWO_TASKS, grid={"modules": [1, 4], "strength": [0.5, 0.9]})
TWO_BENCHMARKS = SweepSpec(
    base=TWO_TASKS, grid={"benchmark": ["mnist5k-permutations", "mnist5k-rotations"], "modules": [1, 4]}
)

# From a run and its config to R and the probes; None stands for the probes of `finish`.
Results = Callable[[int, RunConfig], tuple[np.ndarray, list[Probed] | None]]


def filled_store(path: Path, spec: SweepSpec = SPEC, name: str = "quick look", **options) -> Store:
    """Create a store with one sweep, and fill it with these options of `fill`."""
    store = Store(path)
    store.submit(spec, name)
    fill(store, **options)
    return store


def known_store(path: Path, spec: SweepSpec = TWO_BENCHMARKS, shift: float = 0.0, **options) -> Store:
    """Create a store with a sweep of runs that all have the results of `finish`."""

    def results(run, config):
        return known_matrix(config.tasks, shift), None

    return filled_store(path, spec, "First", results=results, seconds=2.0, **options)


def random_results(run: int, config: RunConfig) -> tuple[np.ndarray, list[Probed]]:
    """Draw accuracies and products; ⟨g_s,z⟩ rises with the strength, so that lines can be compared."""
    random, retention = np.random.default_rng(run), 10 * np.mean(config.strength)
    R, probes = random.uniform(50, 95, (config.tasks, config.tasks)), []
    for t in range(1, config.tasks):
        for step in (1, 6):
            norms = random.uniform(1, 2, (2, t))
            y, norm_z = random.uniform(1, 3, 2)
            x = norm_z * (retention + 0.2 * random.normal(size=t))
            probes.append(Probed(t, step, x, y, y + 0.1, norms[0], norm_z, norms[1], 1.5, 2.0))
    return R, probes


def is_gem(config: RunConfig) -> bool:
    return config.label == "GEM" and config.strength == 0.5


def random_snapshots(config: RunConfig, splits: int = 6) -> list[Snapped]:
    """Draw snapshots of two steps in each task after the first, of gradients that conflict with some memory rows."""
    random, found = np.random.default_rng(config.seed), []
    info = config.benchmark_info
    tensors = sum(len(layer.shapes) for layer in networks.layers(config.network, info.shape, info.classes))
    for task in range(1, config.tasks):
        for step in (1, 6):
            vectors = random.normal(size=(tensors, 2 + task + task * splits, 40))
            vectors[:, 2 + task :] += np.repeat(
                vectors[:, 2 : 2 + task], splits, axis=1
            )  # the memory is like the past task
            vectors[:, 0] += vectors[:, 1]  # and the batch like the current one
            sizes = np.full((task, splits), 3)
            found.append(Snapped(task, step, vectors @ vectors.swapaxes(1, 2), sizes))
    return found


def fill(
    store: Store,
    results: Results = random_results,
    finishes: Callable[[int], bool] = lambda run: True,
    probed: bool = True,
    seconds: float = 1.5,
    records: Callable[[RunConfig], bool] = lambda config: False,
) -> None:
    """End all queued runs. Unfinished runs have learned their first two tasks; without `probed`, no run has probes.

    Runs for which `records` is true have random snapshots.
    """
    while claimed := store.claim():
        run, config = claimed
        R, probes = results(run, config)
        if records(config):
            learned = config.tasks if finishes(run) else 2
            store.record([(run, snapshot) for snapshot in random_snapshots(config) if snapshot.task < learned])
        finish(store, run, R=R, probes=probes if probed else [], learned=None if finishes(run) else 2, seconds=seconds)


def finish(
    store: Store,
    run: int,
    shift: float = 0.0,
    missing: Sequence[int] = (),
    R: np.ndarray | None = None,
    probes: list[Probed] | None = None,
    learned: int | None = None,
    status: str = "finished",
    seconds: float = 1.5,
) -> None:
    """Record the events of a claimed run.

    Without R, it has the known matrix raised by `shift`. The rows of the tasks in `missing` have no event.
    With `learned`, the run is left unfinished after that many tasks.
    """
    if R is None:
        tasks = store.database.rows("SELECT json_extract(config, '$.tasks') FROM runs WHERE id = ?", run)[0][0]
        R = known_matrix(tasks, shift)
    if probes is None:
        probes = [probe(task, np.full(task, 0.1), 2.0) for task in range(1, len(R))]
    events: list[Event] = []
    for task in range(len(R) if learned is None else learned):
        events.append(Stepped(task, 10, 0.5, 0.25, 0.01, 0))
        events += [one for one in probes if one.task == task]
        if task not in missing:
            events.append(TaskLearned(task, R[task], task + 1.0))
    if learned is None:
        events.append(Finished(status, "", R, *acc_fwd_bwd(R), seconds, 0.01, "abc"))
    store.record([(run, event) for event in events])


def known_matrix(tasks: int, shift: float = 0.0) -> np.ndarray:
    return np.array([[90.0, 10.0, 10.0], [70.0, 85.0, 10.0], [60.0, 75.0, 88.0]])[:tasks, :tasks] + shift


def matrix_with(acc: float) -> np.ndarray:
    """Return an R of two tasks with this ACC, and FWD 85."""
    return np.array([[90.0, 10.0], [2 * acc - 80.0, 80.0]])


def probe(task: int, x: np.ndarray, y: float) -> Probed:
    """Return a probe with ⟨g_s,z⟩ = x and ⟨g_t,z⟩ = y, and with ‖z‖ = 1."""
    return Probed(task, 5, x, y, y, x, 1.0, np.full(task, 1.5), 2.5, 3.0)
