"""Every random draw of a run is a function of its seed, its purpose and where in the run it happens.

Nothing carries random state from one step to the next, so a resumed run draws what the undisturbed one drew.
"""

import zlib

import numpy as np


def rng(seed: int, purpose: str, *position: int) -> np.random.Generator:
    """The generator for one purpose at one position (task, step, …) of the run with this seed."""
    return np.random.default_rng([zlib.crc32(purpose.encode()), seed, *position])
