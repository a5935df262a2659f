"""Measure whether finer restrictions learn more at equal retention: GEM is recorded, and the lens solves every line there.

`python -m studies.equal_retention` writes the study "equal-retention" and prints it as a table of docs/comparisons.md; it
takes about five minutes.
"""

from typing import Any, get_args

import numpy as np
import pandas as pd

from mgem_core import RunConfig, networks, run
from mgem_core.analysis import paired
from mgem_core.analysis.significance import Estimate
from mgem_core.events import Snapped
from mgem_core.lens.answers import answers
from mgem_core.lens.recordings import Recording
from mgem_core.lens.steps import Steps, steps_of
from mgem_core.paper.published.studies import write_study
from mgem_core.restriction.restriction import Restriction, Trigger
from mgem_core.text import signed

BENCHMARKS = ("mnist5k-permutations", "mnist5k-rotations", "mnist5k-split")
SEEDS = range(12)
RECORDED = {
    "strength": 0.5,
    "tasks": 2,
    "iterations": 100,
    "memory": 252,
    "probe_every": 0,
    "snap_every": 4,
    "snap_splits": 6,
}
LINES: dict[str, dict[str, Any]] = {
    "GEM": {},
    **{f"d-mGEM({splits})": {"splits": splits} for splits in (2, 3, 6)},
    "p-mGEM(layers)": {"modules": "layers"},
    "md-GEM(layers,2)": {"modules": "layers", "splits": 2},
}
STRENGTHS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 4.5, 6.5, 10.0, 14.0, 20.0, 32.0)


def recorded_steps(benchmark: str, seed: int) -> Steps:
    """Return the recorded steps of the second task."""
    config = RunConfig(benchmark=benchmark, seed=seed, **RECORDED)
    info = config.benchmark_info
    layers = tuple(networks.layers(config.network, info.shape, info.classes))
    snapshots = tuple(event for event in run(config) if isinstance(event, Snapped))
    return steps_of(Recording(f"seed {seed}", layers, snapshots, config.split_by), 1)


def points(steps: list[Steps], trigger: Any) -> pd.DataFrame:
    """Return ⟨g_s,z⟩/‖z‖ and ⟨g_t,z⟩/‖z‖ per line, strength and seed: means over the recorded steps."""
    rows = []
    for line, fields in LINES.items():
        settings = [Restriction(strength=strength, trigger=trigger, **fields) for strength in STRENGTHS]
        for seed, of_seed in enumerate(steps):
            x, y, _ = (values.mean(axis=1) for values in answers(of_seed, settings).on_axes("unit", 0))
            rows += [{"line": line, "seed": seed, "q": q, "x": a, "y": b} for q, a, b in zip(STRENGTHS, x, y, strict=True)]
    return pd.DataFrame(rows).assign(is_finished=True, acc=np.nan, fwd=np.nan, bwd=np.nan)


def main() -> None:
    print("| line | trigger | permutations | rotations | split |\n|---|---|---|---|---|")
    steps = {benchmark: [recorded_steps(benchmark, seed) for seed in SEEDS] for benchmark in BENCHMARKS}
    rows = []
    for trigger in get_args(Trigger):
        verdicts = [paired.compare(points(steps[benchmark], trigger), "GEM") for benchmark in BENCHMARKS]
        for of_line in zip(*verdicts, strict=True):
            print(f"| {of_line[0].line} | {trigger} | {' | '.join(map(_cell, of_line))} |")
            cases = zip(BENCHMARKS, of_line, strict=True)
            rows += [{"line": one.line, "trigger": trigger, "benchmark": name, **_result(one)} for name, one in cases]
    write_study("equal-retention", "python -m studies.equal_retention", rows)


def _result(verdict: paired.Verdict) -> dict[str, Any]:
    """Return the difference from GEM in percent; without one, the lines have no common range of ⟨g_s,z⟩."""
    found = verdict.at_equal_x
    numbers = found._asdict() if found else dict.fromkeys(Estimate._fields)
    return {**numbers, "interpolation": verdict.interpolation, "not_rising": verdict.not_rising}


def _cell(verdict: paired.Verdict) -> str:
    found = verdict.at_equal_x
    if found is None:
        return "no common range"
    text = f"{signed(found.mean, 2)} ({signed(found.low, 2)} to {signed(found.high, 2)})"
    return f"**{text}**" if verdict.significant else text


if __name__ == "__main__":
    main()
