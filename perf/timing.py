"""Timing on a noisy machine: CPU time of work interleaved in one process. Only the ratios are reliable."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from time import process_time

import torch

torch.set_num_threads(1)

RESULTS = Path(__file__).parents[1] / "data_cache" / "perf.json"
Work = Mapping[str, Callable[[], object]]
Clock = Callable[[], float]


def take_turns(rounds: int, work: Work, turn: float = 0.05, clock: Clock = process_time) -> dict[str, list[float]]:
    """Return the seconds of each piece of work in every round, in turns, after one warm-up round.

    A turn repeats short work for about `turn` seconds, because in a run, too, a step finds the caches of the step before.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    repeats = {name: max(1, round(turn / _seconds(call, 1, clock))) for name, call in work.items()}
    for _ in range(rounds):
        for name, call in work.items():
            seconds[name].append(_seconds(call, repeats[name], clock))
    return seconds


def _seconds(call: Callable[[], object], repeats: int, clock: Clock) -> float:
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def best_of(rounds: int, work: Work, clock: Clock = process_time) -> dict[str, float]:
    return {name: min(times) for name, times in take_turns(rounds, work, clock=clock).items()}


@dataclass(frozen=True)
class Ratio:
    name: str
    minimum: float  # ratio of the best rounds
    median: float  # median of the ratios of the rounds
    quartiles: tuple[float, float]  # quartiles of the ratios of the rounds
    target: float | None = None  # the largest wanted ratio


def ratio(name: str, above: list[float], below: list[float], target: float | None = None) -> Ratio:
    """Return the ratio of two pieces of work that took turns; a single round has no spread."""
    rounds = [a / b for a, b in zip(above, below, strict=True)]
    low, _, high = quantiles(rounds, n=4) if len(rounds) > 1 else rounds * 3
    return Ratio(name, min(above) / min(below), median(rounds), (low, high), target)


def show(title: str, ratios: list[Ratio]) -> None:
    print(f"\n{title}\n{'':<58} {'minima':>6} {'median':>7} {'quartiles':>13} {'wanted':>8}")
    for one in ratios:
        low, high = one.quartiles
        wanted = "" if one.target is None else f"≤ {one.target:g}"
        print(f"{one.name:<58} {one.minimum:6.2f} {one.median:7.2f}   {low:4.2f} – {high:4.2f} {wanted:>8}", flush=True)


def save(part: str, content: object) -> None:
    """Store the results of one part of the suite in data_cache/perf.json, next to those of the others."""
    RESULTS.parent.mkdir(exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[part] = content
    RESULTS.write_text(json.dumps(results, indent=1))


def save_ratios(part: str, ratios: list[Ratio]) -> None:
    save(part, [asdict(one) for one in ratios])
