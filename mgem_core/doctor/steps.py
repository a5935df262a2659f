"""The same steps of a method on two devices: how far apart they are, how fast each is, and what it asks of its device."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from mgem_core.config import RunConfig
from mgem_core.doctor.noise import learner_on_noise

if TYPE_CHECKING:
    from mgem_core.learners._learner import Step

WARM_UP = 3  # steps that do not count for the speed
PROFILED = 1  # steps of which operations are counted; all are alike
Precision = Literal["fp32", "tf32", "bf16"]  # tf32: products on CUDA are rounded where torch allows it


@dataclass(frozen=True)
class Role:
    device: torch.device
    precision: Precision = "fp32"


@dataclass
class Taken:
    """Steps that a learner has taken in one of the two roles."""

    role: Role
    config: RunConfig
    seconds: list[float] = field(default_factory=list)
    passing_bytes: int = 0  # of GPU memory, needed only during a step

    def __post_init__(self) -> None:
        before = _allocated(self.role.device)
        precision = "bf16" if self.role.precision == "bf16" else "fp32"
        config = self.config.model_copy(update={"precision": precision})
        self.learner = learner_on_noise(config, self.role.device)
        self.lasting_bytes = _allocated(self.role.device) - before

    def take(self, step: int) -> Step:
        task, size = self.config.tasks - 1, self.config.batch_size
        images = self.learner.stream.tasks[task].train[step * size : (step + 1) * size]
        before = _allocated(self.role.device)
        with nullcontext() if self.role.precision == "tf32" else unrounded_products():
            start = perf_counter()
            taken = self.learner.observe(task, step, images)
            synchronize(self.role.device)
            self.seconds.append(perf_counter() - start)
        self.passing_bytes = max(self.passing_bytes, _peak(self.role.device) - before)
        return taken

    def document(self) -> dict[str, Any]:
        """Return the speed, the counts of operations and the peak memory as plain data."""
        device, seconds = self.role.device, median(self.seconds[WARM_UP:] or self.seconds)
        shown: dict[str, Any] = {"device": str(device), "steps_per_second": float(f"{1 / seconds:.4g}")}
        if device.type == "cuda":
            shown["peak_mb"] = (self.lasting_bytes + self.passing_bytes) / 1e6
        return {**shown, **count_operations(lambda: self.take(0), device)}


def compare(config: RunConfig, first: Role, second: Role, steps: int) -> dict[str, Any]:
    """Take the same steps in both roles; return their differences, and what was measured of each role.

    Before every step, the second network gets the parameters of the first. Otherwise, rounding errors would grow from step
    to step: on conv5, by a factor of 100,000 in 20 steps, also on one device.
    """
    roles = Taken(first, config), Taken(second, config)
    differences, loss_differences = [], []
    for step in range(steps):
        roles[1].learner.networks.load_state_dict(roles[0].learner.networks.state_dict())
        one, other = (taken.take(step) for taken in roles)
        differences.append(relative_difference(one.z, other.z))
        loss_differences.append(relative_difference([one.loss], [other.loss]))
    return {
        "difference": _largest(differences),  # of z, relative to its length, in the step where it is largest
        "loss_difference": _largest(loss_differences),
        "first": roles[0].document(),
        "second": roles[1].document(),
    }


def relative_difference(first: Sequence[Tensor], second: Sequence[Tensor]) -> float:
    """Return ‖first − second‖ / ‖first‖ of two vectors, which are given as tensors, on any devices."""
    one, other = (torch.cat([part.detach().cpu().double().flatten() for part in parts]) for parts in (first, second))
    length = float(torch.linalg.vector_norm(one))
    apart = float(torch.linalg.vector_norm(one - other))
    return apart / length if length else apart


def count_operations(step: Callable[[], object], device: torch.device) -> dict[str, float | None]:
    """Count what a step asks of its device, with torch's profiler.

    On CUDA, these are the kernels that it launches and the copies between host and device. Elsewhere there are none, and
    the operators of torch that it calls are counted, without those that other operators call.
    """
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # otherwise the profiler writes to stderr
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device.type == "cuda" else [])]
    with profile(activities=activities) as profiled:
        for _ in range(PROFILED):
            step()
        synchronize(device)
    events = list(profiled.events())
    if device.type == "cuda":
        return count_on_gpu([event.name for event in events if event.device_type.name == "CUDA"], PROFILED)
    operators = [event for event in events if event.name.startswith("aten::")]
    outer = [event for event in operators if not (event.cpu_parent and event.cpu_parent.name.startswith("aten::"))]
    return {"operators_per_step": len(outer) / PROFILED}


def count_on_gpu(names: Sequence[str], steps: int) -> dict[str, float | None]:
    """Count launches and copies per step, from the names of everything that ran on the GPU; None if it is not known."""
    to_host = sum(name.startswith("Memcpy DtoH") for name in names)
    to_device = sum(name.startswith("Memcpy HtoD") for name in names)
    launches = sum(not name.startswith(("Memcpy", "Memset")) for name in names)
    counted = {"launches": launches, "copies_to_host": to_host, "copies_to_device": to_device}
    return {f"{name}_per_step": number / steps if names else None for name, number in counted.items()}


def synchronize(device: torch.device) -> None:
    """Wait until the device has computed everything."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def _allocated(device: torch.device) -> int:
    """Return the bytes of GPU memory that tensors take; the peak is measured from here on."""
    if device.type != "cuda":
        return 0
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_allocated(device)


def _peak(device: torch.device) -> int:
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0


def _largest(differences: Sequence[float]) -> float:
    """Return the largest number; NaN if any is NaN, which `max` may overlook."""
    return float(torch.tensor(differences, dtype=torch.float64).max())


@contextmanager
def unrounded_products() -> Iterator[None]:
    """Let no product on CUDA round its inputs to TF32; by default, torch allows that in convolutions."""
    convolutions, matrices = torch.backends.cudnn, torch.backends.cuda.matmul
    before = convolutions.allow_tf32, matrices.allow_tf32
    convolutions.allow_tf32 = matrices.allow_tf32 = False
    try:
        yield
    finally:
        convolutions.allow_tf32, matrices.allow_tf32 = before
