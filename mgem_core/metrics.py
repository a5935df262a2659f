"""Metrics of a run: ACC, FWD, BWD and Forgetting from the accuracy matrix R, and Pareto fronts."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
MEASURES = {"acc": "ACC", "fwd": "FWD", "bwd": "BWD", "forgetting": "Forgetting"}  # of R, in the order of tables
BY_CHANCE = 1.0  # points; accuracies less than this above chance do not show that anything was learned


def acc_fwd_bwd(R: ArrayLike) -> tuple[float, float, float]:
    """Return (ACC, FWD, BWD), with ACC = FWD + BWD, of R [T, T]; R[i, j] is the accuracy on task j after task i.

    ACC = mean_j R[T, j]     FWD = mean_j R[j, j]     BWD = mean_j (R[T, j] − R[j, j])
    """
    R = _square(R)
    acc, fwd = R[-1].mean(), R.diagonal().mean()
    return float(acc), float(fwd), float(acc - fwd)


def forgetting(R: ArrayLike, shares_network: bool = True) -> float:
    """Return the Forgetting of R [T, T]: how far the final accuracy on the earlier tasks is below the best one before.

    F = 1 / (T − 1) · Σ_{j<T} (max_{l<T} R[l, j] − R[T, j])

    This is the average forgetting of Chaudhry et al. 2018, "Riemannian Walk for Incremental Learning: Understanding
    Forgetting and Intransigence" (ECCV). The maximum is over all rows but the last, also those before task j was learned.
    So F ≥ −BWD · T / (T − 1), with equality if R[j, j] is this maximum for every task j < T. F can be negative only if the
    last task raises the accuracy on an earlier task above all accuracies before.

    NaN for a single task, for a missing row (NaN), and for methods with a network per task (`shares_network` is False).
    """
    R = _square(R)
    if len(R) < 2 or not shares_network:
        return float("nan")
    with np.errstate(invalid="ignore"):  # ∞ − ∞ is unknown, too
        return float((R[:-1, :-1].max(axis=0) - R[-1, :-1]).mean())


def _square(R: ArrayLike) -> Floats:
    R = np.asarray(R, float)
    if R.ndim != 2 or R.shape[0] != R.shape[1] or not R.size:
        raise ValueError(f"R has shape {R.shape}; it must be a square matrix, tasks × tasks")
    return R


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
