"""ACC, FWD and BWD of every method on a built-in benchmark, mean ± standard deviation over seeds."""

import argparse
from typing import Any

import numpy as np

from mgem_core import RunConfig, run
from mgem_core.events import Finished

METHODS: list[dict[str, Any]] = [
    {"method": "single"},
    {"method": "independent"},
    {"method": "ewc"},
    {"method": "mer"},
    {"strength": 0.0},
    {"strength": 0.5},
    {"modules": 4},
    {"splits": 2},
    {"modules": 4, "splits": 2},
    {"modules": 4, "solver": "approx", "strength": 0.0},
    {"modules": 4, "splits": 2, "solver": "approx", "strength": 0.0},
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmark", default="mnist5k-permutations")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--probe-every", type=int, default=0)
    options = parser.parse_args()
    print(f"{options.benchmark}, {options.seeds} seeds\n")
    print("| method | q | lr | ACC | FWD | BWD | seconds |\n|---|---|---|---|---|---|---|")
    for fields in METHODS:
        ends = []
        for seed in range(options.seeds):
            config = RunConfig(benchmark=options.benchmark, seed=seed, probe_every=options.probe_every, **fields)
            ends += [event for event in run(config) if isinstance(event, Finished)]
        cells = [np.array([getattr(end, name) for end in ends]) for name in ("acc", "fwd", "bwd")]
        judged = " | ".join("—" if np.isnan(cell).any() else f"{cell.mean():.1f} ± {cell.std():.1f}" for cell in cells)
        q = config.strength if config.method == "gem" else "—"
        seconds = np.mean([end.seconds for end in ends])
        print(f"| {config.label} | {q} | {config.lr:g} | {judged} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
