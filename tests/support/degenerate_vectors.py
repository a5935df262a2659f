"""Vectors that make dual problems hard."""

import numpy as np


def make_degenerate(kind: str, vectors: np.ndarray) -> np.ndarray:
    """Return vectors [n, P], all moved close to the first, or with the middle one equal, opposite or zero."""
    n = len(vectors)
    if kind == "nearly parallel":
        return vectors[:1] + 0.1 * vectors
    if kind in ("duplicate", "opposite", "zero"):
        vectors[n // 2] = {"duplicate": 1, "opposite": -1, "zero": 0}[kind] * vectors[0]
    return vectors
