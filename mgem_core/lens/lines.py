"""The lines that are compared at recorded steps: GEM with other modules, splits and solvers, at all strengths.

The lens in the browser and the figures draw the same lines, and correct for the same number of comparisons.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mgem_core.errors import UsageError
from mgem_core.lens.answers import module_of
from mgem_core.lens.steps import Steps, check_splits
from mgem_core.networks._layer import Layer
from mgem_core.restriction.partition import Each
from mgem_core.restriction.restriction import Solver

PARTITIONS = (1, 2, 3, 4, 5, 6, 8)  # numbers of modules to choose from, besides one per layer and one per tensor


class Line(NamedTuple):
    name: str  # in the paper, such as "p-mGEM(4)"
    modules: int | Each | Mapping[str, int] = 1
    splits: int = 1
    solver: Solver = "exact"
    split_by: str | None = None  # how a run of this line splits its memory; None: as recorded


GEM = Line("GEM")


def module_counts(layers: Sequence[Layer]) -> list[int]:
    """Return the numbers of modules to choose from in a network, from 1 on."""
    tensors = sum(len(layer.shapes) for layer in layers)
    return sorted({count for count in (*PARTITIONS, len(layers), tensors) if count <= tensors})


def divisors(number: int) -> list[int]:
    return [one for one in range(1, number + 1) if number % one == 0]


def count_comparisons(partitions: int, splits: int) -> int:
    """Return the number of comparisons with GEM: all other partitions and splits to choose from, and replay."""
    return partitions * len(divisors(splits))


def default_lines(layers: Sequence[Layer], splits: int) -> list[Line]:
    """Return GEM, p-mGEM with each number of modules, and d-mGEM with each divisor of the recorded splits."""
    modular = [Line(f"p-mGEM({count})", modules=count) for count in module_counts(layers)[1:]]
    return [GEM, *modular, *(Line(f"d-mGEM({count})", splits=count) for count in divisors(splits)[1:])]


def comparable_lines(lines: Sequence[Line], steps: Steps) -> list[Line]:
    """Return GEM and the given lines, without repetitions and without those for which these steps cannot answer.

    If fewer than two lines are given, the default ones are added. Equal names of different lines get their modules.
    """
    others = default_lines(steps.layers, steps.sizes.shape[2]) if len(lines) < 2 else [GEM]
    found: dict[tuple[object, ...], Line] = {}
    for line in (*others, *lines):
        try:
            check_splits(steps, line.splits, line.split_by)
            key = module_of(steps, line.modules), line.splits, line.solver
        except UsageError:
            continue
        found.setdefault(key, line)
    names = [line.name for line in found.values()]
    return [line if names.count(line.name) == 1 else _with_modules(line) for line in found.values()]


def _with_modules(line: Line) -> Line:
    modules = line.modules
    text = ",".join(f"{name}={module}" for name, module in modules.items()) if isinstance(modules, Mapping) else modules
    return line._replace(name=f"{line.name} · modules {text}")
