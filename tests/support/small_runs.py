"""Four small runs, and their results without training."""

import numpy as np

from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Finished

SPEC = SweepSpec(base={"tasks": 2, "iterations": 10, "memory": 20}, grid={"modules": [1, 4], "strength": [0.5, 0.9]})


def finish(store, run, acc):
    R = np.array([[90.0, 10.0], [acc, acc]])
    store.record([(run, Finished("finished", "", R, acc, 85.0, acc - 85.0, 1.5, 0.01, "abc"))])
