"""Measure whether finer restrictions learn more at equal retention: GEM is recorded, and the lens solves every line there.

`python -m studies.equal_retention` writes the studies "equal-retention" and "small-margins", and prints the tables of
docs/comparisons.md; it takes about five minutes. The recordings that come with the tool are used, too. In the last table,
γ is shared between the modules, in proportion to their squared gradients.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from mgem_core import RunConfig, networks, run
from mgem_core.analysis import paired
from mgem_core.analysis.significance import Estimate
from mgem_core.events import Snapped
from mgem_core.lens.answers import module_of
from mgem_core.lens.lines import GEM, Line
from mgem_core.lens.recordings import Recording
from mgem_core.lens.seed_curves import LARGEST_MARGIN, Floats, Pair, pairs_of, seed_curves, strength_grid
from mgem_core.lens.steps import Steps, module_grams, steps_of, tensors_of
from mgem_core.paper.presets import EXAMPLE
from mgem_core.paper.published import example
from mgem_core.paper.published.studies import FILE, write_study
from mgem_core.restriction.path import paths
from mgem_core.restriction.restriction import Restriction
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
AXES = ("unit", "raw")
OfLine = tuple[paired.Verdict, ...]  # the verdicts on one line, on each benchmark


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
    unit, raw = (seed_curves(asked, LINES, strengths, pairs, axes)[..., :2] for axes in AXES)
    return frame(LINES, strengths, unit, raw)


def frame(lines: Sequence[Line], strengths: Floats, unit: Floats, raw: Floats) -> pd.DataFrame:
    """Return curves [lines, seeds, strengths, 2] on both axes as one row per point."""
    indices = np.indices(unit.shape[:3]).reshape(3, -1)
    columns = {"line": np.array([line.name for line in lines])[indices[0]], "seed": indices[1], "q": strengths[indices[2]]}
    products = np.concatenate([unit, raw], axis=3).reshape(-1, 4).T
    columns |= dict(zip(("x", "y", "x_other", "y_other"), products, strict=True))
    return pd.DataFrame(columns).assign(is_finished=True, acc=np.nan, fwd=np.nan, bwd=np.nan)


def points_of_shares(recordings: Sequence[Recording]) -> pd.DataFrame:
    """Return the points of the lines with modules if each has a share of the margin γ: γ_s^d = γ ‖ĝ_s^d‖² / ‖ĝ_s‖²."""
    asked = [replace(one, used={**one.used, "strength_kind": "margin"}) for one in recordings]
    strengths, pairs = strength_grid(asked), pairs_of(recordings)
    lines = [line for line in LINES if line is GEM or line.modules != 1]
    found = np.array([[curves_of_shares(one, line, strengths, pairs) for one in recordings] for line in lines])
    return frame(lines, strengths, *np.moveaxis(found, 2, 0))


def curves_of_shares(recording: Recording, line: Line, strengths: Floats, pairs: Sequence[Pair]) -> Floats:
    """Return ⟨g_s,z⟩ and ⟨g_t,z⟩ of one seed [2 axes, strengths, 2]: means over the recorded steps, then over the pairs."""
    found = []
    for task in sorted({t for _, t in pairs}):
        products, norm = products_of_shares(steps_of(recording, task), line, strengths)
        for s in (s for s, t in pairs if t == task):
            raw = products[:, :, [2 + s, 1]]
            found.append([np.mean(raw / norm[..., None], axis=0), np.mean(raw, axis=0)])
    return np.asarray(np.mean(found, axis=0))


def products_of_shares(steps: Steps, line: Line, strengths: Floats) -> tuple[Floats, Floats]:
    """Return ⟨g,z⟩, ⟨g_t,z⟩ and ⟨g_s,z⟩ [steps, strengths, 2 + S], and ‖z‖ [steps, strengths]."""
    first = 2 + steps.past
    grams = module_grams(steps, line.splits, tensors_of(module_of(steps, line.modules)))
    A, b = grams[:, :, first:, first:], grams[:, :, first:, 0]
    squares = np.diagonal(A, axis1=2, axis2=3)  # [modules, steps, rows]
    each_A, each_b, shares = (part.reshape(-1, *part.shape[2:]) for part in (A, b, squares / squares.sum(0)))
    found = paths(each_A, each_b, shares, Restriction(strength_kind="margin"))
    v = found.at(strengths).reshape(*b.shape[:2], len(strengths), -1)
    products = grams[:, :, None, 0, :first] + v @ grams[:, :, first:, :first]
    of_rows = b[:, :, None] + v @ A  # ⟨ĝ,z⟩
    norm = np.sqrt((products[..., 0] + (v * of_rows).sum(-1)).sum(0))
    return products.sum(0), norm


def main() -> None:
    """Compute everything; with `--shipped`, only the results of the recordings that come with the tool."""
    benchmarks = () if "--shipped" in sys.argv else BENCHMARKS
    recorded = {benchmark: [record(benchmark, seed) for seed in SEEDS] for benchmark in benchmarks}
    recorded[EXAMPLE] = [*example.recordings()]
    heading = f"| line | restriction | {' | '.join(recorded)} |\n|---|---|{'---|' * len(recorded)}"
    print(heading)
    found = {how: compare(recorded, *how, 1.0, _cell) for how in RESTRICTIONS}
    small = compare(recorded, "margin", "always", 1 / LARGEST_MARGIN, _interval)
    print(f"\nshare of the range in common, seeds in which ⟨g_s,z⟩ does not rise with every strength\n\n{heading}")
    for how, of_lines in found.items():
        print_rows(of_lines, ", ".join(how), lambda one: f"{100 * one.common:.1f} %, {one.not_rising}")
    print(f"\nγ shared between the modules\n\n{heading}")
    of_shares = [*zip(*(paired.compare(points_of_shares(of), "GEM") for of in recorded.values()), strict=True)]
    print_rows(of_shares, "per ‖z‖", _interval)
    print_rows(of_shares, "raw", lambda one: _text(one.at_equal_x_other))
    print_rows(of_shares, "in common", lambda one: f"{100 * one.common:.1f} %")
    rows = [row for how, of_lines in found.items() for row in results(of_lines, recorded, *how)]
    for name, computed in (("equal-retention", rows), ("small-margins", results(small, recorded, "margin", "always"))):
        known = [] if benchmarks else json.loads(FILE.read_text())[name]["results"]
        kept = [one for one in known if one["benchmark"] != EXAMPLE]
        write_study(name, "python -m studies.equal_retention", [*kept, *computed])


def compare(
    recorded: dict[str, list[Recording]], kind: str, trigger: str, share: float, cell: Callable[[paired.Verdict], str]
) -> list[OfLine]:
    """Compare all lines with GEM, print the rows of the table, and return the verdicts of each line."""
    of_lines = [*zip(*(paired.compare(points(of, kind, trigger, share), "GEM") for of in recorded.values()), strict=True)]
    print_rows(of_lines, f"{kind}, {trigger}", cell)
    return of_lines


def print_rows(of_lines: Sequence[OfLine], title: str, cell: Callable[[paired.Verdict], str]) -> None:
    for of_line in of_lines:
        print(f"| {of_line[0].line} | {title} | {' | '.join(map(cell, of_line))} |", flush=True)


def results(of_lines: Sequence[OfLine], names: Iterable[str], kind: str, trigger: str) -> list[dict[str, Any]]:
    return [_result(one, name, kind, trigger) for of_line in of_lines for name, one in zip(names, of_line, strict=True)]


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
    return f"**{_interval(verdict)}**" if verdict.significant else _interval(verdict)


def _interval(verdict: paired.Verdict) -> str:
    return _text(verdict.at_equal_x)


def _text(found: Estimate | None) -> str:
    return f"{signed(found.mean, 2)} ({signed(found.low, 2)} to {signed(found.high, 2)})" if found else "no common range"


if __name__ == "__main__":
    main()
