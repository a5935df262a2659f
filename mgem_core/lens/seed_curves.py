"""Curves over the strength at recorded steps: for each line and seed, means over the steps of that seed.

Every seed counts the same in means over seeds, whatever the number of its steps. `app/explore/js/frontier.js` computes the
same curves in the browser.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mgem_core.lens.answers import Answers, answers
from mgem_core.lens.lines import Line
from mgem_core.lens.recordings import Recording
from mgem_core.lens.steps import Steps, steps_of
from mgem_core.restriction.restriction import Restriction

STRENGTHS = 61  # at which curves are drawn
LARGEST = 30.0  # strength, unless the recorded run had more than half of it
LARGEST_MARGIN = 4.0  # where strengths are margins, in units of the median ‖g_s‖²
CURVATURE = 1500  # of the scale of strengths, which is nearly linear below its 1500th part and logarithmic above
KEEPS, LEARNS, MEMORY = range(3)  # the last axis of curves: ⟨g_s,z⟩, ⟨g_t,z⟩ or ⟨g,z⟩, and ⟨ĝ_s,z⟩ on the memory
Floats = NDArray[np.float64]
Pair = tuple[int, int]  # past task s and current task t, counted from 0


def pairs_of(recordings: Sequence[Recording], before: int | None = None) -> list[Pair]:
    """Return the pairs of tasks that all recordings have, with current tasks before this one."""
    tasks = set.intersection(*(set(recording.tasks) for recording in recordings))
    return [(s, t) for t in sorted(tasks) if before is None or t < before for s in range(t)]


def strength_grid(recordings: Sequence[Recording]) -> Floats:
    """Return the strengths q = c (e^(k t) − 1) for t from 0 to 1: logarithmic, but beginning with 0."""
    base, largest = base_restriction(recordings[0]), LARGEST
    if base.strength_kind == "margin":
        tasks = set.intersection(*(set(recording.tasks) for recording in recordings))
        every = [steps_of(recording, min(tasks)).gram[:, :, 2, 2].sum(1) for recording in recordings]
        squares = np.sort(np.concatenate(every))
        largest = LARGEST_MARGIN * float(squares[len(squares) // 2])
    used = float(np.max(base.strength)) if recordings[0].used else 0.0
    c, k = max(largest, 2 * used) / CURVATURE, np.log(CURVATURE + 1)
    return np.asarray(c * (np.exp(k * np.linspace(0, 1, STRENGTHS)) - 1))


def base_restriction(recording: Recording) -> Restriction:
    """Return the options of the recorded run, with which all lines are computed unless a line changes them."""
    return Restriction.of(recording.used)


def seed_curves(
    recordings: Sequence[Recording],
    lines: Sequence[Line],
    strengths: Sequence[float] | Floats,
    pairs: Sequence[Pair],
    axes: str = "unit",
    gradient: str = "full",
) -> Floats:
    """Return the curves [lines, seeds, strengths, 3] of recordings of one configuration, with one recording per seed.

    They are means over the steps of a recording and then over the pairs. Steps at which an axis divides by 0 are left out.
    """
    return np.stack([_curves(recording, lines, strengths, pairs, axes, gradient) for recording in recordings], axis=1)


def _curves(
    recording: Recording,
    lines: Sequence[Line],
    strengths: Sequence[float] | Floats,
    pairs: Sequence[Pair],
    axes: str,
    gradient: str,
) -> Floats:
    found = []
    for task in sorted({t for _, t in pairs}):
        answered = _answer(steps_of(recording, task), lines, strengths, base_restriction(recording))
        found += [_mean_over_steps(answered, axes, gradient, s) for s, t in pairs if t == task]
    return np.asarray(np.mean(found, axis=0).reshape(len(lines), len(strengths), 3))


def _answer(steps: Steps, lines: Sequence[Line], strengths: Sequence[float] | Floats, base: Restriction) -> Answers:
    restrictions = [
        replace(base, modules=line.modules, splits=line.splits, solver=line.solver, strength=float(q))
        for line in lines
        for q in strengths
    ]
    return answers(steps, restrictions)


def _mean_over_steps(found: Answers, axes: str, gradient: str, s: int) -> Floats:
    """Return the means [lines · strengths, 3] over the steps at which all three products are known."""
    x, y, batch_y = found.on_axes(axes, s)
    norm_gs = found.norm_gs[:, s] if axes == "cosine" else 1.0
    lengths = np.ones_like(x) if axes == "raw" else found.norm_z * norm_gs
    with np.errstate(divide="ignore", invalid="ignore"):
        memory = found.memory_z[:, :, s] / lengths
    values = np.stack([x, y if gradient == "full" else batch_y, memory], axis=2)
    is_known = np.isfinite(values).all(axis=2, keepdims=True)
    counts = is_known.sum(axis=1)
    sums = np.where(is_known, values, 0.0).sum(axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0))


def mean_over_seeds(curves: Floats) -> tuple[Floats, Floats]:
    """Return means and standard errors [lines, strengths, 3] over the seeds with a value; NaN where undefined."""
    is_known = np.isfinite(curves)
    n = is_known.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(is_known, curves, 0.0).sum(axis=1) / n
        squares = np.where(is_known, curves - mean[:, None], 0.0) ** 2
        deviation = np.sqrt(squares.sum(axis=1) / (n - 1))
        return mean, np.where(n > 1, deviation / np.sqrt(n), np.nan)
