"""The events of a run: plain data, without torch, ready to be pickled or stored."""

from dataclasses import dataclass
from math import isnan, nan
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Started:
    label: str
    tasks: tuple[str, ...]  # one name per task
    iterations: int  # steps per task
    parameters: int
    task: int  # where the run starts: 0, 0 unless it resumes a checkpoint
    step: int
    key: str = ""  # see mgem_core.config.keys
    notice: str = ""  # why the run starts from the beginning although there was a checkpoint


@dataclass(frozen=True)
class Stepped:
    """Means over the steps since the previous Stepped event."""

    task: int
    step: int  # steps done in this task
    loss: float
    violated: float  # fraction of the module problems with a violated constraint
    seconds_per_step: float
    retries: int  # how often the exact solver needed a larger ridge


@dataclass(frozen=True)
class Probed:
    """Measurements of one step: inner products of its direction z with the gradients of all tasks and of the batch.

    The gradients g_s and g_t belong to the mean loss on training sets, or on `probe_samples` of their images.
    """

    task: int
    step: int
    gs_z: np.ndarray  # [S] ⟨g_s, z⟩ of every past task s
    gt_z: float  # ⟨g_t, z⟩ of the current task t
    batch_z: float  # ⟨g, z⟩, g on the batch of this step
    memory_z: np.ndarray  # [S] ⟨ĝ_s, z⟩, ĝ_s on the memory of task s; NaN for methods without constraints on it
    norm_z: float
    norm_gs: np.ndarray  # [S]
    norm_gt: float
    norm_g: float


@dataclass(frozen=True)
class Snapped:
    """The Gram matrices of one step, from which z follows for other modules, splits and strengths.

    gram [L, M, M], one matrix per parameter tensor; its M rows are g on the batch, g_t, g_s of every past task, and the
    memory rows, task by task. `sizes` [S, K] are their sample counts, so coarser splits are weighted means of finer ones.
    """

    task: int
    step: int
    gram: np.ndarray
    sizes: np.ndarray


@dataclass(frozen=True)
class TaskLearned:
    task: int
    row: np.ndarray  # [T] accuracy in percent on every task: the new row of R
    seconds: float  # spent in this run so far


@dataclass(frozen=True)
class Finished:
    status: Literal["finished", "diverged", "failed"]
    message: str
    R: np.ndarray  # [T, T]; rows never reached are NaN
    acc: float
    fwd: float  # NaN where it has no meaning (independent networks)
    bwd: float
    seconds: float
    seconds_per_step: float
    fingerprint: str  # hash of the final weights: equal if and only if all bits are equal
    validation_acc: float = nan  # mean accuracy on the held-out training images of all tasks; NaN if none were held out
    events: int | None = None  # number of events of the run, without Started and this one


Event = Started | Stepped | Probed | Snapped | TaskLearned | Finished


def number(value: float) -> float | None:
    """Convert to a number for JSON and SQL; NaN, which they do not have, becomes None."""
    return None if isnan(value) else float(value)
