"""Compare two ways to compute memory rows of convolutions on the CPU: one pass per row, or one vmap pass for all."""

from functools import partial

import torch

from mgem_core import networks
from mgem_core.gradients.memory import Memory
from mgem_core.gradients.rows import rows_by_vmap, rows_one_by_one
from perf.timing import Ratio, ratio, save_ratios, show, take_turns


def memory(shape: networks.Shape, rows: int, samples: int) -> Memory:
    x, y = torch.rand(rows, samples, *shape), torch.randint(0, 10, (rows, samples))
    return Memory(x, y, torch.full((rows, samples), 1 / samples), (samples,) * rows, None)


def main() -> None:
    found: list[Ratio] = []
    for name, shape, rows, samples in (
        ("conv-small", (1, 28, 28), 4, 64),
        ("conv-small", (1, 28, 28), 19, 64),
        ("conv5", (3, 32, 32), 4, 8),
    ):
        network, held = networks.build(name, shape, 10, seed=0), memory(shape, rows, samples)
        ways = {"one by one": rows_one_by_one, "vmap": rows_by_vmap}
        times = take_turns(5, {way: partial(call, network, held) for way, call in ways.items()})
        found.append(ratio(f"vmap / one by one, {name}, {rows} × {samples}", times["vmap"], times["one by one"]))
    show("CPU time of all memory rows", found)
    save_ratios("rows", found)


if __name__ == "__main__":
    main()
