"""Random numbers: every draw of a run is a function of its seed, its purpose and its position in the run.

No random state is carried from one step to the next, so a resumed run draws the same numbers as an uninterrupted one.
"""

import zlib

import numpy as np


def rng(seed: int, purpose: str, *position: int) -> np.random.Generator:
    """Return the generator for one purpose at one position (task, step, …) of the run with this seed."""
    return np.random.default_rng([zlib.crc32(purpose.encode()), seed, *position])
