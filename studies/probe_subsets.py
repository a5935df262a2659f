"""Measure whether true gradients on fewer images at more steps give better differences between lines.

`python -m studies.probe_subsets FOLDER` trains GEM and two other lines on three tasks of the built-in benchmarks, and takes
true gradients at every step of the second task, in PARTS parts that are drawn again at each step, stratified by class.
Every design, such as a tenth of the images at every fourth step, is a selection of these steps and parts. FOLDER keeps the
measurements. It prints the tables of docs/performance.md; the first time, it takes about ten minutes on an idle core.
"""

import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from mgem_core import RunConfig, networks
from mgem_core.analysis.curves import curve_difference
from mgem_core.events import Snapped
from mgem_core.gradients.rows import Gradient, full_gradient, memory_rows
from mgem_core.lens.answers import answers
from mgem_core.lens.recordings import Recording
from mgem_core.lens.seed_curves import strength_grid
from mgem_core.lens.steps import Steps
from mgem_core.randomness import rng
from mgem_core.restriction import direction
from mgem_core.restriction.restriction import Restriction
from mgem_core.store.recording import packed
from mgem_core.text import MISSING
from mgem_core.training import probes
from mgem_core.training.engine import _Run

BENCHMARKS, SEEDS, STEPS = ("mnist5k-permutations", "mnist5k-rotations"), range(6), 100
RUN: dict[str, Any] = {"tasks": 3, "iterations": STEPS, "memory": 240, "strength": 0.5}
TRAINED: dict[str, dict[str, Any]] = {"GEM": {}, "d-mGEM(2)": {"splits": 2}, "p-mGEM(3)": {"modules": 3}}
RECORDED = {**TRAINED, "d-mGEM(3)": {"splits": 3}}
IMAGES, PARTS, SPLITS = 4000, 20, 6
FIRST = 2 + SPLITS  # vectors before the parts: g, the memory rows and z
EVERY = (1, 2, 4, 5, 10, 20)
Floats = NDArray[np.float64]


class Design(NamedTuple):
    parts: int  # of PARTS
    every: int

    def draws(self) -> Iterator[tuple[slice, slice]]:
        """Yield steps and parts: for each first step, each group of disjoint parts."""
        for start, first in product(range(self.every), range(0, PARTS, self.parts)):
            yield slice(start, None, self.every), slice(first, first + self.parts)


ALL_IMAGES = [Design(PARTS, every) for every in EVERY]
DESIGNS = [*ALL_IMAGES[::-1], *(Design(parts, every) for parts in (5, 2, 1) for every in (5, 4, 2, 1))]


def steps_of_second_task(config: RunConfig) -> Iterator[tuple[_Run, int]]:
    """Train the first task, and yield the run before each step of the second, which the caller takes."""
    run = _Run(config, torch.device("cpu"))
    for step in range(STEPS):
        run.learner.observe(0, step, run._images(0, step))
    run.learner.finish_task(0, run._shown(0))
    yield from ((run, step) for step in range(STEPS))


def gradients_on_parts(run: _Run, task: int, step: int) -> list[Gradient]:
    """Return the gradients on a random division of the training set into parts that have equally many of each class."""
    train = run.stream.tasks[task].train
    labels, draw = run.stream.labels[train].numpy(), rng(run.config.seed, "probe", task, step)
    by_class = np.stack([draw.permutation(np.flatnonzero(labels == c)) for c in np.unique(labels)])
    batches = [run.stream.sample(task, "train", part.ravel()) for part in np.split(by_class, PARTS, axis=1)]
    return [full_gradient(run.learner.network, [batch], len(batch.y)) for batch in batches]


def measure(benchmark: str, line: str, seed: int, folder: Path) -> Floats:
    """Return the inner products [steps, L, M, M] of g, memory rows, z, and the parts of g_t and g_s at every step."""
    file, found = folder / f"{benchmark} {line} {seed}.npy", []
    if not file.exists():
        for run, step in steps_of_second_task(RunConfig(benchmark=benchmark, seed=seed, **RUN, **TRAINED[line])):
            parts = [g for task in (1, 0) for g in gradients_on_parts(run, task, step)]
            rows = memory_rows(run.learner.network, run.learner.memory(SPLITS))  # type: ignore[arg-type]
            taken = run.learner.observe(1, step, run._images(1, step))
            found.append(direction.grams([taken.g, *rows, taken.z, *parts]))
        np.save(file, np.array(found) if line == "GEM" else np.sum(found, axis=1, keepdims=True))
    return np.asarray(np.load(file))


