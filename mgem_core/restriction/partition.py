"""Partitions of the parameters into modules (p-mGEM) and of the memory into splits (d-mGEM), without torch."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mgem_core.networks._layer import Layer

Partition = tuple[int, ...]  # the module of each parameter tensor, in the network's order
Each = Literal["layers", "tensors"]  # one module per layer or per tensor


def modules(layers: Sequence[Layer], wanted: int | Each | Mapping[str, int]) -> Partition:
    """Assign each parameter tensor to one of D modules, numbered 0 … D−1 by first appearance.

    "layers", or as many modules as layers: one per layer. Fewer: contiguous groups of layers, balanced by parameter count.
    More: layers are broken into their tensors, the largest first; "tensors" breaks all of them. A mapping assigns tensors
    ("layer1.0.conv1.weight"), layers ("layer1.0.conv1") or prefixes of their names ("layer1.0", "layer1") to modules; the
    longest matching name decides.
    """
    tensors = [name for layer in layers for name in layer.tensors]
    if isinstance(wanted, Mapping):
        return _number_by_appearance(_modules_by_name(tensors, wanted))
    if isinstance(wanted, str):
        wanted = {"layers": len(layers), "tensors": len(tensors)}[wanted]
    if not 1 <= wanted <= len(tensors):
        raise ValueError(f"it must be from 1 to {len(tensors)}, the number of this network's parameter tensors")
    if wanted <= len(layers):
        group = _balance([layer.size for layer in layers], wanted)
        return tuple(group[i] for i, layer in enumerate(layers) for _ in layer.tensors)
    broken = _layers_to_break(layers, wanted - len(layers))
    names = [name if layer.name in broken else layer.name for layer in layers for name in layer.tensors]
    return _number_by_appearance(names)


def simplest_modules(layers: Sequence[Layer], module_of: Partition) -> int | dict[str, int]:
    """Return the simplest argument with which `modules` gives this partition: a number, or a mapping with short names."""
    count = max(module_of) + 1
    if modules(layers, count) == module_of:
        return count
    tensors = [name for layer in layers for name in layer.tensors]
    modules_of: dict[str, set[int]] = {}  # prefix of a name → the modules of all tensors with that prefix
    for tensor, module in zip(tensors, module_of, strict=True):
        for name in _prefixes(tensor):
            modules_of.setdefault(name, set()).add(module)
    shortest = [next(name for name in reversed(_prefixes(tensor)) if len(modules_of[name]) == 1) for tensor in tensors]
    return dict(zip(shortest, module_of, strict=True))


def splits(labels: np.ndarray, wanted: int, by: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Split one task's memory, given by its labels [n], into `wanted` parts: arrays of positions in it.

    With `by` "random", equal parts in random order; "order", equal parts as stored; "class", whole classes together.
    """
    if not 1 <= wanted <= len(labels):
        raise ValueError(f"it must be from 1 to {len(labels)}, the number of samples in the memory of a task")
    if by == "class":
        return _splits_by_class(labels, wanted)
    order = rng.permutation(len(labels)) if by == "random" else np.arange(len(labels))
    return [np.sort(part) for part in np.array_split(order, wanted)]


def _number_by_appearance(names: Sequence[object]) -> Partition:
    """Replace equal names by equal numbers 0, 1, …, in the order of their first appearance."""
    number: dict[object, int] = {}
    return tuple(number.setdefault(name, len(number)) for name in names)


def _modules_by_name(tensors: Sequence[str], wanted: Mapping[str, int]) -> list[int]:
    """Return the module of each tensor: that of the longest of its names in the mapping."""
    names_of = {tensor: _prefixes(tensor) for tensor in tensors}
    if unknown := sorted(set(wanted).difference(*names_of.values())):
        parts = dict.fromkeys(names[-1] for names in names_of.values())
        raise ValueError(f"{unknown[0]!r} is no layer or tensor of this network; its parts are {', '.join(parts)}")
    chosen = {tensor: [wanted[name] for name in names if name in wanted] for tensor, names in names_of.items()}
    if missing := [tensor for tensor, numbers in chosen.items() if not numbers]:
        raise ValueError(f"{missing[0]!r} is in no module; assign every layer or tensor to one")
    return [numbers[0] for numbers in chosen.values()]


def _prefixes(tensor: str) -> list[str]:
    """Return the names that a mapping may use for a tensor: "a.b.c", "a.b", "a"."""
    parts = tensor.split(".")
    return [".".join(parts[:end]) for end in range(len(parts), 0, -1)]


def _layers_to_break(layers: Sequence[Layer], extra: int) -> set[str]:
    """Return the largest layers which, broken into tensors, give `extra` more modules."""
    broken: set[str] = set()
    for layer in sorted(layers, key=lambda layer: -layer.size):
        if 0 < len(layer.tensors) - 1 <= extra:
            broken.add(layer.name)
            extra -= len(layer.tensors) - 1
    return broken


def _balance(sizes: Sequence[int], groups: int) -> list[int]:
    """Divide `sizes` into contiguous groups with the smallest sum of squared group sizes → the group of each element.

    Among equally good divisions, the last group begins as early as possible, then the one before it, and so on.
    """
    n = len(sizes)
    if groups == n:
        return list(range(n))
    squares = _squares_between(np.concatenate([[0], np.cumsum(sizes)]))
    width = n - groups + 1  # group g ends at one of g … g + width − 1, because each group has an element
    is_not_empty = np.tri(width, dtype=bool)  # [end, start]
    best = squares[1 : width + 1, 0]  # smallest sum of the groups so far, for each end of the last one
    cuts = []  # for each group from the second on and each of its ends: its best start
    for g in range(2, groups + 1):
        cost = np.where(is_not_empty, best + squares[g : g + width, g - 1 : g - 1 + width], np.inf)
        cut = cost.argmin(axis=1)
        best = cost[np.arange(width), cut]
        cuts.append(cut + g - 1)
    group, end = [0] * n, n
    for g in range(groups, 1, -1):
        start = int(cuts[g - 2][end - g])
        group[start:end] = [g - 1] * (end - start)
        end = start
    return group


def _squares_between(total: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return [end, start]: the squared size between two positions, given the sum of all sizes before each position."""
    lengths = np.subtract.outer(total, total).astype(float)
    if total[-1] < 2**26:  # all squares are exact
        return np.asarray(lengths * lengths)
    # Rounding decides between equally good divisions. A product and Python's power may differ in the last bit, and stored
    # configs refer to the divisions found with the power.
    of_groups = np.tril_indices(len(total))
    lengths[of_groups] = [length**2 for length in lengths[of_groups].tolist()]
    return lengths


def _splits_by_class(labels: np.ndarray, wanted: int) -> list[np.ndarray]:
    """Assign whole classes, the largest first, each to the split that is smallest so far."""
    classes, counts = np.unique(labels, return_counts=True)
    if wanted > len(classes):
        raise ValueError(f"splits by class must be at most the {len(classes)} classes in the memory")
    members: list[list[int]] = [[] for _ in range(wanted)]
    filled = [0] * wanted
    for i in np.argsort(-counts, kind="stable"):
        target = filled.index(min(filled))
        members[target].append(classes[i])
        filled[target] += counts[i]
    return [np.flatnonzero(np.isin(labels, group)) for group in members]
