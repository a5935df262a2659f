"""Metrics of a run: ACC, FWD and BWD from the accuracy matrix R, and Pareto fronts."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
BY_CHANCE = 1.0  # points; accuracies less than this above chance do not show that anything was learned


def acc_fwd_bwd(R: ArrayLike) -> tuple[float, float, float]:
    """Return (ACC, FWD, BWD), with ACC = FWD + BWD, of R [T, T]; R[i, j] is the accuracy on task j after task i.

    ACC = mean_j R[T, j]     FWD = mean_j R[j, j]     BWD = mean_j (R[T, j] − R[j, j])
    """
    R = np.asarray(R, float)
    if R.ndim != 2 or R.shape[0] != R.shape[1] or not R.size:
        raise ValueError(f"R has shape {R.shape}; it must be a square matrix, tasks × tasks")
    acc, fwd = R[-1].mean(), R.diagonal().mean()
    return float(acc), float(fwd), float(acc - fwd)


def pareto_front(points: ArrayLike) -> NDArray[np.bool_]:
    """Return which points [N, 2] no other point dominates, maximising both coordinates; equal points are all kept.

    A point with a NaN coordinate is never on the front.
    """
    points = np.asarray(points, float)
    points = points if points.size else points.reshape(-1, 2)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"points have shape {points.shape}; they must be N × 2")
    front = np.zeros(len(points), bool)
    order = np.lexsort((-points[:, 1], -points[:, 0]))  # descending x, then descending y
    best: Floats = np.full(2, np.nan)
    for i in order[~np.isnan(points[order]).any(axis=1)]:
        if not points[i, 1] <= best[1]:
            best = points[i]
        front[i] = (points[i] == best).all()
    return front
