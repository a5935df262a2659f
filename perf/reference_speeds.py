"""Measure each network and write `mgem_core/config/reference_speeds.json`, from which durations are estimated.

    python -m perf.reference_speeds            # all networks, about two minutes
    python -m perf.reference_speeds NETWORK    # only this one, scaled to the machine that measured the others

Times are CPU times of SGD steps and tests of one thread on real images, the median of several rounds. Each round also times
the computation with which machines are compared, so that it does not matter how busy this one is.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import median
from time import monotonic, process_time
from typing import Any

import numpy as np
import torch

from mgem_core import RunConfig, learners
from mgem_core.analysis.machine import computation, measure_computation
from mgem_core.config.reference_speeds import FILE, ReferenceSpeed
from mgem_core.training.evaluation import Evaluation

torch.set_num_threads(1)

# The benchmark of each network, and the larger of two batches: about as many images as the benchmark's memory of a task.
MEASURED = {
    "mlp": ("mnist5k-permutations", 256),
    "conv-small": ("mnist5k-split", 64),
    "digits-cnn": ("digit-five", 64),
    "conv5": ("split-cifar100", 64),
    "domain-cnn": ("pacs", 32),
    **dict.fromkeys(("alexnet", "resnet18", "vgg11-bn", "vgg16-bn"), ("split-cifar100-10", 32)),
}
SECONDS, LEAST_ROUNDS = 8.0, 4  # for each network; the first round does not count
TESTED = 200  # test images


def measure(network: str, reference: float) -> ReferenceSpeed:
    """Time steps with one image and with many, and a test, on a machine that takes `reference` for the computation."""
    benchmark, many = MEASURED[network]
    config = RunConfig(benchmark=benchmark, network=network, method="single", tasks=2, lr=1e-6, probe_every=0)
    stream = config.open_stream()
    learner, draw = learners.create(config, stream, torch.device("cpu")), np.random.default_rng(0)
    stream.tasks[0] = replace(stream.tasks[0], test=stream.tasks[0].test[:TESTED])
    tests = Evaluation(config, stream)

    def step(size: int) -> None:
        learner.observe(0, 0, draw.choice(stream.tasks[0].train, size))

    test = partial(tests.accuracy, learner.network, 0)
    work: list[Callable[[], object]] = [computation(), partial(step, 1), partial(step, many), test]
    times: list[list[float]] = [[] for _ in work]
    start = monotonic()
    while monotonic() - start < SECONDS or len(times[0]) < LEAST_ROUNDS:
        for call, seconds in zip(work, times, strict=True):
            before = process_time()
            call()
            seconds.append(process_time() - before)
    computed, *found = (median(seconds[1:]) for seconds in times)
    one, all_of_them, tested = (seconds * reference / computed for seconds in found)
    per_sample = (all_of_them - one) / (many - 1)
    return ReferenceSpeed(benchmark, per_sample, max(0.0, one - per_sample), tested / len(stream.tasks[0].test))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", nargs="*", help="default: all")
    chosen = parser.parse_args().network
    fastest = min(measure_computation() for _ in range(5))
    known: dict[str, Any] = {"computation": float(f"{fastest:.3g}"), "networks": {}}
    if chosen:
        known = json.loads(FILE.read_text())
    for name in chosen or MEASURED:
        speed = measure(name, known["computation"])
        print(f"{name:<12}", *(f"{1000 * value:10.4f} ms" for value in speed[1:]), flush=True)
        scaled = {field: float(f"{value:.3g}") for field, value in speed._asdict().items() if field != "benchmark"}
        known["networks"][name] = {"benchmark": speed.benchmark, **scaled}
        FILE.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
