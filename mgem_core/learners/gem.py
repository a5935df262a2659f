"""The GEM family (arXiv 2410.00868, 2024): GEM, p-mGEM, d-mGEM, md-GEM and approx-GEM are one learner with options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mgem_core import networks
from mgem_core.errors import UsageError
from mgem_core.learners import Method, Style, register
from mgem_core.learners._learner import Learner, Step
from mgem_core.randomness import rng
from mgem_core.restriction import partition
from mgem_core.restriction.restriction import FIELDS

if TYPE_CHECKING:
    from mgem_core.config import RunConfig
    from mgem_core.gradients.memory import Memory

# The largest safe sum of the floors of all rows in the last task, measured: see docs/reproduction.md, docs/comparisons.md.
SAFE_SUM_OF_FLOORS = 20.0  # for floors of at most 1
SMALLER_SAFE_SUM = 8.0  # for larger floors, the closed form (which corrects for each row separately), or trigger "always"


class GEM(Learner):
    def prepare(self) -> None:
        self.slices, self.restriction = self.module_slices(), self.config.restriction
        self.remembered: list[np.ndarray] = []  # the images in the memory of each past task
        self._rebuild_rows()

    def observe(self, task: int, step: int, indices: np.ndarray) -> Step:
        from mgem_core.restriction import direction

        if self.gradients is None:
            return super().observe(task, step, indices)
        loss, g, G = self.gradients(self.stream.batch(task, indices))
        solution, scale = direction.solve(g, G, self.slices, self.restriction), None
        z = direction.update_direction(g, G, solution.v, self.slices, out=self.z)
        if self.restriction.step_length == "gradient":
            z, scale = direction.rescale(z, g)
        memory_z = (self.shares * solution.rows_z.reshape(self.shares.shape)).sum(axis=1)
        split, violated = self.gradients.split, float(solution.violated.mean())
        return self.move(task, Step(loss, split(g), split(z), violated, solution.retries, memory_z, scale))

    def finish_task(self, task: int, shown: np.ndarray) -> None:
        self.remembered.append(self.draw_samples(task, shown, self.config.memory))
        self._rebuild_rows()

    def memory(self, splits: int) -> Memory | None:
        from mgem_core.gradients.memory import pack

        if splits in self.packed:
            return self.packed[splits]
        rows = []
        for task, images in enumerate(self.remembered):
            rows += [self.stream.batch(task, part) for part in self._split(task, images, splits)]
        self.packed[splits] = pack(rows) if rows else None
        return self.packed[splits]

    def _split(self, task: int, images: np.ndarray, splits: int) -> list[np.ndarray]:
        """Divide the images in the memory of a task into splits."""
        labels = self.stream.labels.cpu().numpy()[images]
        generator = rng(self.config.seed, "splits", task)
        return [images[part] for part in partition.splits(labels, splits, self.config.split_by, generator)]

    def check(self, task: int, shown: np.ndarray) -> None:
        images = self.draw_samples(task, shown, self.config.memory)
        for splits in (self.config.splits, self.config.snap_splits or 1):
            try:
                self._split(task, images, splits)
            except ValueError as error:  # a small memory may lack a class
                raise UsageError(f"splits is {splits}; {error} (here: of task {task + 1}).") from None

    def _rebuild_rows(self) -> None:
        """Make the memory rows from the remembered images."""
        import torch

        from mgem_core.gradients.rows import rows_and_batch

        config = self.config
        self.packed: dict[int, Memory | None] = {}  # number of splits → memory rows: those of the run and of its snapshots
        self.rows = self.memory(config.splits)
        self.gradients = rows_and_batch(self.network, self.rows) if self.rows else None
        self.z = torch.empty_like(self.gradients.g) if self.gradients else None  # reused, as in AutogradRows
        sizes = np.reshape(self.rows.sizes if self.rows else (), (-1, config.splits))
        self.shares = sizes / sizes.sum(axis=1, keepdims=True)  # [S, K] share of each split in the memory of its task

    def restore(self, state: dict[str, Any], shown: list[np.ndarray], steps: int) -> None:
        super().restore(state, shown, steps)
        self.remembered = [self.draw_samples(task, images, self.config.memory) for task, images in enumerate(shown)]
        self._rebuild_rows()


def label(config: RunConfig) -> str:
    """Return the paper's name, e.g. "p-mGEM(4)"; a star marks a partition that the user gave as a mapping."""
    D = config.module_count_text
    if config.solver == "approx":
        return f"approx-GEM({D},{config.splits})"
    if config.splits == 1:
        return "GEM" if D == "1" else f"p-mGEM({D})"
    return f"d-mGEM({config.splits})" if D == "1" else f"md-GEM({D},{config.splits})"


