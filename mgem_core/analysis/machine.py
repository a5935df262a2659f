"""The speed of this machine, relative to the one on which `config/reference_speeds.json` was measured."""

from collections.abc import Callable
from functools import lru_cache
from time import monotonic, thread_time

import numpy as np

from mgem_core.config.reference_speeds import reference_computation

SECONDS = 0.5  # of measuring; short rounds, of which the best counts, hardly depend on what else runs
SIDE = 64  # numpy multiplies matrices of this size on one thread (OpenBLAS uses several from the next larger on)


def computation() -> Callable[[], None]:
    """Return what is timed: small matrix products and sums of long vectors, with which networks spend their time."""
    draw = np.random.default_rng(0)
    matrices = draw.standard_normal((200, SIDE, SIDE), dtype=np.float32)
    vector = draw.standard_normal(500_000, dtype=np.float32)

    def compute() -> None:
        np.matmul(matrices, matrices)
        np.maximum(vector * 0.5 + vector, 0.0)

    return compute


def measure_computation() -> float:
    """Return the best CPU seconds of the computation. Measuring takes half a second, also while runs use all cores."""
    compute, best, start = computation(), np.inf, monotonic()
    while monotonic() - start < SECONDS:
        before = thread_time()  # CPU time, because other processes may use the same cores
        compute()
        best = min(best, thread_time() - before)
    return float(best)


@lru_cache(maxsize=1)
def slowness() -> float:
    """Return how many times as long as the reference machine this one takes; measured once per process."""
    return measure_computation() / reference_computation()
