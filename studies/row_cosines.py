"""Measure how far the rows of a memory are from orthogonal, which the closed form of approx-GEM assumes them to be.

`python -m studies.row_cosines` writes the study "row-cosines"; it takes about two minutes.
"""

import numpy as np

from mgem_core import RunConfig, run
from mgem_core.events import Snapped
from mgem_core.paper.published.studies import write_study

SEEDS = range(6)
BENCHMARKS = ("mnist5k-permutations", "mnist5k-rotations")
MODULES = (1, 4)
FIELDS = {"strength": 0.3, "tasks": 5, "probe_every": 0, "snap_every": 25, "snap_splits": 2}  # md-GEM(4,2) at GEM's steps


def cosines(snapshot: Snapped, tensors: list[int]) -> np.ndarray:
    """Return the cosines [rows, rows] in the parameters of these tensors."""
    gram = snapshot.gram[tensors].sum(axis=0)
    first = 2 + len(snapshot.sizes)
    rows = gram[first:, first:]
    lengths = np.sqrt(np.diag(rows))
    return np.asarray(rows / np.outer(lengths, lengths))


def measure(benchmark: str, modules: int, seed: int) -> dict[str, float]:
    """Return the mean cosine of two halves of a memory, and the mean |cosine| of different tasks, in the last task."""
    config = RunConfig(benchmark=benchmark, seed=seed, **FIELDS)
    module_of = RunConfig(benchmark=benchmark, modules=modules).canonical().module_of
    same, different = [], []
    for event in run(config):
        if isinstance(event, Snapped) and event.task == config.tasks - 1:
            for module in sorted(set(module_of)):
                found = cosines(event, [i for i, one in enumerate(module_of) if one == module])
                task = np.repeat(np.arange(len(event.sizes)), event.sizes.shape[1])
                upper = np.triu(np.ones_like(found, bool), 1)
                is_same = task[:, None] == task
                same.append(found[upper & is_same].mean())
                different.append(np.abs(found[upper & ~is_same]).mean())
    return {"same_task": float(np.mean(same)), "different_tasks": float(np.mean(different))}


def main() -> None:
    cases = [(benchmark, modules, seed) for benchmark in BENCHMARKS for modules in MODULES for seed in SEEDS]
    rows = [{"benchmark": one, "modules": d, "seed": seed, **measure(one, d, seed)} for one, d, seed in cases]
    write_study("row-cosines", "python -m studies.row_cosines", rows)


if __name__ == "__main__":
    main()
