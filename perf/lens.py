"""Speed of the lens: 1,000 configurations at 100 snapshots, the best partition, and the cost of recording."""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mgem_core.events import Snapped
from mgem_core.learners.gem import GEM
from mgem_core.lens.answers import answers
from mgem_core.lens.steps import Steps
from mgem_core.networks._layer import Layer
from mgem_core.restriction.restriction import Restriction
from mgem_core.store.recording import packed
from mgem_core.training import probes
from mgem_core.training.evaluation import Evaluation
from perf.setting import gem
from perf.timing import Ratio, best_of, ratio, save, save_ratios, show, take_turns

SNAPSHOTS, TENSORS = 100, 9
STRENGTHS = [0.0, *np.geomspace(0.01, 30, 27).tolist()]


def drawn_steps(past: int, splits: int) -> Steps:
    """Draw random gradients of 9 tensors, one per layer, that agree or disagree with the memory."""
    rng = np.random.default_rng(0)
    M = 2 + past + past * splits
    shared = rng.normal(size=(SNAPSHOTS, TENSORS, 1, 40)) * rng.normal(size=(SNAPSHOTS, TENSORS, M, 1))
    vectors = shared + rng.normal(size=(SNAPSHOTS, TENSORS, M, 40))
    sizes = np.full((SNAPSHOTS, past, splits), 42)
    layers = tuple(Layer(f"l{i}", {"weight": (40,)}) for i in range(TENSORS))
    return Steps("drawn", past, layers, "random", vectors @ vectors.swapaxes(2, 3), sizes, np.arange(SNAPSHOTS))


def measure_answers(rounds: int) -> dict[str, float]:
    """Return CPU seconds, the best of several rounds."""
    work: dict[str, Callable[[], object]] = {}
    for past, splits in ((1, 6), (2, 6), (4, 4)):
        steps = drawn_steps(past, splits)
        settings = [
            Restriction(modules, k, q, trigger=trigger)
            for trigger in ("always", "violation")
            for modules in range(1, TENSORS + 1)
            for k in range(1, splits + 1)
            if splits % k == 0
            for q in STRENGTHS
        ][:1000]
        rows = f"{past} × {splits} memory rows"
        work[f"{len(settings)} configurations, {rows}"] = partial(answers, steps, settings)
    return best_of(rounds, work)


def measure_recording(rounds: int) -> list[Ratio]:
    """Compare a probed step with and without a snapshot, including its packing for the store."""
    ratios = []
    settings: list[tuple[str, int, dict[str, Any]]] = [
        ("mlp, 1 past task", 1, {}),
        ("mlp, 4 past tasks", 4, {}),
        ("mlp, 4 past tasks, 6 splits", 4, {"snap_splits": 6}),
        ("conv-small, 1 past task, 2 splits", 1, {"network": "conv-small", "snap_splits": 2}),
    ]
    for name, past, fields in settings:
        work = {}
        for snap_every in (0, 1):
            one = gem(past, probe_every=1, snap_every=snap_every, **fields)
            work["snap" if snap_every else "probe"] = partial(_measured_step, one, Evaluation(one.config, one.stream), past)
        seconds = take_turns(rounds, work)
        ratios.append(ratio(f"recorded / probed step, {name}", seconds["snap"], seconds["probe"], 1.15))
    return ratios


def _measured_step(one: GEM, evaluation: Evaluation, task: int) -> None:
    measurement = probes.prepare(one.config, one, evaluation, task, 0)
    assert measurement is not None
    step = one.observe(task, 0, one.stream.tasks[task].train[-10:])
    for event in measurement.events(task, 0, step):
        if isinstance(event, Snapped):
            packed(event)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    seconds = measure_answers(rounds)
    print(f"\nThe lens: CPU seconds for {SNAPSHOTS} snapshots of {TENSORS} tensors (wanted: 1,000 configurations in 1 s)")
    for name, value in seconds.items():
        print(f"  {name:<44} {value:6.3f}")
    ratios = measure_recording(rounds)
    show("Recording snapshots at steps that are probed anyway", ratios)
    save("lens", seconds)
    save_ratios("recording", ratios)


if __name__ == "__main__":
    main()
