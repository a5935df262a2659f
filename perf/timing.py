"""Timings on a noisy machine: everything interleaved, the best of several rounds, and only ratios to be trusted."""

from collections.abc import Callable, Mapping
from time import perf_counter

import torch

torch.set_num_threads(1)


def best_of(
    rounds: int, work: Mapping[str, Callable[[], object]], clock: Callable[[], float] = perf_counter
) -> dict[str, float]:
    """Seconds of each piece of work: the best of `rounds`, taken in turns."""
    best = dict.fromkeys(work, float("inf"))
    for call in work.values():
        call()
    for _ in range(rounds):
        for name, call in work.items():
            start = clock()
            call()
            best[name] = min(best[name], clock() - start)
    return best


def show(title: str, best: Mapping[str, float], ratios: Mapping[str, tuple[str, str, str]]) -> None:
    """`ratios`: name → (numerator, denominator, what it should be)."""
    print(title)
    for name, seconds in best.items():
        print(f"  {name:<28} {1000 * seconds:8.2f} ms")
    for name, (above, below, target) in ratios.items():
        print(f"  {name:<28} {best[above] / best[below]:8.2f}    {target}")
    print()
