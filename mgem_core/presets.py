"""The presets: sweeps that come with mGEM Explorer, as data."""

from typing import Any, NamedTuple

from mgem_core.sweeps import SweepSpec


class Preset(NamedTuple):
    title: str
    description: str
    spec: SweepSpec


def _spec(base: dict[str, Any], *grids: dict[str, list[Any]], **common: list[Any]) -> SweepSpec:
    return SweepSpec(base=base, grid=[{**grid, **common} for grid in grids or ({},)])


STRENGTHS = [0.0, 0.1, 0.3, 1.0, 3.0, 10.0]  # beyond 1: the trade-off begins there
SHORT: dict[str, Any] = {"benchmark": "mnist5k-rotations", "tasks": 3, "iterations": 100, "memory": 240, "probe_every": 20}
# Every step is restricted, as in the paper's equations, and as long as the gradient: strengths change only the direction.
DIRECTION_ALONE = {"trigger": "always", "step_length": "gradient"}

PRESETS: dict[str, Preset] = {
    "quick-look": Preset(
        "Quick look",
        "Plain SGD, GEM and d-mGEM(2) on three tasks of rotated digits",
        _spec(
            {**SHORT, "iterations": 60, "memory": 128, **DIRECTION_ALONE},
            {"method": ["single"]},
            {"splits": [1, 2], "strength": STRENGTHS},
            seed=[0, 1, 2, 3],
        ),
    ),
    "modules-against-strength": Preset(
        "Modules against strength",
        "Every module count against six memory strengths, on three tasks of rotated digits",
        _spec({**SHORT, **DIRECTION_ALONE}, modules=[1, 2, 3, 4, 5, 6], strength=STRENGTHS, seed=[0, 1, 2, 3, 4, 5]),
    ),
    "splits-against-strength": Preset(
        "Splits against strength",
        "Every number of memory splits against six memory strengths, on three tasks of rotated digits",
        _spec({**SHORT, **DIRECTION_ALONE}, splits=[1, 2, 3, 6], strength=STRENGTHS, seed=[0, 1, 2, 3, 4, 5]),
    ),
    "built-in-digits": Preset(
        "The paper's methods on built-in digits",
        "The paper's methods on all built-in benchmarks",
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
