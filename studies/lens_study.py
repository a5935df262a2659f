"""Compare predictions of the lens, from recorded steps of GEM, with runs that were trained.

`python -m studies.lens_study STORE` trains what the store lacks, prints the tables of docs/lens.md and draws its picture.
Everything is on the second of two tasks, on axes per unit ‖z‖. Every step is restricted: with the trigger violation, some
seeds have next to no such step in the recorded task, and there is nothing to predict.
"""

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import spearmanr

from mgem_core.analysis import aggregate, frames, paired
from mgem_core.analysis.aggregate import View
from mgem_core.analysis.measurements import read_measurements
from mgem_core.analysis.significance import estimate
from mgem_core.config.sweeps import SweepSpec
from mgem_core.lens import recordings
from mgem_core.lens.answers import answers
from mgem_core.lens.steps import Steps, steps_of
from mgem_core.networks._layer import Layer
from mgem_core.restriction import partition
from mgem_core.restriction.restriction import Restriction
from mgem_core.runner.local import LocalPool
from mgem_core.runner.runner import Runner
from mgem_core.store import Store
from mgem_core.text import MISSING

BENCHMARKS = ("mnist5k-rotations", "mnist5k-permutations", "mnist5k-split")
SEEDS = list(range(6))
HOW: dict[str, Any] = {"trigger": "always", "step_length": "gradient"}  # a strength turns z, and nothing else
RUN = {"tasks": 2, "iterations": 100, "memory": 252, **HOW}
RECORDED = {**RUN, "strength": 0.5, "snap_every": 5, "snap_splits": 6, "probe_every": 0}
TRAINED = {**RUN, "probe_every": 5}
SPLITS, STRENGTHS = [1, 2, 6], [0.0, 0.3, 1.0, 3.0]  # and one module, or one per layer
CURVE = [0.0, 0.1, 0.3, 1.0, 3.0, 10.0]  # of strengths, for frontiers at equal retention
PICTURE = Path(__file__).parents[1] / "docs" / "lens-study.svg"
OUTCOMES = {"x": "⟨g_s,z⟩/‖z‖", "y": "⟨g_t,z⟩/‖z‖", "bwd": "BWD", "fwd": "FWD", "acc": "ACC"}


def train(store: Store, spec: SweepSpec) -> pd.DataFrame:
    """Train the runs of a sweep that the store lacks; return all of them with their measures."""
    sweep = store.find_sweep(spec) or store.submit(spec)
    if store.counts()["queued"]:
        pool = LocalPool(1)
        outcome = Runner(store, pool).work(idle_seconds=0)
        pool.close()
        if outcome != "idle":
            raise SystemExit(f"the store or the code is {outcome}; start again.")
    runs = frames.runs(store, sweep)
    ids = runs["id"].tolist()
    return aggregate.run_measures(runs, read_measurements(store, ids), View(axes="unit", pair=(0, 1)))


def recorded_steps(store: Store, benchmark: str) -> list[Steps]:
    """Record the second task with every seed."""
    runs = train(store, SweepSpec(base={"benchmark": benchmark, **RECORDED}, grid={"seed": SEEDS}))
    return [steps_of(recordings.of_run(store, run), 1) for run in runs.sort_values("seed")["id"]]


def predicted(steps: Steps, settings: Sequence[Restriction]) -> np.ndarray:
    """Return x and y of each setting [2, settings], means over the recorded steps."""
    x, y, _ = answers(steps, settings).on_axes("unit", 0)
    return np.asarray(np.stack([x, y]).mean(axis=2))


def orders(store: Store, benchmark: str, steps: Sequence[Steps]) -> pd.DataFrame:
    """Print Spearman's rho, within each seed, between predictions and trained runs; return the runs."""
    modules = [1, len(steps[0].layers)]
    grid: dict[str, list[Any]] = {"modules": modules, "splits": SPLITS, "strength": STRENGTHS, "seed": SEEDS}
    runs = train(store, SweepSpec(base={"benchmark": benchmark, **TRAINED}, grid=grid))
    keys = list(product(modules, SPLITS, STRENGTHS))
    settings = [Restriction(*key, **HOW) for key in keys]
    lens = np.stack([predicted(one, settings) for one in steps])  # [seeds, 2, settings]
    floors = np.array([splits * q for _, splits, q in keys])
    predictions = {"x": lens[:, 0], "y": lens[:, 1], "bwd": lens[:, 0], "fwd": lens[:, 1], "acc": lens.sum(axis=1)}
    print(f"\n{benchmark}: Spearman's rho over {len(keys)} configurations")
    print("| | the lens | other seeds' trained runs | splits × strength |\n|---|---|---|---|")
    for name, title in OUTCOMES.items():
        values = trained(runs, name, keys)
        others = (values.sum(axis=0) - values) / (len(values) - 1)
        by_others = [rho(*pair) for pair in zip(others, values, strict=True)]
        by_lens = [rho(*pair) for pair in zip(predictions[name], values, strict=True)]
        by_floors = [rho(floors, one) for one in values]
        print(f"| {title} | {interval(by_lens)} | {interval(by_others)} | {interval(by_floors)} |", flush=True)
    return runs


