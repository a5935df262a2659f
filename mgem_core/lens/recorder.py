"""Record the gradients of any PyTorch training loop, in a file that `mgem lens` opens.

    with Recorder("my.lens") as recorder:
        for step, batch in enumerate(batches):
            ...
            recorder.snap(gradient, [old_gradient])

Only inner products are kept, per parameter tensor: a snapshot of a large network takes a few kilobytes. The file is written
when the recorder is closed, and from time to time before; `mgem_core.lens.recordings` describes its format.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mgem_core.errors import UsageError
from mgem_core.events import Snapped
from mgem_core.home import check_writable, replace_file
from mgem_core.lens.header import find_excess
from mgem_core.lens.recordings import Recording, packed, sample_counts
from mgem_core.networks._layer import Layer
from mgem_core.restriction import direction, gram_factors

Named = Mapping[str, "Tensor | np.ndarray | None"]  # the gradient of each parameter; None is a gradient of zeros
SECONDS = 10.0  # between two writings of the file, at least


def named_gradients(model: nn.Module, loss: Tensor, retain_graph: bool = True) -> dict[str, Tensor]:
    """The gradient of a loss by the name of each trainable parameter; `.grad` stays as it is."""
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    found = torch.autograd.grad(loss, list(named.values()), retain_graph=retain_graph, materialize_grads=True)
    return dict(zip(named, found, strict=True))


class Recorder:
    def __init__(self, path: str | Path, lr: float | None = None, seed: int | None = None):
        """`lr` and `seed` are kept beside the snapshots. A file that is there already is replaced."""
        self.path, self.about = Path(path), Recording(Path(path).name, (), (), lr=lr, seed=seed)
        self.shapes: dict[str, tuple[int, ...]] = {}  # of each parameter, from the first snapshot on
        self.device = torch.device("cpu")  # where inner products are computed: that of the last gradient
        self.snapshots: list[Snapped] = []
        self.numbers = 0  # in their packed factors
        self._next_save = monotonic() + SECONDS
        check_writable("path", self.path)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.save()

    def snap(
        self,
        gradient: Named,
        memory: Sequence[Named | Sequence[Named]],
        true_gradient: Named | None = None,
        true_past: Sequence[Named] | None = None,
        sizes: Sequence[Sequence[int]] | None = None,
        step: int | None = None,
    ) -> None:
        """Record one step, at which all gradients are taken at the same parameters.

        gradient: g, of the batch, or of the loss that the step is to lower.
        memory: of each past task (or other loss) what must not be hurt, one gradient or one for each part of its samples.
        true_gradient, true_past: g_t and the g_s, on training sets, by which the step is judged. If they are left
        out, it is judged by `gradient` and by the mean of each task's memory.
        sizes: the numbers of samples behind the gradients in `memory`, [past tasks, parts]; if left out, all are equal.
        """
        parts = [[rows] if isinstance(rows, Mapping) else list(rows) for rows in memory]
        counts = sorted({len(rows) for rows in parts})
        if len(counts) != 1 or counts == [0]:
            raise UsageError(
                f"memory has {counts or 'no'} gradients per past task; it must have one or more, equally many."
            )
        shape = (len(parts), counts[0])
        try:
            samples = sample_counts(np.ones(shape) if sizes is None else sizes)
        except (ValueError, TypeError):
            samples = np.zeros(0, np.int64)
        if samples.shape != shape:
            raise UsageError(f"sizes is {sizes}; it must be {shape[0]} × {shape[1]} whole numbers of at least 1.")
        if true_past is not None and len(true_past) != len(parts):
            raise UsageError(f"true_past has {len(true_past)} gradients; memory has those of {len(parts)} past tasks.")
        self.device = next((value.device for value in gradient.values() if isinstance(value, Tensor)), torch.device("cpu"))
        self.shapes = self.shapes or shapes_of([gradient, *(row for rows in parts for row in rows)])
        if not self._has_room(*shape):
            return
        rows = [[self._vector(row) for row in rows] for rows in parts]
        g = self._vector(gradient)
        current = g if true_gradient is None else self._vector(true_gradient)
        if true_past is None:
            past = [_mean(rows_s, samples_s / samples_s.sum()) for rows_s, samples_s in zip(rows, samples, strict=True)]
        else:
            past = [self._vector(one) for one in true_past]
        gram = direction.grams([g, current, *past, *(row for rows_s in rows for row in rows_s)])
        number = len(self.snapshots) if step is None else step
        self.snapshots.append(Snapped(len(parts), number, gram, samples))
        if monotonic() > self._next_save:
            self.save()

    def _has_room(self, past: int, splits: int) -> bool:
        """Can another snapshot be opened with the others? An error if it could not be alone; a warning if it is full."""
        numbers = self.numbers + len(self.shapes) * gram_factors.packed_length(past, splits)
        counts = (
            len(layers_of(self.shapes)),
            len(self.shapes),
            len(self.snapshots) + 1,
            gram_factors.gram_rows(past, splits),
        )
        excess = find_excess(*counts, numbers)
        if excess and not self.snapshots:
            raise UsageError(f"The recording {excess}.")
        if excess:
            warnings.warn(f"{self.path} is full, and later steps are left out: with this one it {excess}.", stacklevel=3)
            return False
        self.numbers = numbers
        return True

    def save(self) -> None:
        """Write all snapshots so far; whatever happens, the file has either its old content or the new one."""
        start = monotonic()
        replace_file(self.path, packed(layers_of(self.shapes), self.snapshots, self.about))
        self._next_save = monotonic() + max(SECONDS, 20 * (monotonic() - start))  # a small share of the time of the loop

    def _vector(self, named: Named) -> list[Tensor]:
        """The tensors of a gradient in the order of the layers; an error if its names or shapes are not theirs."""
        if unknown := [name for name, value in named.items() if name not in self.shapes and value is not None]:
            raise UsageError(f"{unknown[0]!r} is no parameter of the first snapshot; record the same parameters each time.")
        return [_tensor(name, named.get(name), shape, self.device) for name, shape in self.shapes.items()]


def shapes_of(gradients: Sequence[Named]) -> dict[str, tuple[int, ...]]:
    """The shape of each parameter by its name, layer after layer."""
    shapes = {name: tuple(value.shape) for named in gradients for name, value in named.items() if value is not None}
    if not shapes:
        raise UsageError("gradient has no tensors; give the gradient of each parameter by its name.")
    if same := [name for name in shapes if "." not in name and f"{_layer(name)}.{name}" in shapes]:
        both = f"{same[0]!r} and '{_layer(same[0])}.{same[0]}' are parameters"
        raise UsageError(f"{both}, and a recording would have the same name for both; rename one of them.")
    layers = list(dict.fromkeys(map(_layer, shapes)))
    return dict(sorted(shapes.items(), key=lambda item: layers.index(_layer(item[0]))))


def layers_of(shapes: Mapping[str, tuple[int, ...]]) -> tuple[Layer, ...]:
    tensors: dict[str, dict[str, tuple[int, ...]]] = {}
    for name, shape in shapes.items():
        tensors.setdefault(_layer(name), {})[name.rpartition(".")[2]] = shape
    return tuple(Layer(layer, of_layer) for layer, of_layer in tensors.items())


def _layer(name: str) -> str:
    """ "fc1.weight" belongs to the layer "fc1", and a name without a dot to "model"."""
    return name.rpartition(".")[0] or "model"


def _tensor(name: str, value: Any, shape: tuple[int, ...], device: torch.device) -> Tensor:
    if value is None:
        return torch.zeros(shape, device=device)
    tensor = torch.as_tensor(value).detach()
    if tuple(tensor.shape) != shape:
        raise UsageError(f"{name!r} has the shape {tuple(tensor.shape)}; in the first snapshot it was {shape}.")
    return tensor.to(device, torch.float32)


def _mean(rows: Sequence[Sequence[Tensor]], shares: np.ndarray) -> list[Tensor]:
    return [
        torch.stack([share * part for share, part in zip(shares.tolist(), parts, strict=True)]).sum(0)
        for parts in zip(*rows, strict=True)
    ]
