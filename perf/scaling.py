"""Measure how a restricted GEM step on the MLP grows with tasks, modules, splits and parameters; draw performance.svg."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mgem_core import networks
from mgem_core.gradients.memory import pack
from mgem_core.gradients.rows import rows_and_batch
from mgem_core.restriction import direction, partition
from mgem_core.restriction.restriction import Restriction
from mgem_core.streams._stream import Batch
from perf.setting import DIGITS, gem
from perf.timing import save, take_turns

PICTURE = Path(__file__).parents[1] / "docs" / "performance.svg"
TASKS, SAMPLES = 9, 256  # defaults
POINTS = {
    "tasks": (1, 2, 4, 9, 19, 39),
    "modules": (1, 2, 3, 4, 6),
    "splits": (1, 2, 4, 8, 16),
    "width": (0.25, 0.5, 1, 2, 4),  # factor of the width of the hidden layers
}
LABELS = {
    "tasks": "past tasks k",
    "modules": f"modules D, k = {TASKS}",
    "splits": f"splits K, k = {TASKS}",
    "width": f"parameters P, k = {TASKS}",
}


def make_step(
    past: int = TASKS, modules: int = 1, splits: int = 1, width: float = 1
) -> tuple[Callable[[], object], int, int]:
    """Return a restricted step, the number of parameters, and the bytes that persist between steps."""
    network = networks.build("mlp", (1, 28, 28), 10, seed=0, width=width)
    one = gem(past)
    images = [part for images in one.remembered for part in _split(images, splits)]
    tasks = [task for task in range(past) for _ in range(splits)]
    memory = pack([one.stream.batch(task, part) for task, part in zip(tasks, images, strict=True)])
    rows = rows_and_batch(network, memory)
    module_of = partition.modules(networks.layers("mlp", (1, 28, 28), 10, width), modules)
    slices = direction.module_slices([p.numel() for p in network.parameters()], module_of)
    restriction = Restriction(strength=0.5, trigger="always")
    batch = one.stream.batch(past, one.stream.tasks[past].train[-10:])

    def step() -> Tensor:
        _, g, G = rows(batch)
        return direction.update_direction(g, G, direction.solve(g, G, slices, restriction).v, slices)

    step()
    return step, sum(p.numel() for p in network.parameters()), _persistent_bytes(rows, batch)


def _split(images: Any, splits: int) -> list[Any]:
    return [images[start::splits] for start in range(splits)]


def _persistent_bytes(rows: object, batch: Batch) -> int:
    """Return the bytes of all tensors that the object holds, counting each storage once."""
    held = [value for value in vars(rows).values() for value in (value if isinstance(value, list | tuple) else [value])]
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in held if isinstance(t, Tensor)}
    return sum(storages.values())


def measure(name: str, rounds: int) -> dict[str, list[float]]:
    made = {value: make_step(**{"past" if name == "tasks" else name: value}) for value in POINTS[name]}  # type: ignore[arg-type]
    times = take_turns(rounds, {str(value): step for value, (step, _, _) in made.items()})
    return {
        "x": [parameters if name == "width" else value for value, (_, parameters, _) in made.items()],
        "milliseconds": [1000 * min(values) for values in times.values()],
        "megabytes": [size / 1e6 for _, _, size in made.values()],
    }


def draw(curves: dict[str, dict[str, list[float]]]) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 4, figsize=(12, 3.2), sharey=True, layout="constrained")
    for axis, (name, curve) in zip(axes, curves.items(), strict=True):
        axis.loglog(curve["x"], curve["milliseconds"], "o-", color="#0072B2", label="CPU ms per restricted step")
        axis.loglog(curve["x"], curve["megabytes"], "s--", color="#D55E00", label="MB kept from step to step")
        axis.set_xlabel(LABELS[name])
        axis.set_xticks(curve["x"], [f"{x / 1000:.0f} k" if x >= 1000 else f"{x:g}" for x in curve["x"]])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].legend(frameon=False)
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    torch.set_num_threads(1)
    curves = {name: measure(name, rounds=9) for name in POINTS}
    print(f"\nA restricted step of GEM on the MLP, {DIGITS}, {SAMPLES} samples per past task")
    for name, curve in curves.items():
        for x, ms, mb in zip(curve["x"], curve["milliseconds"], curve["megabytes"], strict=True):
            print(f"  {LABELS[name]:<24} {x:>8g} {ms:8.2f} ms {mb:7.1f} MB")
    save("scaling", curves)
    draw(curves)


if __name__ == "__main__":
    main()
