"""Solve thousands of random degenerate problems: is z always finite and feasible, and how often does the solver retry?"""

import argparse
from collections import Counter

import numpy as np
import torch

from mgem_core.restriction.direction import project
from mgem_core.restriction.restriction import StrengthKind


def degenerate_rows(rng: np.random.Generator, P: int) -> np.ndarray:
    """Return up to 200 rows, some with zeros, duplicates, near-duplicates, opposites, scales of 1e±8 or low rank."""
    C = int(rng.choice([1, 2, 3, 5, 10, 40, 200], p=[0.15, 0.2, 0.2, 0.2, 0.15, 0.07, 0.03]))
    G = rng.normal(size=(C, P))
    if rng.random() < 0.3:  # all rows in a low-dimensional space
        basis = rng.normal(size=(int(rng.integers(1, 4)), P))
        G = rng.normal(size=(C, len(basis))) @ basis
    for c in range(C):
        change = rng.choice(["none", "zero", "duplicate", "near", "opposite", "scale"], p=[0.5, 0.08, 0.1, 0.1, 0.1, 0.12])
        other = G[int(rng.integers(C))]
        if change == "zero":
            G[c] = 0
        elif change == "duplicate":
            G[c] = other
        elif change == "near":
            G[c] = other + 10.0 ** rng.integers(-9, -3) * rng.normal(size=P)
        elif change == "opposite":
            G[c] = -other
        elif change == "scale":
            G[c] *= 10.0 ** rng.uniform(-8, 8)
    return G


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    counts: Counter[str] = Counter()
    worst = 0.0
    for _ in range(options.cases):
        P = int(rng.choice([1, 2, 10, 100]))
        dtype = torch.float32 if rng.random() < 0.5 else torch.float64
        G = torch.from_numpy(degenerate_rows(rng, P)).to(dtype)
        g = torch.from_numpy(rng.normal(size=P) * 10.0 ** rng.uniform(-8, 8)).to(dtype)
        kind: StrengthKind = "margin" if rng.random() < 0.2 else "dual-floor"
        strength = float(rng.choice([0.0, 0.5]))
        cut = int(rng.integers(P))
        d = project(g, G, [slice(0, cut), slice(cut, P)] if cut else [slice(0, P)], strength, kind, trigger="always")
        counts["finite"] += bool(torch.isfinite(d.z).all() and np.isfinite(d.v).all())
        counts["retried"] += d.retries > 0
        counts["retries"] += d.retries
        if strength == 0.0 and dtype == torch.float64:
            lengths = G.norm(dim=1) * torch.maximum(d.z.norm(), g.norm())
            against = (-(G @ d.z) / lengths.clamp_min(1e-300)).max()
            worst = max(worst, float(against))
    print(f"{options.cases} cases: {counts['finite']} with a finite z; the exact solver had to retry in", end=" ")
    print(f"{counts['retried']} of them, {counts['retries']} times in all.")
    print(f"Worst cosine of z against a memory row, at strength 0 in float64: {worst:.1e}")


if __name__ == "__main__":
    main()
