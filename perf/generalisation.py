"""Does a stronger constraint on the memory carry over to the past task? ⟨ĝ_s,z⟩ and ⟨g_s,z⟩ over the memory strength.

Prints the table of docs/reproduction.md; takes about two minutes.
"""

import numpy as np

from mgem_core import RunConfig, run
from mgem_core.analysis.paired import estimate
from mgem_core.events import Finished, Probed

SEEDS = range(6)
STRENGTHS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
FIELDS = {"tasks": 2, "iterations": 100, "memory": 240, "probe_every": 10, "trigger": "always", "step_length": "gradient"}


def measure(benchmark: str, strength: float, seed: int) -> tuple[float, float, float]:
    """⟨ĝ_s,z⟩/‖z‖ and ⟨g_s,z⟩/‖z‖, means over the probed steps of the second task, and ACC."""
    products, acc = [], np.nan
    for event in run(RunConfig(benchmark=benchmark, strength=strength, seed=seed, **FIELDS)):
        if isinstance(event, Probed):
            products.append([event.memory_z[0] / event.norm_z, event.gs_z[0] / event.norm_z])
        elif isinstance(event, Finished):
            acc = event.acc
    seen, truth = np.mean(products, axis=0)
    return float(seen), float(truth), acc


def main() -> None:
    for benchmark in ("mnist5k-rotations", "mnist5k-permutations"):
        print(f"\n{benchmark}\n| q | ⟨ĝ_s,z⟩/‖z‖ | ⟨g_s,z⟩/‖z‖ | difference (95 %) | ACC |\n|---|---|---|---|---|")
        for strength in STRENGTHS:
            values = np.array([measure(benchmark, strength, seed) for seed in SEEDS])
            seen, truth, acc = values.mean(axis=0)
            if found := estimate(values[:, 1] - values[:, 0]):
                interval = f"{found.mean:+.2f} ({found.low:+.2f} … {found.high:+.2f})"
                print(f"| {strength:g} | {seen:.2f} | {truth:.2f} | {interval} | {acc:.1f} |", flush=True)


if __name__ == "__main__":
    main()
