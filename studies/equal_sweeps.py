"""Sweeps of lines that do not differ: simulated, and real ones whose labels are shuffled within seeds.

`equal_sweeps.csv` has trained runs: GEM, d-mGEM(2) and d-mGEM(6) on three tasks of mnist5k-rotations (100 steps, 240
samples of memory, a tenth of the images held out) with six strengths and twelve seeds, for both triggers (`violation` with
free step length, `always` with that of the gradient).
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

FILE = Path(__file__).with_name("equal_sweeps.csv")
STRENGTHS = [0.0, 0.1, 0.3, 1.0, 3.0, 10.0]
FEWER = [0.0, 0.3, 3.0]


@cache
def real_sweep(trigger: str) -> pd.DataFrame:
    """Return one row per run of the GEM family with this trigger, as `aggregate.runs_to_compare` does."""
    runs = pd.read_csv(FILE)
    return runs[runs["trigger"] == trigger].drop(columns="trigger").assign(is_finished=True).reset_index(drop=True)


def shuffled(rng: np.random.Generator, trigger: str, seeds: int, lines: int = 3) -> pd.DataFrame:
    """Return a real sweep with some of its seeds, in which the lines of every seed are exchanged at random."""
    runs = real_sweep(trigger)
    names = np.array(list(dict.fromkeys(runs["line"]))[:lines])
    chosen = rng.choice(runs["seed"].unique(), seeds, replace=False)
    runs = runs[runs["line"].isin(names) & runs["seed"].isin(chosen)]
    labels = np.stack([rng.permutation(names) for _ in chosen])  # [seeds, lines]
    line = labels[pd.factorize(runs["seed"])[0], pd.Index(names).get_indexer(runs["line"])]
    return runs.assign(line=line, label=line)


def simulated(rng: np.random.Generator, trigger: str, seeds: int, lines: int = 3) -> pd.DataFrame:
    """Return a sweep of equal lines with normal noise: with the trigger violation, as large as the effect of a strength."""
    noise = 0.3 if trigger == "violation" else 0.02
    names = ["GEM", *(f"line {number}" for number in range(2, lines + 1))]
    rows = []
    for seed in range(seeds):
        of_seed = rng.normal(0, 0.5, 3)
        for line in names:
            for q in STRENGTHS:
                a, b, c, d = rng.normal(0, noise, 4)
                x = np.log1p(q) + of_seed[0] + a
                y = 3 - 0.1 * (np.log1p(q) - 1) ** 2 + of_seed[1] + b
                acc = 80 - (np.log1p(q) - 1) ** 2 + of_seed[2] + 5 * c
                bwd = -5 + np.log1p(q) + d
                rows.append((line, line, q, seed, True, x, y, x, y, acc, acc - bwd, bwd, acc + rng.normal(0, 1)))
    columns = ["line", "label", "q", "seed", "is_finished", "x", "y", "x_other", "y_other", "acc", "fwd", "bwd"]
    return pd.DataFrame(rows, columns=[*columns, "validation_acc"])


def with_fewer_strengths(runs: pd.DataFrame) -> pd.DataFrame:
    """Leave out strengths of all lines but the baseline."""
    return runs[(runs["line"] == "GEM") | runs["q"].isin(FEWER)]
