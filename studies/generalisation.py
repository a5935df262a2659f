"""Measure whether a stronger constraint on the memory carries over to the past task: ⟨ĝ_s,z⟩ and ⟨g_s,z⟩ over strengths.

`python -m studies.generalisation` writes the study "generalisation"; it takes about two minutes.
"""

import numpy as np

from mgem_core import RunConfig, run
from mgem_core.events import Finished, Probed
from mgem_core.paper.claims.experiments import GENERALISATION
from mgem_core.paper.published.studies import write_study


def measure(config: RunConfig) -> dict[str, float]:
    """Return ⟨ĝ_s,z⟩/‖z‖ (memory) and ⟨g_s,z⟩/‖z‖ (truth), means over the probed steps of the second task, and ACC."""
    products, acc = [], np.nan
    for event in run(config):
        if isinstance(event, Probed):
            products.append([event.memory_z[0] / event.norm_z, event.gs_z[0] / event.norm_z])
        elif isinstance(event, Finished):
            acc = event.acc
    memory, truth = np.mean(products, axis=0)
    return {"memory": float(memory), "truth": float(truth), "acc": float(acc)}


def main() -> None:
    rows = [
        {"benchmark": one.benchmark, "strength": one.strength, "seed": one.seed, **measure(one)}
        for one in GENERALISATION.runs()
    ]
    write_study("generalisation", "python -m studies.generalisation", rows)


if __name__ == "__main__":
    main()