def trained(runs: pd.DataFrame, measure: str, keys: Sequence[tuple[int, int, float]]) -> np.ndarray:
    """Return a measure of the trained runs [seeds, configurations]."""
    found = runs.pivot(index="seed", columns=["modules", "splits", "strength"], values=measure)
    return np.asarray(found.sort_index()[list(keys)], float)


def rho(one: np.ndarray, other: np.ndarray) -> float:
    return float(spearmanr(one, other).statistic)


def interval(values: Sequence[float], digits: int = 2) -> str:
    if (found := estimate(np.array(values))) is None:
        return MISSING
    low, high = max(found.low, -1.0), min(found.high, 1.0)
    return f"{found.mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})".replace("-", "−")


def contiguous(layers: Sequence[Layer]) -> list[int | dict[str, int]]:
    """Return all ways to group neighbouring tensors into modules, the single module first."""
    tensors = sum(len(layer.tensors) for layer in layers)
    cuts = product((0, 1), repeat=tensors - 1)
    return [partition.simplest_modules(layers, (0, *np.cumsum(cut).tolist())) for cut in cuts]


def frontier_rows(steps: Sequence[Steps], modules: Sequence[Any]) -> pd.DataFrame:
    """Predict each partition at each strength, as a frame for `paired`."""
    rows = []
    for seed, one in enumerate(steps):
        settings = [Restriction(each, 1, q, **HOW) for each in modules for q in CURVE]
        for setting, (x, y) in zip(settings, predicted(one, settings).T, strict=True):
            rows.append({"line": str(setting.modules), "q": setting.strength, "seed": seed, "x": x, "y": y})
    return pd.DataFrame(rows).assign(is_finished=True, acc=np.nan, fwd=np.nan, bwd=np.nan)


def best(store: Store, benchmark: str, steps: Sequence[Steps]) -> None:
    """Choose the partition that should learn most at equal retention on every other step, and train it against GEM."""
    modules = contiguous(steps[0].layers)
    choosing, judging = ([one.at(slice(start, None, 2)) for one in steps] for start in (0, 1))
    verdicts = paired.compare(frontier_rows(choosing, modules), "1")
    chosen = max(verdicts, key=lambda verdict: verdict.at_equal_x.mean if verdict.at_equal_x else -np.inf)
    [winner] = [each for each in modules if str(each) == chosen.line]
    [judged] = paired.compare(frontier_rows(judging, [1, winner]), "1")
    grid: dict[str, list[Any]] = {"modules": [1, winner], "strength": CURVE, "seed": SEEDS}
    runs = train(store, SweepSpec(base={"benchmark": benchmark, **TRAINED}, grid=grid))
    [measured] = paired.compare(runs.assign(is_finished=runs["status"] == "finished"), "GEM")
    print(f"{benchmark}: best of {len(modules)} partitions: {winner}")
    for what, verdict in (("chosen on", chosen), ("judged on", judged), ("trained", measured)):
        print(f"  {what}: {verdict.at_equal_x}, common {verdict.common:.2f}")
    print(f"  {paired.in_words(measured)}", flush=True)


def draw(axes: Axes, steps: Sequence[Steps], runs: pd.DataFrame) -> None:
    """Draw means over seeds: predictions of the lens as lines over the strength, trained runs as points."""
    layers = len(steps[0].layers)
    for modules, splits, color, label in (
        (1, 1, "#0072B2", "GEM"),
        (layers, 1, "#D55E00", "p-mGEM, a module per layer"),
        (1, 6, "#009E73", "d-mGEM(6)"),
        (layers, 6, "#CC79A7", "md-GEM, both"),
    ):
        settings = [Restriction(modules, splits, q, **HOW) for q in np.geomspace(0.01, 3.01, 60) - 0.01]
        x, y = np.mean([predicted(one, settings) for one in steps], axis=0)
        axes.plot(x, y, color=color, lw=1.5, label=label)
        of = runs[(runs["modules"] == modules) & (runs["splits"] == splits)].groupby("strength")
        axes.plot(of["x"].mean(), of["y"].mean(), color=color, marker="o", ms=5, ls=":", lw=0.8)
    axes.set_xlabel("⟨g_s,z⟩ / ‖z‖")


def main() -> None:
    import matplotlib.pyplot as plt

    store = Store(Path(sys.argv[1]))
    figure, panels = plt.subplots(1, len(BENCHMARKS), figsize=(11, 3.6), layout="constrained")
    for benchmark, axes in zip(BENCHMARKS, panels, strict=True):
        steps = recorded_steps(store, benchmark)
        runs = orders(store, benchmark, steps)
        best(store, benchmark, steps)
        draw(axes, steps, runs)
        axes.set_title(benchmark)
    panels[0].set_ylabel("⟨g_t,z⟩ / ‖z‖")
    panels[0].legend(frameon=False, fontsize=8)
    figure.savefig(PICTURE)
    store.close()


if __name__ == "__main__":
    main()
