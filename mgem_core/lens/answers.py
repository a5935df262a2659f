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
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mgem_core.errors import UsageError
from mgem_core.lens.modules import module_bends, module_products
from mgem_core.lens.steps import Steps, Tensors, check_splits, tensors_of
from mgem_core.restriction import dual, partition
from mgem_core.restriction.surgery import RULES

Floats = NDArray[np.float64]
PROBLEMS_AT_ONCE = 20_000  # more would need much memory


@dataclass(frozen=True)
class Setting:
    """A way to restrict the gradient: the fields of RunConfig that decide z, or a rule of gradient surgery."""

    modules: int | partition.Each | Mapping[str, int] = 1
    splits: int = 1
    strength: float | tuple[float, ...] = 0.5  # of a rule: its parameter
    strength_kind: dual.StrengthKind = "dual-floor"
    strength_per: Literal["split", "task"] = "split"
    solver: dual.Solver = "exact"
    trigger: dual.Trigger = "violation"
    step_length: Literal["free", "gradient"] = "free"
    ridge: float = dual.RIDGE
    ridge_kind: dual.RidgeKind = "relative"
    split_by: str | None = None  # None: as it was recorded
    rule: str = ""  # of mgem_core.restriction.surgery; empty for the GEM family

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Setting":
        """From fields of a RunConfig; those that do not decide z are left out."""
        return cls(**{one.name: values[one.name] for one in fields(cls) if one.name in values})


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

    def loss_changes(self, lr: float) -> Floats:
        """[Q, N, S + 1]: by how much the step changes the true loss of each past task and of its own, to first order."""
        return -lr * np.concatenate([self.gs_z, self.gt_z[..., None]], axis=2)

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


def answers(steps: Steps, settings: Sequence[Setting]) -> Answers:
    """What each setting would have done at each snapshot."""
    sums = np.zeros((len(settings), len(steps.gram), 4 + 2 * steps.past))  # as `module_products` yields them
    modules: dict[str, list[Tensors]] = {}
    families: dict[Any, list[int]] = {}  # settings that differ in their modules and strengths alone
    strengths: list[float] = []
    for i, setting in enumerate(settings):
        if str(setting.modules) not in modules:
            modules[str(setting.modules)] = tensors_of(module_of(steps, setting.modules))
        weights, q = row_weights(steps, setting)
        strengths.append(q)
        families.setdefault((setting.splits, weights, _knobs(setting), setting.rule), []).append(i)
    for (splits, weights, knobs, rule), members in families.items():
        asked: dict[Tensors, dict[float, list[int]]] = {}  # module → strength → settings
        for i in members:
            for tensors in modules[str(settings[i].modules)]:
                asked.setdefault(tensors, {}).setdefault(strengths[i], []).append(i)
        todo, at_once = list(asked.items()), max(1, PROBLEMS_AT_ONCE // len(steps.gram))
        for some in (todo[start : start + at_once] for start in range(0, len(todo), at_once)):
            strengths_of_each = [np.array(list(by_strength)) for _, by_strength in some]
            tensors_of_each = [tensors for tensors, _ in some]
            found = module_products(steps, splits, tensors_of_each, strengths_of_each, np.array(weights), knobs, rule)
            for (_, by_strength), products in zip(some, found, strict=True):
                for j, which in enumerate(by_strength.values()):
                    sums[which] += products[:, j]
    counts = np.array([len(modules[str(one.modules)]) * one.splits * steps.past for one in settings], float)
    sums[:, :, -1] /= counts[:, None]
    return answers_of(steps, sums, np.array([one.step_length == "gradient" for one in settings]))


def products_of(steps: Steps, modules: Sequence[Tensors], strengths: Floats, setting: Setting) -> Floats:
    """[U, Q, N, 4 + 2 S]: what each of these modules adds to the sums of `answers_of` at each strength."""
    weights, _ = row_weights(steps, setting)
    each = [strengths] * len(modules)
    found = module_products(steps, setting.splits, modules, each, np.array(weights), _knobs(setting), setting.rule)
    return np.stack(list(found)).swapaxes(1, 2)


def bends(steps: Steps, setting: Setting) -> Floats:
    """The strengths [N, J] at which some v bends, rising from 0 on; infinite where a snapshot has fewer.

    Between two of them all products with z are linear in the strength and ‖z‖² is quadratic, so that the answers at the
    bends, and one beyond the last, are the whole frontier. For strengths per past task, it is that of the largest.
    """
    if setting.rule:
        raise UsageError(f"rule is {setting.rule!r}; only the GEM family has a path over the strength that is known.")
    weights, _ = row_weights(steps, setting)
    modules = tensors_of(module_of(steps, setting.modules))
    return module_bends(steps, setting.splits, modules, np.array(weights), _knobs(setting))


def answers_of(steps: Steps, sums: Floats, rescales: bool | NDArray[np.bool_] = False) -> Answers:
    """From ⟨g,z⟩, ⟨g_t,z⟩, ⟨g_s,z⟩ [S], ⟨ĝ_s,z⟩ [S], ‖z‖² and the share of violated rows, [Q, N, 4 + 2 S]."""
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


def row_weights(steps: Steps, setting: Setting) -> tuple[tuple[float, ...], float]:
    """The strength of each memory row as a share of the largest, and the largest; an error if there is no answer."""
    check_splits(steps, setting.splits, setting.split_by)
    if setting.rule and setting.rule not in RULES:
        raise UsageError(f"rule is {setting.rule!r}; it must be one of {', '.join(RULES)}.")
    try:
        dual.Restriction(setting.strength, *_knobs(setting))
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    S, strength = steps.past, np.atleast_1d(np.asarray(setting.strength, float))
    if 1 < len(strength) < S:
        raise UsageError(f"strength is {setting.strength!r}; there are {S} past tasks, so it must be that many.")
    per_task = np.broadcast_to(strength[:S], (S,))
    q = float(per_task.max())
    weights = (per_task / q if q else np.ones(S)) / (setting.splits if setting.strength_per == "task" else 1)
    return tuple(np.repeat(weights, setting.splits).tolist()), q


def _knobs(setting: Setting) -> tuple[Any, ...]:
    """The fields of dual.Restriction but for the strength."""
    return setting.strength_kind, setting.solver, setting.trigger, setting.ridge, setting.ridge_kind