def passes(config: RunConfig, task: int) -> int:
    """Return the passes of a step: linear layers need one for all memory rows, other networks one per past task.

    With copying its gradient into G, that one takes as long as three (measured with conv-small).
    """
    info = config.benchmark_info
    has_convolutions = networks.has_convolutions(config.network, info.shape, info.classes)
    return 1 + (3 * task if has_convolutions else min(task, 1))


def fields_without_effect(config: RunConfig) -> set[str]:
    """Return the fields that have no effect because of others.

    Without a floor, v = 0 solves the dual problem if no constraint is violated, so the trigger does not matter.
    """
    without_floor = not np.any(config.strength) or config.strength_kind == "margin"
    without_effect = {
        "trigger": without_floor,
        "strength_kind": not np.any(config.strength),
        "strength_per": not np.any(config.strength) or config.splits == 1,
        "ridge": config.solver == "approx",
        "ridge_kind": config.solver == "approx" or config.ridge == 0,
        "split_by": max(config.splits, config.snap_splits if config.snap_every else 1) == 1,
        "snap_splits": not config.snap_every,
    }
    return {name for name, is_without in without_effect.items() if is_without}


def caution(config: RunConfig) -> str:
    """Return a warning if the floors q are so large that accuracy may collapse: a restricted step adds at least Σ q ĝ."""
    past = config.tasks - 1
    if not past or config.step_length == "gradient" or config.strength_kind == "margin":
        return ""
    splits = 1 if config.strength_per == "task" else config.splits
    floors = splits * float(np.broadcast_to(config.strength, (past,)).sum())
    is_risky = config.solver == "approx" or config.trigger == "always" or bool(np.max(config.strength) > 1)
    safe = SMALLER_SAFE_SUM if is_risky else SAFE_SUM_OF_FLOORS
    if floors <= 1.05 * safe:
        return ""
    strengths = ", ".join(f"{q:g}" for q in np.atleast_1d(config.strength))
    return (
        f"{config.label} with strength {strengths} makes very long steps in the last task: the floors add up to "
        f"{floors:g}. With sums above {safe:g}, the accuracy of some or all seeds collapsed; try a strength of at most "
        f"{safe / past / splits:.2g}, or a step length that is the same as the gradient's."
    )


register(
    Method(
        name="gem",
        about="the whole GEM family: the knobs decide which",
        learner=GEM,
        label=label,
        families={
            "GEM": Style("#0072B2", "circle", "o"),
            "p-mGEM": Style("#D55E00", "triangle-up", "^"),
            "d-mGEM": Style("#009E73", "square", "s"),
            "md-GEM": Style("#CC79A7", "diamond", "D"),
            "approx-GEM": Style("#E69F00", "cross", "P"),
        },
        fields=(*(name for name in FIELDS if name != "rule"), "memory", "snap_every", "snap_splits"),
        fields_without_effect=fields_without_effect,
        caution=caution,
        keeps_samples_per_task=True,
        cost=lambda config, task: task * config.memory,
        passes=passes,
    )
)
