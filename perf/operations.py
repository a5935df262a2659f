"""Count the dispatched operations and the transfers to the host of a step, on the code path for GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from mgem_core.gradients import rows
from mgem_core.restriction import direction

HOST = (torch.ops.aten._local_scalar_dense.default,)  # item(), float(), bool(), tolist() of one number


class Counter(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.operations = self.transfers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operations += 1
        self.transfers += func in HOST
        return func(*args, **(kwargs or {}))


@contextmanager
def as_on_a_gpu() -> Iterator[None]:
    """Use the code path for GPUs: rows by vmap, and products that are read together."""
    by_vmap = patch.object(rows, "autograd_rows", rows.rows_by_vmap)
    with by_vmap, patch.object(direction, "computes_all_at_once", lambda g: True):
        yield


def count(step: Callable[[], object]) -> Counter:
    """Count operations and transfers of one step on the code path for GPUs, after a first step that prepares buffers."""
    counter = Counter()

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(tensor: Tensor, *arguments: Any, **options: Any) -> Any:
            counter.transfers += 1
            return method(tensor, *arguments, **options)

        return call

    with as_on_a_gpu():
        step()
        # On the CPU these copy nothing, so no dispatched operation can be counted; on a GPU, numpy() follows cpu().
        with (
            patch.object(Tensor, "cpu", counted(Tensor.cpu)),
            patch.object(Tensor, "tolist", counted(Tensor.tolist)),
            counter,
        ):
            step()
    return counter


def main() -> None:
    from perf.setting import gem, gem_on_noise, mer, step_of
    from perf.timing import save

    print("\nDispatched operations and transfers to the host per step, on the code path for GPUs")
    counts = {}
    for past in (1, 4, 9, 19):
        counts[f"GEM, mlp, k = {past}"] = count(step_of(gem(past)))
    for past in (2, 4):
        counts[f"GEM, conv5, k = {past}"] = count(step_of(gem_on_noise("conv5", past, memory=4)))
    counts["SGD, mlp"] = count(step_of(gem(0)))
    counts["MER, mlp"] = count(step_of(mer()))
    for name, counter in counts.items():
        print(f"  {name:<24} {counter.operations:6} operations {counter.transfers:4} transfers")
    save("operations", {name: [counter.operations, counter.transfers] for name, counter in counts.items()})


if __name__ == "__main__":
    main()