def cpu_times(rounds: int = 30) -> list[dict[int, float]]:
    """Return the median CPU milliseconds of a probed step, and of a recorded one, for each number of parts."""
    run, _ = next(steps_of_second_task(RunConfig(benchmark=BENCHMARKS[1], snap_splits=SPLITS, **RUN)))
    taken = run.learner.observe(1, 0, run._images(1, 0))
    times: list[dict[int, list[float]]] = [{}, {}]
    for step, parts, snap in product(range(rounds), {design.parts for design in DESIGNS}, (0, 1)):
        changes = {"probe_every": 1, "probe_samples": parts * IMAGES // PARTS, "snap_every": snap}
        config = run.evaluation.config = run.config.model_copy(update=changes)
        start = process_time()
        measurement = probes.prepare(config, run.learner, run.evaluation, 1, step)
        for event in measurement.events(1, step, taken) if measurement else ():
            if isinstance(event, Snapped):
                packed(event)
        times[snap].setdefault(parts, []).append(1000 * (process_time() - start))
    return [{parts: median(values) for parts, values in found.items()} for found in times]


def of_trained(gram: Floats) -> Floats:
    """Return ⟨g_s,z⟩/‖z‖ and ⟨g_t,z⟩/‖z‖ [2, steps, parts] of a run at its own steps."""
    with_z = gram.sum(axis=1)[:, FIRST - 1]
    unit = with_z[:, FIRST:] / np.sqrt(with_z[:, FIRST - 1 : FIRST])
    return np.asarray(unit.reshape(STEPS, 2, PARTS).swapaxes(0, 1)[::-1])


def at_recorded(benchmark: str, gram: Floats) -> Floats:
    """Return ⟨g_s,z⟩/‖z‖ and ⟨g_t,z⟩/‖z‖ [2, lines, strengths, steps, parts] of all lines at the steps of GEM."""
    info = RunConfig(benchmark=benchmark).benchmark_info
    layers = tuple(networks.layers("mlp", info.shape, info.classes))
    strengths = strength_grid([Recording("", layers, (), used={"strength": RUN["strength"]})])
    settings = [Restriction(strength=float(q), **fields) for fields in RECORDED.values() for q in strengths]
    sizes, found = np.full((STEPS, 1, SPLITS), RUN["memory"] // SPLITS), []
    for part in range(FIRST, FIRST + PARTS):
        chosen = [0, part, part + PARTS, *range(1, 1 + SPLITS)]
        steps = Steps("", 1, layers, "random", gram[:, :, chosen][..., chosen], sizes, np.arange(STEPS))
        found.append(np.stack(answers(steps, settings).on_axes("unit", 0)[:2]))
    return np.stack(found, axis=-1).reshape(2, len(RECORDED), len(strengths), STEPS, PARTS)


def trained_differences(values: Floats, steps: slice, parts: slice) -> Floats:
    """Return differences from GEM [2 · lines, seeds], in percent of its mean, of values [2, lines, seeds, steps, parts]."""
    means, level = values[..., steps, parts].mean(axis=(-2, -1)), values[:, 0].mean(axis=(-3, -2, -1))
    return np.asarray(100 * (means[:, 1:] - means[:, :1]) / level[:, None, None]).reshape(-1, len(SEEDS))


def recorded_differences(values: list[Floats], steps: slice, parts: slice) -> Floats:
    """Return differences from GEM in ⟨g_t,z⟩ at equal ⟨g_s,z⟩ [lines, seeds] in percent, like `line_difference`."""
    curves = [np.moveaxis(of_seed[..., steps, parts].mean(axis=(-2, -1)), 0, -1) for of_seed in values]
    found = np.array([[curve_difference(line, GEM)[::2] for line in lines] for GEM, *lines in curves])
    return np.asarray(100 * found[..., 0] / np.nanmean(found[..., 1], axis=0)).T


def errors(differences: Any, design: Design) -> tuple[Floats, Floats, float]:
    """Return of each comparison the variance of its mean over seeds, and the mean squared error against the truth.

    The truth are all images at every step. The third value is the share of the seeds without a common range.
    """
    truth, found = differences(slice(None), slice(None)), np.array([differences(*draw) for draw in design.draws()])
    variances = np.nanmean(np.nanvar(found, axis=2, ddof=1), axis=0) / len(SEEDS)
    return variances, np.nanmean((found - truth) ** 2, axis=(0, 2)), float(np.isnan(found).mean())


def table_rows(benchmarks: list[Any], milliseconds: dict[int, float]) -> dict[Design, str]:
    """Return a row per design; `benchmarks` has a function of steps and parts that returns differences for each."""
    found = {design: list(zip(*(errors(one, design) for one in benchmarks), strict=True)) for design in DESIGNS}
    of_all = np.array([np.concatenate(found[design][0]) for design in ALL_IMAGES]).T  # [comparisons, EVERY]
    rows = {}
    for design, (variances, squares, unknown) in found.items():
        every = design.every * milliseconds[PARTS] / milliseconds[design.parts]  # all images at equal cost
        at_equal_cost = [np.interp(every, EVERY, line) for line in of_all]
        ratio = np.exp(np.log(np.concatenate(variances) / at_equal_cost).mean() / 2)
        shown = f"{ratio:.2f}" if every <= max(EVERY) else MISSING
        numbers = (f"{np.sqrt(np.mean(values)):.2f}" for values in (variances, squares))
        cost = f"{milliseconds[design.parts] * STEPS / design.every:,.0f}"
        rows[design] = f"{cost} | {' | '.join(numbers)} | {shown} | {100 * np.mean(unknown):.0f} %"
    return rows


def length_row(grams: list[Floats], size: int) -> str:
    """Return by how much ‖g_s‖, ‖g_t‖ and the cosines change with so many parts, in percent: means over the runs of GEM."""
    changes = []
    for gram, start in product((gram.sum(axis=1) for gram in grams), (FIRST + PARTS, FIRST)):
        parts = slice(start, start + PARTS)
        blocks = gram[:, parts, parts].reshape(STEPS, PARTS // size, size, PARTS // size, size)
        lengths, whole = np.sqrt(np.einsum("naiaj->na", blocks)) / size, np.sqrt(blocks.mean(axis=(1, 2, 3, 4)))
        unit = gram[:, FIRST - 1, parts] / np.sqrt(gram[:, FIRST - 1, FIRST - 1])[:, None]
        cosines = unit.reshape(STEPS, -1, size).mean(axis=2) / lengths
        changes.append([(lengths.mean(1) / whole).mean(), cosines.mean() / (unit.mean(1) / whole).mean()])
    means = 100 * (np.reshape(changes, (-1, 2, 2)).mean(axis=0).T.ravel() - 1)
    return f"| {size * IMAGES // PARTS:,} | {' | '.join(f'{value:+.1f} %' for value in means)} |".replace("-", "−")


def main() -> None:
    folder, trained, recorded, along_GEM = Path(sys.argv[1]), list[Any](), list[Any](), list[Floats]()
    for benchmark in BENCHMARKS:
        grams = [[measure(benchmark, line, seed, folder) for seed in SEEDS] for line in TRAINED]
        own = np.array([[of_trained(gram) for gram in of_line] for of_line in grams])  # [lines, seeds, 2, steps, parts]
        trained.append(partial(trained_differences, np.moveaxis(own, 2, 0)))
        recorded.append(partial(recorded_differences, [at_recorded(benchmark, gram) for gram in grams[0]]))
        along_GEM += grams[0]
    times, columns = cpu_times(), " CPU ms | standard error | error | at equal CPU | unknown |"
    print(f"| images | every |{2 * columns}\n{'|---' * 12}|")
    rows = [table_rows(use, milliseconds) for use, milliseconds in zip((trained, recorded), times, strict=True)]
    for design in DESIGNS:
        print(f"| {design.parts * IMAGES // PARTS:,} | {design.every} | {' | '.join(of_use[design] for of_use in rows)} |")
    print("\n| images | ‖g_s‖ | ‖g_t‖ | cosine of g_s and z | of g_t and z |\n|---|---|---|---|---|")
    print("\n".join(length_row(along_GEM, size) for size in (1, 2, 5)))


if __name__ == "__main__":
    main()
