"""Checks with torch: its build and devices, and how fast this machine takes steps, compared with what is expected of it."""

from collections.abc import Iterator
from statistics import median
from time import monotonic, process_time
from typing import Any

import torch

from mgem_core.analysis.machine import slowness
from mgem_core.config import RunConfig
from mgem_core.config.reference_speeds import reference_speeds
from mgem_core.doctor.check import Check
from mgem_core.doctor.noise import learner_on_noise
from mgem_core.gradients.devices import torch_threads

BATCHES = {"mlp": 256, "conv-small": 64, "conv5": 10}  # images per step of plain SGD
SECONDS, LEAST_STEPS = 1.0, 4  # for each network; the first step does not count
SLOW = 3.0  # times the expected time; other processes that use the memory can cost half as much again


def check_torch() -> Iterator[Check]:
    """Name the build of torch and the devices that it can use."""
    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    has_mkl = torch.backends.mkl.is_available()
    details = {"cuda": torch.version.cuda, "gpus": gpus, "mkl": has_mkl}
    built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"
    yield Check("torch", f"{built}; it finds {', '.join(gpus) or 'no GPU'}", details=details)


def check_speed() -> Iterator[Check]:
    """Time steps of three networks on one core, in CPU time, so that other processes hardly matter."""
    times = {network: measure_step(network, size) for network, size in BATCHES.items()}
    expected = {network: expected_seconds(network, size) for network, size in BATCHES.items()}
    ratios = {network: times[network] / expected[network] for network in BATCHES}
    measured = ", ".join(f"{name} {1000 * times[name]:.3g} ({1000 * expected[name]:.3g})" for name in BATCHES)
    relative = slowness()
    finding = f"ms per step (expected): {measured}; numpy takes {relative:.2f} of the reference machine's time"
    slow = [name for name, ratio in ratios.items() if ratio > SLOW]
    advice = f"torch is slow ({', '.join(slow)}): try again on an idle computer, or install another build of torch"
    details: dict[str, Any] = {"slowness": relative}
    for name, size in BATCHES.items():
        details[name] = {"batch": size, "ms": 1000 * times[name], "expected_ms": 1000 * expected[name]}
    yield Check("speed", finding, advice if slow else "", details=details)


def expected_seconds(network: str, size: int) -> float:
    """Return the time of a step on the reference machine, scaled to the speed at which this one computes with numpy."""
    speed = reference_speeds()[network]
    return slowness() * (speed.seconds_per_pass + size * speed.seconds_per_sample)


def measure_step(network: str, size: int) -> float:
    """Return the median CPU time of a step of plain SGD."""
    benchmark = reference_speeds()[network].benchmark
    fields = {"tasks": 1, "iterations": 1, "batch_size": size, "lr": 1e-6}
    config = RunConfig(benchmark=benchmark, network=network, method="single", **fields)
    with torch_threads(1):
        learner, times, start = learner_on_noise(config, torch.device("cpu")), list[float](), monotonic()
        while monotonic() - start < SECONDS or len(times) < LEAST_STEPS:
            before = process_time()
            learner.observe(0, 0, learner.stream.tasks[0].train)
            times.append(process_time() - before)
    return median(times[1:])
