"""The device of a run, its number of threads, and the precision of forward and backward passes."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from mgem_core.errors import UsageError


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use `count` threads inside the with statement."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def pick_device(wanted: str, precision: str = "fp32") -> torch.device:
    """Return the device of that name; "auto" uses a GPU if there is one."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(wanted)
    except RuntimeError:
        raise UsageError(f"device is {wanted!r}, which torch does not know; use cpu or auto.") from None
    if device.type == "cuda" and not 0 <= (device.index or 0) < torch.cuda.device_count():  # cuda:128 has index −128
        count = torch.cuda.device_count()
        raise UsageError(f"device is {wanted!r}, but this machine has {count} CUDA devices; use cpu or auto.")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise UsageError("device is 'mps', which this machine does not have; use cpu or auto.")
    if precision == "bf16" and device.type != "cuda":
        raise UsageError(
            f"precision is 'bf16', which only CUDA devices compute, and this run is on {device.type}; use fp32."
        )
    return device


def compute_in_bf16(network: nn.Module, device: torch.device) -> None:
    """Make the forward and backward passes compute in bfloat16 where that is safe.

    Parameters and their gradients stay in float32, so Gram matrices and directions are computed in float32.
    """
    network.forward = torch.autocast(device.type, torch.bfloat16)(network.forward)
