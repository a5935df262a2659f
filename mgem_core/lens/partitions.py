"""All contiguous partitions from their intervals, and the best of them for a wanted mix of remembering and learning.

Modules are independent (Lemma 1), so ⟨g_s,z⟩, ⟨g_t,z⟩ and ‖z‖² add up over modules: of n layers, the n (n + 1) / 2
intervals give each of the 2^(n − 1) contiguous partitions, and dynamic programming finds the one with the largest sum. The
products per unit ‖z‖ do not add up. They are linearised at a partition, the best one for the linear sum is found, and this
is repeated from there until a partition comes again; at last, single changes are tried. That is a search, not a proof.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mgem_core.errors import UsageError
from mgem_core.lens.answers import Setting, module_of, products_of
from mgem_core.lens.steps import Steps, Tensors, tensors_of
from mgem_core.restriction import partition

Floats = NDArray[np.float64]
LENGTH_FACTORS = (0.0, 0.25, 0.5, 2.0, 4.0)
CLIMBS = 8  # of the best partitions found are improved further
Choice = tuple[tuple[int, int, int], ...]  # of each module: its first layer, the layer after its last, its strength


@dataclass(frozen=True)
class Mix:
    """The objective: the mean over snapshots of share · ⟨g_s,z⟩ + (1 − share) · ⟨g_t,z⟩, on one kind of axes."""

    share: float = 0.5
    past: int = 0  # the past task s
    axes: str = "unit"  # or "raw", "cosine"


class Judged(NamedTuple):
    value: float  # of the mix
    x: float  # mean of ⟨g_s,z⟩ on its axes
    y: float  # mean of ⟨g_t,z⟩
    batch_y: float  # mean of ⟨g,z⟩
    norm_z: float  # mean


class Best(NamedTuple):
    """The best modules and their strengths, chosen on every other snapshot and judged on those between."""

    module_of: partition.Partition
    strengths: tuple[float, ...]  # of each module
    chosen_on: Judged
    judged_on: Judged
    gem_strength: float  # of one module, chosen in the same way
    gem_chosen_on: Judged
    gem_judged_on: Judged


def best_partition(
    steps: Steps,
    setting: Setting,
    strengths: Sequence[float],
    mix: Mix,
    each: partition.Each = "layers",
    most_modules: int | None = None,
) -> Best:
    """Modules are neighbouring layers or tensors, each with one of these strengths; the rest is as in `setting`."""
    if not 0 <= mix.share <= 1:
        raise UsageError(f"mix is {mix.share:g}; it must be from 0 (only learning) to 1 (only remembering).")
    if mix.past >= steps.past:
        raise UsageError(f"past task {mix.past + 1} is not one of the {steps.past} past tasks of task {steps.task + 1}.")
    rescales = setting.step_length == "gradient"
    if rescales and mix.axes == "raw":
        no_sums = "the products with a rescaled z do not add up over modules"
        raise UsageError(f"step_length is 'gradient'; {no_sums}; choose the axes unit or cosine, or step_length free.")
    if len(steps.gram) < 2:
        raise UsageError(f"{steps.name} has one snapshot of task {steps.task + 1}; choosing and judging needs two.")
    units = tensors_of(module_of(steps, each))
    setting = replace(setting, strength=1.0)
    halves, norms = [], []
    for half in (steps.at(slice(0, None, 2)), steps.at(slice(1, None, 2))):
        found = products_of(half, intervals(units), np.array(strengths, float), setting)
        halves.append(_parts(half, found, mix))
        norms.append(np.sqrt(half.gram.sum(1)[:, 0, 0]) if rescales else None)
    choosing, judging = halves
    n = len(units)
    chosen = search(choosing, n, mix.axes != "raw", min(most_modules or n, n))
    gem = max((((0, n, q),) for q in range(len(strengths))), key=lambda choice: judge(choosing, n, choice, mix).value)
    return Best(
        tuple(d for d, (start, stop, _) in enumerate(chosen) for unit in units[start:stop] for _ in unit),
        tuple(float(strengths[q]) for _, _, q in chosen),
        judge(choosing, n, chosen, mix, norms[0]),
        judge(judging, n, chosen, mix, norms[1]),
        float(strengths[gem[0][2]]),
        judge(choosing, n, gem, mix, norms[0]),
        judge(judging, n, gem, mix, norms[1]),
    )


def intervals(units: Sequence[Tensors]) -> list[Tensors]:
    """The tensors of every interval of neighbouring units, in the order of `number_of`."""
    n = len(units)
    return [tuple(t for unit in units[i:j] for t in unit) for i in range(n) for j in range(i + 1, n + 1)]


def number_of(start: int, stop: int, n: int) -> int:
    """The place of an interval among all of n units."""
    return start * n - start * (start - 1) // 2 + stop - start - 1


class Parts(NamedTuple):
    """What every interval adds at every strength, [I, Q, N]."""

    x: Floats  # ⟨g_s,z⟩; divided by ‖g_s‖ for cosines
    y: Floats  # ⟨g_t,z⟩
    mix: Floats  # share · x + (1 − share) · y
    squares: Floats  # ‖z‖²
    batch: Floats  # ⟨g,z⟩


def _parts(steps: Steps, products: Floats, mix: Mix) -> Parts:
    batch, y, x, squares = (products[..., i] for i in (0, 1, 2 + mix.past, -2))
    if mix.axes == "cosine":
        which = [0, 1, 2 + mix.past]
        norms = np.sqrt(np.maximum(np.diagonal(steps.gram.sum(1), axis1=1, axis2=2)[:, which], 0.0))
        if not norms.all():
            zeros = f"{steps.name} has a gradient of zeros in task {steps.task + 1}, with which there are no cosines"
            raise UsageError(f"{zeros}; choose the axes unit or raw.")
        batch, y, x = (one / norm for one, norm in zip((batch, y, x), norms.T, strict=True))
    return Parts(x, y, mix.share * x + (1 - mix.share) * y, squares, batch)


def judge(parts: Parts, n: int, choice: Choice, mix: Mix, norm_g: Floats | None = None) -> Judged:
    """The means over snapshots; with ‖g‖ [N], z is rescaled to that length, which changes ‖z‖ alone on these axes."""
    found = _sums(parts, n, choice)
    norm_z = np.sqrt(found.squares)
    length = np.ones_like(norm_z) if mix.axes == "raw" else norm_z
    value, x, y, batch_y = (float((one / length).mean()) for one in (found.mix, found.x, found.y, found.batch))
    return Judged(value, x, y, batch_y, float((norm_z if norm_g is None else norm_g).mean()))


def search(parts: Parts, n: int, per_length: bool, most: int) -> Choice:
    """The partition into at most so many modules, and their strengths, with the largest mix (per unit ‖z‖)."""
    if not per_length:
        return _best_sum(parts.mix.sum(2), n, most)
    Q = parts.mix.shape[1]
    starts: list[Choice] = [((0, n, q),) for q in range(Q)]
    starts += [tuple((i, i + 1, q) for i in range(n)) for q in range(Q) if n <= most]
    starts += [_best_sum(_gains(parts, n, starts[0], factor), n, most) for factor in LENGTH_FACTORS]
    values: dict[Choice, float] = {}
    for choice in starts:
        while choice not in values:
            values[choice] = _value(parts, n, choice)
            choice = _best_sum(_gains(parts, n, choice), n, most)
    return max(_climb(parts, n, choice, most) for choice in sorted(values, key=values.__getitem__)[-CLIMBS:])[1]


def _gains(parts: Parts, n: int, choice: Choice, length_factor: float = 1.0) -> Floats:
    """[I, Q]: d (m / √s) = dm / √s − m / (2 s √s) ds, with m the mix and s = ‖z‖², summed up over snapshots.

    With a factor, the second part counts more or less, which leads to other partitions to start from.
    """
    found = _sums(parts, n, choice)
    length = np.sqrt(found.squares)
    gains = parts.mix / length - length_factor * parts.squares * (found.mix / found.squares / (2 * length))
    return np.asarray(gains.sum(2))


def _climb(parts: Parts, n: int, choice: Choice, most: int) -> tuple[float, Choice]:
    """Change one or two neighbouring modules at a time while that helps → the value, and the partition."""
    value = _value(parts, n, choice)
    while True:
        better = max((_value(parts, n, one), one) for one in _neighbours(choice, n, parts.mix.shape[1], most))
        if not better[0] > value + 1e-12 * abs(value):  # also if they are not numbers
            return value, choice
        value, choice = better


def _neighbours(choice: Choice, n: int, Q: int, most: int) -> Iterator[Choice]:
    """Partitions in which one module has another strength or is cut in two, or two are joined or have another border."""
    yield choice
    for k, (start, stop, q) in enumerate(choice):
        before, after = choice[:k], choice[k + 1 :]
        for other in range(Q):
            yield (*before, (start, stop, other), *after)
            for cut in range(start + 1, stop if len(choice) < most else start + 1):
                yield (*before, (start, cut, q), (cut, stop, other), *after)
                yield (*before, (start, cut, other), (cut, stop, q), *after)
        if after:
            _, end, next_q = after[0]
            for other in range(Q):
                yield (*before, (start, end, other), *after[1:])
            for cut in range(start + 1, end):
                yield (*before, (start, cut, q), (cut, end, next_q), *after[1:])


def _value(parts: Parts, n: int, choice: Choice) -> float:
    found = _sums(parts, n, choice)
    return float((found.mix / np.sqrt(found.squares)).mean())


def _best_sum(gains: Floats, n: int, most: int) -> Choice:
    """The partition with the largest sum of the gains [I, Q] of its modules, each at its best strength."""
    strength, gain = gains.argmax(1), gains.max(1)
    best = np.full((most + 1, n + 1), -np.inf)
    came_from = np.zeros((most + 1, n + 1), int)
    best[0, 0] = 0.0
    for count in range(1, most + 1):
        for stop in range(count, n + 1):
            sums = [best[count - 1, start] + gain[number_of(start, stop, n)] for start in range(stop)]
            came_from[count, stop] = int(np.argmax(sums))
            best[count, stop] = sums[came_from[count, stop]]
    stop, choice = n, []
    for count in range(int(best[:, n].argmax()), 0, -1):
        start = int(came_from[count, stop])
        choice.append((start, stop, int(strength[number_of(start, stop, n)])))
        stop = start
    return tuple(reversed(choice))


def _sums(parts: Parts, n: int, choice: Choice) -> Parts:
    """The same of a whole partition, each [N]; ‖z‖² is above 0, because others are divided by it."""
    at = [number_of(start, stop, n) for start, stop, _ in choice], [q for _, _, q in choice]
    sums = Parts(*(part[at].sum(0) for part in parts))
    return sums._replace(squares=np.maximum(sums.squares, np.finfo(float).tiny))
