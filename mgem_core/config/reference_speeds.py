"""Speeds of all networks on a reference machine, with which durations are estimated before anything has been trained.

`perf/reference_speeds.py` measures them and writes `reference_speeds.json`.
"""

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from mgem_core import networks
from mgem_core.config import RunConfig
from mgem_core.learners import shares_network
from mgem_core.streams import BENCHMARKS

FILE = Path(__file__).with_suffix(".json")
UNKNOWN_PASS, UNKNOWN_TEST = 10.0, 0.5  # samples; for networks that are not in the file


class ReferenceSpeed(NamedTuple):
    benchmark: str  # whose images were used
    seconds_per_sample: float  # forward and backward pass, in a batch
    seconds_per_pass: float  # added by each pass, however many samples it has
    seconds_per_test: float  # forward pass of a test image

    @property
    def samples_per_pass(self) -> float:
        """The overhead of a pass as a number of samples."""
        return self.seconds_per_pass / self.seconds_per_sample


@lru_cache(maxsize=1)
def reference_speeds() -> dict[str, ReferenceSpeed]:
    """Return the speed of each network on the reference machine, on one core while the others work, too."""
    return {name: ReferenceSpeed(**values) for name, values in json.loads(FILE.read_text())["networks"].items()}


@lru_cache(maxsize=1)
def reference_computation() -> float:
    """Return the seconds of `analysis.machine.computation` on the reference machine."""
    return float(json.loads(FILE.read_text())["computation"])


def pass_work(network: str) -> float:
    """Return the overhead of a pass through a network, as a number of samples of its reference benchmark."""
    speed = reference_speeds().get(network)
    return speed.samples_per_pass if speed else UNKNOWN_PASS


def evaluation_work(network: str) -> float:
    """Return the cost of testing one image, as a number of samples."""
    speed = reference_speeds().get(network)
    return speed.seconds_per_test / speed.seconds_per_sample if speed else UNKNOWN_TEST


def sample_work(config: RunConfig) -> float:
    """Return the cost of one sample of a run, relative to one of the network's reference benchmark."""
    tasks = 1 if shares_network(config.method) else config.tasks
    return _relative_size(config.network, config.benchmark, tasks)


@lru_cache(maxsize=1000)
def _relative_size(network: str, benchmark: str, tasks: int) -> float:
    """Compare the work of a sample with that of the reference: it grows with the pixels of convolutions, or the weights.

    Tasks that share no network have narrower ones (`Learner.__init__`).
    """
    if network not in reference_speeds():
        return 1.0
    reference = BENCHMARKS[reference_speeds()[network].benchmark]
    here = BENCHMARKS[benchmark]
    whole = _weights(network, reference.shape, reference.classes, 1.0)
    width = _weights(network, reference.shape, reference.classes, 1 / tasks) / whole
    if networks.has_convolutions(network, reference.shape, reference.classes):
        return width * math.prod(here.shape[1:]) / math.prod(reference.shape[1:])
    return width * _weights(network, here.shape, here.classes, 1.0) / whole


def _weights(network: str, shape: networks.Shape, classes: int, width: float) -> int:
    return sum(layer.size for layer in networks.layers(network, shape, classes, width))
