"""Measure the rule of significance: false positives between equal lines, and the share of true differences found.

`python -m studies.verdicts` prints the tables of docs/significance.md; it takes about ten minutes.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd

from mgem_core.analysis import paired
from mgem_core.analysis.significance import are_significant
from studies.equal_sweeps import shuffled, simulated, with_fewer_strengths

Draw = Callable[[np.random.Generator, str, int], pd.DataFrame]
SOURCES: dict[str, Draw] = {"simulated": simulated, "shuffled": shuffled}
TRIGGERS, SEEDS = ("violation", "always"), (4, 6, 8)
SWEEPS = 200
LOOKS = 4000  # simulated sweeps to which seeds are added
SHIFTS = {"violation": (5.0, 10.0, 20.0), "always": (1.0, 2.0, 5.0)}  # percent


def false_positives() -> None:
    """Print the share of sweeps of equal lines in which a line is called significantly different."""
    print("| sweeps | trigger | strengths | 4 seeds | 6 seeds | 8 seeds |\n|---|---|---|---|---|---|")
    for (source, draw), trigger, strengths in product(SOURCES.items(), TRIGGERS, ("equal", "unequal", "ACC")):
        shares = []
        for seeds in SEEDS:
            rng, found = np.random.default_rng(seeds), 0
            for _ in range(SWEEPS):
                runs = draw(rng, trigger, seeds)
                runs = with_fewer_strengths(runs) if strengths == "unequal" else runs
                runs = runs.assign(x=np.nan) if strengths == "ACC" else runs
                found += any(verdict.significant for verdict in paired.compare(runs, "GEM"))
            shares.append(f"{100 * found / SWEEPS:.1f} %")
        print(f"| {source} | {trigger} | {strengths} | {' | '.join(shares)} |", flush=True)


def power() -> None:
    """Print the share of sweeps in which a line that learns more by a given percentage is found, with two lines."""
    print("| trigger | true difference | 4 seeds | 6 seeds | 8 seeds |\n|---|---|---|---|---|")
    for trigger in TRIGGERS:
        for shift in SHIFTS[trigger]:
            shares = []
            for seeds in SEEDS:
                rng, found = np.random.default_rng(seeds), 0
                for _ in range(SWEEPS):
                    runs = shuffled(rng, trigger, seeds, lines=2)
                    level = runs.loc[runs["line"] == "GEM", "y"].abs().mean()
                    runs.loc[runs["line"] != "GEM", "y"] += shift / 100 * level
                    [verdict] = paired.compare(runs, "GEM")
                    found += verdict.significant and verdict.primary == "at_equal_x"
                shares.append(f"{100 * found / SWEEPS:.0f} %")
            print(f"| {trigger} | {shift:g} % | {' | '.join(shares)} |", flush=True)


def added_seeds() -> None:
    """Print the share of equal lines called different if seeds are added after a look, as *Add seeds* offers."""
    rng, first, second = np.random.default_rng(0), 0, 0
    for _ in range(LOOKS):
        differences = rng.normal(0, 1, 30)
        one = paired.estimate(differences[:6])
        assert one
        is_first = are_significant([one])[0]
        needed = paired.seeds_needed(one)
        looked_again = not is_first and needed is not None and 6 < needed <= 30
        again = paired.estimate(differences[: needed or 6])
        first += is_first
        second += is_first or (looked_again and are_significant([again])[0])
    print(f"6 seeds: {100 * first / LOOKS:.1f} %; with added seeds: {100 * second / LOOKS:.1f} %")


if __name__ == "__main__":
    added_seeds()
    false_positives()
    power()
