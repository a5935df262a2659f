"""The exact path of v over the strength, for many dual problems at once, with numpy only.

With a strength q, the dual of one module (`dual.py`) is to find u ≥ 0 with y = H u + c + q d ≥ 0 and uᵀ y = 0, where

    v = q w + u,  c = b,  d = H w    for a floor ("dual-floor"), with w the strength of each row at q = 1
    v = u,        c = b,  d = −w     for a margin

and H is A with the ridge. The solution is piecewise linear in q. On each piece, some of the rows have u ≥ 0 and y = 0, the
others u = 0 and y ≥ 0; where one of these numbers reaches zero, its row moves to the other set, by a principal pivot of the
tableau [H | c | d]. The solution at q = 0 is found in the same way: y = H u + c + τ is solved by u = 0 for a large τ,
which then falls to 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mgem_core.restriction.dual import NoSolutionError
from mgem_core.restriction.restriction import Restriction

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
NO_SLOPE = 1e-13  # relative: slopes below it are rounding errors


class Paths(NamedTuple):
    """The paths of B problems: from the strength start[:, j] on, v = v0[:, j] + q · v1[:, j]."""

    start: Floats  # [B, J], increasing; infinite where a path has fewer pieces
    v0: Floats  # [B, J, C]
    v1: Floats  # [B, J, C]

    def at(self, q: Floats) -> Floats:
        """Return v [B, Q, C] at the strengths q [B, Q], or [Q] for all problems."""
        q = np.broadcast_to(q, (len(self.start), np.shape(q)[-1]))
        piece = (self.start[:, None] <= q[:, :, None]).sum(-1) - 1
        b = np.arange(len(q))[:, None]
        return np.asarray(self.v0[b, piece] + q[:, :, None] * self.v1[b, piece])


def paths(A: Floats, b: Floats, weights: Floats, restriction: Restriction) -> Paths:
    """Return the paths of B problems with A [B, C, C] and b [B, C], for a strength of q · weights [C] in each row.

    Rows are scaled to unit length. Rows of zeros restrict nothing. If a path fails because of rounding errors, the ridge is
    increased, as in `dual.exact`.
    """
    norm = np.sqrt(np.maximum(np.diagonal(A, axis1=1, axis2=2), 0.0))
    inverse = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)
    unit_A = A * inverse[:, :, None] * inverse[:, None, :]
    ridge = restriction.ridge
    unit_ridge = np.full_like(norm, ridge) if restriction.ridge_kind == "relative" else ridge * inverse**2
    has_floor = restriction.strength_kind == "dual-floor"
    floor, margin = weights * norm, weights * inverse
    c, todo = b * inverse, np.arange(len(A))
    found: list[tuple[NDArray[np.intp], Floats, Floats, Floats]] = []
    for _ in range(8):
        H = unit_A[todo] + _diagonal(np.where(norm[todo] > 0, unit_ridge[todo], 1.0))
        d = (H @ floor[todo, :, None])[:, :, 0] if has_floor else -margin[todo]
        *path, failed = _follow(H, c[todo], d)
        start, u0, u1 = (part[~failed] for part in path)
        found.append((todo[~failed], start, u0, u1))
        todo = todo[failed]
        if not len(todo):
            break
        unit_ridge = np.maximum(unit_ridge * 100, 1e-9)
    else:
        raise NoSolutionError(f"the path over the strength was not found for {len(todo)} of {len(A)} dual problems")
    start, u0, u1 = _in_order(found, len(A), A.shape[1])
    return Paths(start, u0 * inverse[:, None], u1 * inverse[:, None] + (weights if has_floor else 0.0))


def _follow(H: Floats, c: Floats, d: Floats) -> tuple[Floats, Floats, Floats, Bools]:
    """Return the pieces of u, as in Paths, and which problems failed: a pivot was not positive, or there were too many."""
    B, C = c.shape
    T = np.concatenate([H, c[:, :, None], d[:, :, None], np.ones((B, C, 1))], axis=2)
    is_u, failed = np.zeros((B, C), bool), np.zeros(B, bool)  # is_u: u of the row is positive, not y
    live = np.flatnonzero((c < 0).any(1))
    for _ in range(20 * C + 50):  # decrease τ to the next zero
        values, slopes = T[live, :, C], T[live, :, C + 2]
        tau = np.where(slopes > _rounding(slopes), -values / np.where(slopes == 0, 1.0, slopes), -np.inf)
        row = tau.argmax(1)
        goes_on = tau[np.arange(len(live)), row] > 0
        live, row = live[goes_on], row[goes_on]
        if not len(live):
            break
        live = _pivot(T, is_u, failed, live, row)
    failed[live] = True
    T, q, live = T[:, :, : C + 2], np.zeros(B), np.flatnonzero(~failed)
    pieces = []
    for _ in range(20 * C + 50):  # increase q to the next zero
        values, slopes = T[live, :, C], T[live, :, C + 1]
        pieces.append((live, q[live], np.where(is_u[live], values, 0.0), np.where(is_u[live], slopes, 0.0)))
        next_q = np.where(slopes < -_rounding(slopes), -values / np.where(slopes == 0, 1.0, slopes), np.inf)
        row = next_q.argmin(1)
        reached = next_q[np.arange(len(live)), row]
        goes_on = reached < np.inf
        live, row = live[goes_on], row[goes_on]
        if not len(live):
            break
        q[live] = np.maximum(q[live], reached[goes_on])
        live = _pivot(T, is_u, failed, live, row)
    failed[live] = True
    start = np.full((B, len(pieces)), np.inf)
    u0, u1 = np.zeros((2, B, len(pieces), C))
    for j, (which, at, values, slopes) in enumerate(pieces):
        start[which, j], u0[which, j], u1[which, j] = at, values, slopes
    return start, u0, u1, failed


def _pivot(T: Floats, is_u: Bools, failed: Bools, live: NDArray[np.intp], row: NDArray[np.intp]) -> NDArray[np.intp]:
    """Exchange u and y of one row of each live problem; return those whose pivot was positive."""
    pivot = T[live, row, row]
    is_positive = pivot > 0
    failed[live[~is_positive]] = True
    live, row, pivot = live[is_positive], row[is_positive], pivot[is_positive]
    tableau, n = T[live], np.arange(len(live))
    column = tableau[n, :, row]
    new_row = -tableau[n, row] / pivot[:, None]
    new_row[n, row] = 1 / pivot
    tableau[n, :, row] = 0.0
    tableau += column[:, :, None] * new_row[:, None]
    tableau[n, row] = new_row
    T[live] = tableau
    is_u[live, row] ^= True
    return live


def _rounding(slopes: Floats) -> Floats:
    return np.asarray(NO_SLOPE * np.abs(slopes).max(1, keepdims=True, initial=0.0))


def _diagonal(values: Floats) -> Floats:
    return values[:, :, None] * np.eye(values.shape[1])


def _in_order(
    found: list[tuple[NDArray[np.intp], Floats, Floats, Floats]], B: int, C: int
) -> tuple[Floats, Floats, Floats]:
    """Put the paths of several attempts into one array each."""
    J = max(start.shape[1] for _, start, _, _ in found)
    start, (u0, u1) = np.full((B, J), np.inf), np.zeros((2, B, J, C))
    for which, *path in found:
        for whole, part in zip((start, u0, u1), path, strict=True):
            whole[which, : part.shape[1]] = part
    return start, u0, u1
