"""The lens: what z would have been at recorded steps, for any modules, splits and strengths, without any training.

A snapshot has, per parameter tensor, the inner products of the batch gradient g, the true gradients g_t and g_s of every
past task, and the memory rows (`mgem_core.events.Snapped`). They add up over the tensors of a module, and a coarser split
is a weighted mean of finer rows. So every module is a small dual problem (`restriction/dual.py`), and all that is asked
about z follows from its v. On the path of a module over the strength (`restriction/path.py`), each strength is a point.

A run with coarser splits may differ from the lens in two ways. The lens joins neighbouring splits: where their number does
not divide the samples of the memory, a run has a few samples elsewhere, and with splits by class, whole classes. And a
batch norm in train mode normalises every row by itself, so the mean of two rows is not the row of their samples together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mgem_core.errors import UsageError, check_choice
from mgem_core.lens.modules import module_products
from mgem_core.lens.steps import Steps, Tensors, check_splits, tensors_of
from mgem_core.restriction import partition
from mgem_core.restriction.restriction import Restriction
from mgem_core.restriction.surgery import RULES

Floats = NDArray[np.float64]
PROBLEMS_AT_ONCE = 20_000  # more would need much memory


class Answers(NamedTuple):
    """What Probed has of a step, for Q settings at N snapshots, and the share of memory rows that g violates."""

    gs_z: Floats  # [Q, N, S]
    gt_z: Floats  # [Q, N]
    batch_z: Floats  # [Q, N]
    memory_z: Floats  # [Q, N, S]
    norm_z: Floats  # [Q, N]
    violated: Floats  # [Q, N], of the rows in all modules
    norm_gs: Floats  # [N, S]
    norm_gt: Floats  # [N]
    norm_g: Floats  # [N]

    def on_axes(self, axes: str, s: int) -> tuple[Floats, Floats, Floats]:
        """⟨g_s,z⟩, ⟨g_t,z⟩ and ⟨g,z⟩ [Q, N]: "raw", per "unit" ‖z‖, or as "cosine"; NaN where that divides by 0."""
        raw = self.gs_z[:, :, s], self.gt_z, self.batch_z
        if axes == "raw":
            return raw
        norms = (self.norm_gs[:, s], self.norm_gt, self.norm_g) if axes == "cosine" else (1.0, 1.0, 1.0)
        lengths = [self.norm_z * norm for norm in norms]
        x, y, batch_y = (
            np.divide(product, length, out=np.full_like(product, np.nan), where=length > 0)
            for product, length in zip(raw, lengths, strict=True)
        )
        return x, y, batch_y


def answers(steps: Steps, restrictions: Sequence[Restriction]) -> Answers:
    """Compute what each restriction would have done at each snapshot."""
    sums = np.zeros((len(restrictions), len(steps.gram), 4 + 2 * steps.past))  # as `module_products` yields them
    modules: dict[str, list[Tensors]] = {}
    families: dict[tuple[Restriction, tuple[float, ...]], list[int]] = {}  # differ in modules and strength
    strengths: list[float] = []
    for i, one in enumerate(restrictions):
        if str(one.modules) not in modules:
            modules[str(one.modules)] = tensors_of(module_of(steps, one.modules))
        weights, q = row_weights(steps, one)
        strengths.append(q)
        families.setdefault((replace(one, modules=1, strength=0.0), weights), []).append(i)
    for (family, weights), members in families.items():
        asked: dict[Tensors, dict[float, list[int]]] = {}  # module → strength → restrictions
        for i in members:
            for tensors in modules[str(restrictions[i].modules)]:
                asked.setdefault(tensors, {}).setdefault(strengths[i], []).append(i)
        todo, at_once = list(asked.items()), max(1, PROBLEMS_AT_ONCE // len(steps.gram))
        for some in (todo[start : start + at_once] for start in range(0, len(todo), at_once)):
            strengths_of_each = [np.array(list(by_strength)) for _, by_strength in some]
            tensors_of_each = [tensors for tensors, _ in some]
            found = module_products(steps, tensors_of_each, strengths_of_each, np.array(weights), family)
            for (_, by_strength), products in zip(some, found, strict=True):
                for j, which in enumerate(by_strength.values()):
                    sums[which] += products[:, j]
    counts = np.array([len(modules[str(one.modules)]) * one.splits * steps.past for one in restrictions], float)
    sums[:, :, -1] /= counts[:, None]
    return _answers_of(steps, sums, np.array([one.step_length == "gradient" for one in restrictions]))


def _answers_of(steps: Steps, sums: Floats, rescales: NDArray[np.bool_]) -> Answers:
    """Build answers from ⟨g,z⟩, ⟨g_t,z⟩, ⟨g_s,z⟩ [S], ⟨ĝ_s,z⟩ [S], ‖z‖² and the share of violated rows, [Q, N, 4 + 2 S]."""
    S = steps.past
    norms = np.sqrt(np.maximum(np.diagonal(steps.gram.sum(1), axis1=1, axis2=2)[:, : 2 + S], 0.0))
    norm_z = np.sqrt(np.maximum(sums[:, :, -2], 0.0))
    factor = np.divide(norms[:, 0], norm_z, out=np.ones_like(norm_z), where=norm_z > 0)
    factor = np.where(np.reshape(rescales, (-1, 1)), factor, 1.0)
    scaled = sums[:, :, :-2] * factor[..., None]
    return Answers(
        gs_z=scaled[:, :, 2 : 2 + S],
        gt_z=scaled[:, :, 1],
        batch_z=scaled[:, :, 0],
        memory_z=scaled[:, :, 2 + S :],
        norm_z=norm_z * factor,
        violated=sums[:, :, -1],
        norm_gs=norms[:, 2:],
        norm_gt=norms[:, 1],
        norm_g=norms[:, 0],
    )


def module_of(steps: Steps, modules: int | partition.Each | Mapping[str, int]) -> partition.Partition:
    """The module of each tensor of the recorded network."""
    try:
        return partition.modules(steps.layers, modules)
    except ValueError as error:
        raise UsageError(f"modules is {modules!r}; {error}.") from None


def row_weights(steps: Steps, restriction: Restriction) -> tuple[tuple[float, ...], float]:
    """Return the strength of each memory row as a share of the largest strength of a task, and that strength.

    Raise UsageError if these steps cannot answer for the restriction.
    """
    check_splits(steps, restriction.splits, restriction.split_by)
    if restriction.rule:
        check_choice("rule", restriction.rule, RULES)
    try:
        per_task = restriction.task_strengths(steps.past)
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    q = float(per_task.max())
    shares = replace(restriction, strength=tuple((per_task / q if q else np.ones(steps.past)).tolist()))
    return tuple(shares.row_strengths(steps.past * restriction.splits).tolist()), q
