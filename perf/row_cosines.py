"""How far are the rows of a memory from orthogonal, which the closed form takes them to be?

Prints a table of docs/reproduction.md; takes about two minutes.
"""

import numpy as np

from mgem_core import RunConfig, run
from mgem_core.events import Snapped

SEEDS = range(6)
FIELDS = {"strength": 0.3, "tasks": 5, "probe_every": 0, "snap_every": 25, "snap_splits": 2}  # md-GEM(4,2) at GEM's steps


def cosines(snapshot: Snapped, tensors: list[int]) -> np.ndarray:
    """[rows, rows], in the parameters of these tensors."""
    gram = snapshot.gram[tensors].sum(axis=0)
    first = 2 + len(snapshot.sizes)
    rows = gram[first:, first:]
    lengths = np.sqrt(np.diag(rows))
    return np.asarray(rows / np.outer(lengths, lengths))


def measure(benchmark: str, modules: int, seed: int) -> tuple[float, float]:
    """Mean cosine of two halves of one task's memory, and mean |cosine| of rows of different tasks, in the last task."""
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
    return float(np.mean(same)), float(np.mean(different))


def main() -> None:
    print("| | modules | two halves of a memory | memories of different tasks |\n|---|---|---|---|")
    for benchmark in ("mnist5k-permutations", "mnist5k-rotations"):
        for modules in (1, 4):
            same, different = np.mean([measure(benchmark, modules, seed) for seed in SEEDS], axis=0)
            print(f"| {benchmark} | {modules} | {same:.2f} | {different:.2f} |", flush=True)


if __name__ == "__main__":
    main()
