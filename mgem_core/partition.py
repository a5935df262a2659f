"""Parameters → modules (p-mGEM), memory → splits (d-mGEM). Plain Python and numpy; knows layers only as data."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from mgem_core.networks._layer import Layer

Partition = tuple[int, ...]  # the module of each parameter tensor, in the network's order
Each = Literal["layers", "tensors"]  # a module for each of them


def modules(layers: Sequence[Layer], wanted: int | Each | Mapping[str, int]) -> Partition:
    """Assign each parameter tensor to one of D modules, numbered 0 … D−1 by first appearance.

    As many modules as layers, or "layers": one per layer. Fewer: contiguous groups of layers, balanced by parameter count.
    More: layers fall apart into their tensors, the largest first; "tensors": all of them. A mapping names tensors
    ("layer1.0.conv1.weight"), layers ("layer1.0.conv1") or what their names begin with ("layer1.0", "layer1"); for each
    tensor, the longest name that fits counts.
    """
    tensors = [name for layer in layers for name in layer.tensors]
    if isinstance(wanted, Mapping):
        return _numbered(_mapped(tensors, wanted))
    if isinstance(wanted, str):
        wanted = {"layers": len(layers), "tensors": len(tensors)}[wanted]
    if not 1 <= wanted <= len(tensors):
        raise ValueError(f"it must be from 1 to {len(tensors)}, the number of this network's parameter tensors")
    if wanted <= len(layers):
        group = _balanced([layer.size for layer in layers], wanted)
        return tuple(group[i] for i, layer in enumerate(layers) for _ in layer.tensors)
    broken = _layers_to_break(layers, wanted - len(layers))
    return _numbered([name if layer.name in broken else layer.name for layer in layers for name in layer.tensors])


def simplest(layers: Sequence[Layer], module_of: Partition) -> int | dict[str, int]:
    """What to ask `modules` for to get this partition: a number if one gives it, else a mapping with the shortest names."""
    count = max(module_of) + 1
    if modules(layers, count) == module_of:
        return count
    tensors = [name for layer in layers for name in layer.tensors]
    below: dict[str, set[int]] = {}  # the modules of all tensors whose names begin with this one
    for tensor, module in zip(tensors, module_of, strict=True):
        for name in _names(tensor):
            below.setdefault(name, set()).add(module)
    whole = [next(name for name in reversed(_names(tensor)) if len(below[name]) == 1) for tensor in tensors]
    return dict(zip(whole, module_of, strict=True))


def splits(labels: np.ndarray, wanted: int, by: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Cut one task's memory (given by its labels [n]) into `wanted` parts: arrays of positions into it.

    by "random": equal parts of a random order; "order": equal parts as stored; "class": whole classes together.
    """
    if not 1 <= wanted <= len(labels):
        raise ValueError(f"it must be from 1 to {len(labels)}, the number of samples in the memory of a task")
    if by == "class":
        return _splits_by_class(labels, wanted)
    order = rng.permutation(len(labels)) if by == "random" else np.arange(len(labels))
    return [np.sort(part) for part in np.array_split(order, wanted)]


def _numbered(names: Sequence[object]) -> Partition:
    number: dict[object, int] = {}
    return tuple(number.setdefault(name, len(number)) for name in names)


def _mapped(tensors: Sequence[str], wanted: Mapping[str, int]) -> list[int]:
    """The module of each tensor: that of the longest of its names in the mapping."""
    names_of = {tensor: _names(tensor) for tensor in tensors}
    if unknown := sorted(set(wanted).difference(*names_of.values())):
        parts = dict.fromkeys(names[-1] for names in names_of.values())
        raise ValueError(f"{unknown[0]!r} is no layer or tensor of this network; its parts are {', '.join(parts)}")
    chosen = {tensor: [wanted[name] for name in names if name in wanted] for tensor, names in names_of.items()}
    if missing := [tensor for tensor, numbers in chosen.items() if not numbers]:
        raise ValueError(f"{missing[0]!r} is in no module; assign every layer or tensor to one")
    return [numbers[0] for numbers in chosen.values()]


def _names(tensor: str) -> list[str]:
    """The names by which a mapping may call a tensor: "a.b.c", "a.b", "a"."""
    parts = tensor.split(".")
    return [".".join(parts[:end]) for end in range(len(parts), 0, -1)]


def _layers_to_break(layers: Sequence[Layer], extra: int) -> set[str]:
    """The largest layers which, broken into tensors, give `extra` more modules."""
    broken: set[str] = set()
    for layer in sorted(layers, key=lambda layer: -layer.size):
        if 0 < len(layer.tensors) - 1 <= extra:
            broken.add(layer.name)
            extra -= len(layer.tensors) - 1
    return broken


def _balanced(sizes: Sequence[int], groups: int) -> list[int]:
    """Cut `sizes` into contiguous groups with the least sum of squared group sizes; the group of each element."""
    n = len(sizes)
    total = np.concatenate([[0], np.cumsum(sizes)])
    best = np.full((groups + 1, n + 1), np.inf)
    cut = np.zeros((groups + 1, n + 1), int)
    best[0, 0] = 0
    for g in range(1, groups + 1):
        for end in range(g, n + 1):
            cost = [best[g - 1, start] + float(total[end] - total[start]) ** 2 for start in range(end)]
            cut[g, end] = int(np.argmin(cost))
            best[g, end] = cost[cut[g, end]]
    group = [0] * n
    end = n
    for g in range(groups, 0, -1):
        start = cut[g, end]
        group[start:end] = [g - 1] * (end - start)
        end = start
    return group


def _splits_by_class(labels: np.ndarray, wanted: int) -> list[np.ndarray]:
    """Whole classes, largest first, each to the split that is smallest so far."""
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
