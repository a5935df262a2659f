"""Measure whether finer restrictions learn more at equal retention: GEM is recorded, and the lens solves every line there.

`python -m studies.equal_retention` writes the studies "equal-retention" and "small-margins", and prints the tables of
docs/comparisons.md; it takes about five minutes. The recordings that come with the tool are used, too.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from mgem_core import RunConfig, networks, run
from mgem_core.analysis import paired
from mgem_core.analysis.significance import Estimate
from mgem_core.events import Snapped
from mgem_core.lens.lines import GEM, Line
from mgem_core.lens.recordings import Recording
from mgem_core.lens.seed_curves import LARGEST_MARGIN, Floats, Pair, pairs_of, seed_curves, strength_grid
from mgem_core.paper.presets import EXAMPLE
from mgem_core.paper.published import example
from mgem_core.paper.published.studies import FILE, write_study
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
    "probe_samples": 10_000,  # all images
}
LINES = (
    GEM,
    *(Line(f"d-mGEM({splits})", splits=splits) for splits in (2, 3, 6)),
    Line("p-mGEM(layers)", modules="layers"),
    Line("md-GEM(layers,2)", modules="layers", splits=2),
)
FLOORS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 4.5, 6.5, 10.0, 14.0, 20.0, 32.0)
# With a margin, a step without conflict is unchanged, so both triggers are the same.
RESTRICTIONS = (("dual-floor", "violation"), ("dual-floor", "always"), ("margin", "always"))


def record(benchmark: str, seed: int) -> Recording:
    """Train GEM and return its recorded steps."""
    config = RunConfig(benchmark=benchmark, seed=seed, **RECORDED)
    info = config.benchmark_info
    layers = tuple(networks.layers(config.network, info.shape, info.classes))
    snapshots = tuple(event for event in run(config) if isinstance(event, Snapped))
    return Recording(f"seed {seed}", layers, snapshots, config.split_by)


def points(recordings: Sequence[Recording], kind: str, trigger: str, share: float) -> pd.DataFrame:
    """Return ⟨g_s,z⟩ and ⟨g_t,z⟩ per ‖z‖ and raw, for each line, strength and seed: means over the recorded steps.

    Margins are those of the lens, from 0 to LARGEST_MARGIN times the median ‖g_s‖²; `share` is the part of this range.
    """
    used = {"strength": 0.0, "strength_kind": kind, "trigger": trigger}
    asked, pairs = [replace(one, used={**one.used, **used}) for one in recordings], pairs_of(recordings)
    strengths = np.array(FLOORS) if kind == "dual-floor" else strength_grid(asked)
    strengths = strengths[strengths <= share * strengths[-1]]
    unit, raw = (curves_on(asked, strengths, pairs, axes) for axes in ("unit", "raw"))
    indices = np.indices(unit.shape[:3]).reshape(3, -1)
    columns = {"line": np.array([line.name for line in LINES])[indices[0]], "seed": indices[1], "q": strengths[indices[2]]}
    products = np.concatenate([unit, raw], axis=3).reshape(-1, 4).T
    columns |= dict(zip(("x", "y", "x_other", "y_other"), products, strict=True))
    return pd.DataFrame(columns).assign(is_finished=True, acc=np.nan, fwd=np.nan, bwd=np.nan)


def curves_on(recordings: Sequence[Recording], strengths: Floats, pairs: Sequence[Pair], axes: str) -> Floats:
    return seed_curves(recordings, LINES, strengths, pairs, axes)[..., :2]


def main() -> None:
    """Compute everything; with `--shipped`, only the results of the recordings that come with the tool."""
    benchmarks = () if "--shipped" in sys.argv else BENCHMARKS
    recorded = {benchmark: [record(benchmark, seed) for seed in SEEDS] for benchmark in benchmarks}
    recorded[EXAMPLE] = [*example.recordings()]
    rows = []
    print(f"| line | restriction | {' | '.join(recorded)} |\n|---|---|{'---|' * len(recorded)}")
    for kind, trigger in RESTRICTIONS:
        rows += compare(recorded, kind, trigger, 1.0)
    small = compare(recorded, "margin", "always", 1 / LARGEST_MARGIN)
    for name, computed in (("equal-retention", rows), ("small-margins", small)):
        known = [] if benchmarks else json.loads(FILE.read_text())[name]["results"]
        kept = [one for one in known if one["benchmark"] != EXAMPLE]
        write_study(name, "python -m studies.equal_retention", [*kept, *computed])


def compare(recorded: dict[str, list[Recording]], kind: str, trigger: str, share: float) -> list[dict[str, Any]]:
    """Compare all lines with GEM, print the rows of the table, and return the results."""
    verdicts = [paired.compare(points(of, kind, trigger, share), "GEM") for of in recorded.values()]
    rows = []
    for of_line in zip(*verdicts, strict=True):
        print(f"| {of_line[0].line} | {kind}, {trigger} | {' | '.join(map(_cell, of_line))} |", flush=True)
        rows += [_result(one, name, kind, trigger) for name, one in zip(recorded, of_line, strict=True)]
    return rows


def _result(verdict: paired.Verdict, benchmark: str, kind: str, trigger: str) -> dict[str, Any]:
    """Return the difference from GEM in percent; without one, the lines have no common range of ⟨g_s,z⟩."""
    unknown = dict.fromkeys(Estimate._fields)
    found, raw = (one._asdict() if one else unknown for one in (verdict.at_equal_x, verdict.at_equal_x_other))
    return {
        **{"line": verdict.line, "strength_kind": kind, "trigger": trigger, "benchmark": benchmark, **found},
        **{"interpolation": verdict.interpolation, "not_rising": verdict.not_rising},
        **{f"raw_{name}": raw[name] for name in ("mean", "low", "high")},
    }


def _cell(verdict: paired.Verdict) -> str:
    found = verdict.at_equal_x
    if found is None:
        return "no common range"
    text = f"{signed(found.mean, 2)} ({signed(found.low, 2)} to {signed(found.high, 2)})"
    return f"**{text}**" if verdict.significant else text


if __name__ == "__main__":
    main()
