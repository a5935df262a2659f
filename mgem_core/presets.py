"""The presets: sweeps that come with mGEM Explorer, as data."""

from typing import Any

from mgem_core.sweeps import SweepSpec


def _spec(base: dict[str, Any], *grids: dict[str, list[Any]], **common: list[Any]) -> SweepSpec:
    return SweepSpec(base=base, grid=[{**grid, **common} for grid in grids or ({},)])


PRESETS: dict[str, tuple[str, SweepSpec]] = {
    "quick-look": (
        "GEM, p-mGEM and d-mGEM on three tasks of permuted digits",
        _spec(
            {"tasks": 3, "iterations": 60, "memory": 128, "probe_every": 10},
            {"modules": [1], "splits": [1]},
            {"modules": [4], "splits": [1]},
            {"modules": [1], "splits": [2]},
            strength=[0.0, 0.1, 0.5, 1.0],
            seed=[0, 1],
        ),
    ),
    "modules-against-strength": (
        "every module count against the paper's memory strengths",
        _spec(
            {"tasks": 3, "probe_every": 10},
            modules=[1, 2, 3, 4, 5, 6],
            strength=[0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0],
            seed=[0, 1, 2],
        ),
    ),
    "built-in-digits": (
        "the paper's methods on all built-in benchmarks",
        _spec(
            {},
            benchmark=["mnist5k-permutations", "mnist5k-rotations", "mnist5k-split"],
            method=["single", "independent", "ewc", "mer", "gem"],
            modules=[1, 4],
            splits=[1, 2],
            seed=[0, 1, 2],
        ),
    ),
}
