"""Measure whether a stronger constraint on the memory carries over to the past task: ⟨ĝ_s,z⟩ and ⟨g_s,z⟩ over strengths.

`python -m studies.generalisation` writes the study "generalisation"; it takes about two minutes.
"""

import numpy as np

from mgem_core import RunConfig, run
from mgem_core.events import Finished, Probed
from mgem_core.paper.published.studies import write_study

SEEDS = range(6)
STRENGTHS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
BENCHMARKS = ("mnist5k-rotations", "mnist5k-permutations")
FIELDS = {"tasks": 2, "iterations": 100, "memory": 240, "probe_every": 10, "trigger": "always", "step_length": "gradient"}


def measure(benchmark: str, strength: float, seed: int) -> dict[str, float]:
    """Return ⟨ĝ_s,z⟩/‖z‖ (memory) and ⟨g_s,z⟩/‖z‖ (truth), means over the probed steps of the second task, and ACC."""
    products, acc = [], np.nan
    for event in run(RunConfig(benchmark=benchmark, strength=strength, seed=seed, **FIELDS)):
        if isinstance(event, Probed):
            products.append([event.memory_z[0] / event.norm_z, event.gs_z[0] / event.norm_z])
        elif isinstance(event, Finished):
            acc = event.acc
    memory, truth = np.mean(products, axis=0)
    return {"memory": float(memory), "truth": float(truth), "acc": float(acc)}


def main() -> None:
    cases = [(benchmark, q, seed) for benchmark in BENCHMARKS for q in STRENGTHS for seed in SEEDS]
    rows = [{"benchmark": one, "strength": q, "seed": seed, **measure(one, q, seed)} for one, q, seed in cases]
    write_study("generalisation", "python -m studies.generalisation", rows)


if __name__ == "__main__":
    main()
