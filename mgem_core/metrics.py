"""What a run is judged by: ACC, FWD, BWD from the accuracy matrix R, and comparisons of Pareto fronts."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def acc_fwd_bwd(R: ArrayLike) -> tuple[float, float, float]:
    """R [T, T], R[i, j] = accuracy on task j after learning task i → (ACC, FWD, BWD), with ACC = FWD + BWD.

    ACC = mean_j R[T, j]     FWD = mean_j R[j, j]     BWD = mean_j (R[T, j] − R[j, j])
    """
    R = np.asarray(R, float)
    if R.ndim != 2 or R.shape[0] != R.shape[1] or not R.size:
        raise ValueError(f"R has shape {R.shape}; it must be a square matrix, tasks × tasks")
    acc, fwd = R[-1].mean(), R.diagonal().mean()
    return float(acc), float(fwd), float(acc - fwd)


def pareto_front(points: ArrayLike) -> NDArray[np.bool_]:
    """Which of points [N, 2] no other point dominates, both coordinates maximised; equal points are both kept.

    A point with a NaN coordinate is never on the front.
    """
    points = _points(points)
    front = np.zeros(len(points), bool)
    order = np.lexsort((-points[:, 1], -points[:, 0]))  # falling x; of equal x, falling y
    best: Floats = np.full(2, np.nan)
    for i in order[~np.isnan(points[order]).any(axis=1)]:
        if not points[i, 1] <= best[1]:
            best = points[i]
        front[i] = (points[i] == best).all()
    return front


def hypervolume(points: ArrayLike, reference: ArrayLike) -> float:
    """Area that points [N, 2] dominate above and to the right of `reference` [2]."""
    points, corner = _points(points), np.asarray(reference, float)
    front = points[pareto_front(points)]
    front = np.unique(front[(front > corner).all(axis=1)], axis=0)[::-1]  # falling x, so rising y
    heights = np.diff(front[:, 1], prepend=corner[1])
    return float(((front[:, 0] - corner[0]) * heights).sum())


def share_dominated(points: ArrayLike, by: ArrayLike) -> float:
    """The share of the front of `points` that some point of `by` dominates."""
    points, by = _points(points), _points(by)
    front = points[pareto_front(points)]
    if not len(front):
        return 0.0
    return float(np.mean([_dominates(by, point).any() for point in front]))


def _dominates(points: Floats, point: Floats) -> NDArray[np.bool_]:
    return np.asarray((points >= point).all(axis=1) & (points > point).any(axis=1))


def _points(points: Any) -> Floats:
    array = np.asarray(points, float).reshape(-1, 2) if np.size(points) == 0 else np.asarray(points, float)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"points have shape {array.shape}; they must be N × 2")
    return array
