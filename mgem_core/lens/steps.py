"""The recorded steps of one task, and the Gram matrices of any modules and coarser splits at them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgem_core.errors import UsageError
from mgem_core.lens.recordings import Recording, Snapshot
from mgem_core.networks._layer import Layer
from mgem_core.restriction.partition import Partition

Floats = NDArray[np.float64]
Tensors = tuple[int, ...]  # the numbers of some parameter tensors
CANCELLED = 1e-5  # of the finer rows' lengths: a mean of rows that is shorter is what rounding left of opposite ones


@dataclass(frozen=True)
class Steps:
    """The N snapshots of one task t, with S past tasks and K memory splits of each, in L parameter tensors."""

    name: str  # of the recording
    task: int
    layers: tuple[Layer, ...]
    split_by: str | None
    gram: Floats  # [N, L, M, M] of g, g_t, g_s [S] and the memory rows [S · K]
    sizes: NDArray[np.int64]  # [N, S, K]
    steps: NDArray[np.int64]  # [N]

    @property
    def past(self) -> int:
        return int(self.sizes.shape[1])

    def at(self, which: Any) -> "Steps":
        """These snapshots alone."""
        return replace(self, gram=self.gram[which], sizes=self.sizes[which], steps=self.steps[which])


def snapshots_by_task(recording: Recording) -> dict[int, list[Snapshot]]:
    """The snapshots of each task, counted from 0; an error if those of a task have different numbers of memory rows."""
    found: dict[int, list[Snapshot]] = {task: [] for task in recording.tasks}
    for snapshot in recording.snapshots:
        found[snapshot.task].append(snapshot)
    for task, snapshots in found.items():
        if len({snapshot.sizes.shape for snapshot in snapshots}) > 1:
            raise UsageError(f"{recording.name} has snapshots with different numbers of memory rows in task {task + 1}.")
    return found


def steps_of(recording: Recording, task: int) -> Steps:
    """The snapshots of a task, counted from 0."""
    if task not in recording.tasks:
        known = ", ".join(str(one + 1) for one in recording.tasks)
        raise UsageError(f"{recording.name} has no snapshots of task {task + 1}; it has those of task {known}.")
    chosen = snapshots_by_task(recording)[task]
    first = chosen[0].gram
    gram = np.empty((len(chosen), *first.shape))
    for n, snapshot in enumerate(chosen):  # one after the other, because those of files are unpacked here
        gram[n] = snapshot.gram if n else first
    check_finite(gram, recording.name, task)
    sizes, steps = np.stack([one.sizes for one in chosen]), np.array([one.step for one in chosen])
    return Steps(recording.name, task, recording.layers, recording.split_by, gram, sizes, steps)


def check_finite(values: np.ndarray, name: str, task: int) -> None:
    """Raise an error if the Gram matrices of a task, or their factors, are not finite."""
    if not np.isfinite(values).all():
        raise UsageError(f"{name} has a gradient that is not finite in task {task + 1}: its training diverged.")


def tensors_of(module_of: Partition) -> list[Tensors]:
    """The tensors of each module."""
    return [tuple(np.flatnonzero(np.equal(module_of, d)).tolist()) for d in range(max(module_of) + 1)]


def check_splits(steps: Steps, splits: int, split_by: str | None = None) -> None:
    """Can the recorded splits be joined to so many, and were they made in that way?"""
    K = steps.sizes.shape[2]
    recorded = f"{steps.name} recorded {K} memory splits of each past task"
    if not 1 <= splits <= K:
        raise UsageError(f"splits is {splits}; {recorded}, so it must be from 1 to {K}.")
    if K % splits:
        divisors = ", ".join(str(one) for one in range(1, K + 1) if K % one == 0)
        raise UsageError(f"splits is {splits}; {recorded}, which can be joined to {divisors}.")
    if split_by is not None and split_by != steps.split_by and splits > 1:
        raise UsageError(
            f"split_by is {split_by!r}; {steps.name} recorded splits by {steps.split_by or 'an unknown rule'}."
        )


def module_grams(steps: Steps, splits: int, modules: Sequence[Tensors]) -> Floats:
    """Gram matrices [U, N, M, M] of U modules; where fewer splits are wanted, neighbouring memory rows are averaged."""
    fine = np.stack([steps.gram[:, list(tensors)].sum(1) for tensors in modules])
    N, S, K = steps.sizes.shape
    if splits == K:
        return fine
    merge = np.zeros((N, 2 + S + S * splits, 2 + S + S * K))
    merge[:, : 2 + S, : 2 + S] = np.eye(2 + S)
    row, joined = np.arange(S * K), K // splits
    shares = steps.sizes / np.repeat(steps.sizes.reshape(N, S, splits, joined).sum(3), joined, axis=2)
    merge[:, 2 + S + row // joined, 2 + S + row] = shares.reshape(N, -1)
    blocks = merge @ fine @ merge.swapaxes(1, 2)
    is_left = _lengths(blocks) > CANCELLED * (merge @ _lengths(fine)[..., None])[..., 0]
    is_left[:, :, : 2 + S] = True
    return np.asarray(blocks * (is_left[:, :, :, None] & is_left[:, :, None]))


def row_shares(steps: Steps, splits: int) -> Floats:
    """[N, S · splits]: the share of each memory row in the memory of its task."""
    N, S, K = steps.sizes.shape
    sizes = steps.sizes.reshape(N, S, splits, K // splits).sum(3)
    return np.asarray((sizes / sizes.sum(2, keepdims=True)).reshape(N, -1))


def _lengths(gram: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(np.diagonal(gram, axis1=-2, axis2=-1), 0.0)))
