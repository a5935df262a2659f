"""The dual problem of all methods of the GEM family: Gram matrices → v, with numpy only.

The paper (arXiv 2410.00868, 2024) restricts the gradient g to a direction z that agrees with the memory:

    min_z ‖g − z‖²    s.t.  ⟨ĝ_c^d, z^d⟩ ≥ γ_c^d   for every memory row c and module d   (p-mGEM, d-mGEM; D = K = 1 is GEM)

Every module d is a separate problem (Lemma 1). Its dual needs only A = G Gᵀ and b = G g of the memory rows G [C, P]
and the gradient g [P] of the module:

    min_v  1/2 vᵀ A v + (b − γ)ᵀ v    s.t.  v ≥ q          and then  z = g + Gᵀ v

with a floor q and γ = 0 ("dual-floor", GEM's memory strength), or a margin γ and q = 0 ("margin").
The paper writes Ĝ with a minus sign, with which z would conflict with the memory. Here rows are positive, as in GEM's code.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import quadprog
from numpy.typing import NDArray

from mgem_core.restriction.restriction import VIOLATED, Restriction, RidgeKind

Floats = NDArray[np.float64]


class NoSolutionError(ArithmeticError):
    """The exact solver found no solution of a dual problem with finite numbers."""


class Dual(NamedTuple):
    """The solution for one module."""

    v: Floats  # [C]; all zero if the trigger left g unchanged
    rows_z: Floats  # [C] ⟨ĝ_c, z⟩ in this module, b + A v
    violated: bool  # is some ⟨ĝ_c, g⟩ < γ_c?
    retries: int  # times the exact solver needed a larger ridge


@dataclass(frozen=True, kw_only=True)
class Solution:
    """The solution for all modules."""

    v: Floats  # [D, C]
    rows_z: Floats  # [C] ⟨ĝ_c, z⟩
    violated: NDArray[np.bool_]  # [D] per module: is some ⟨ĝ_c, g⟩ < γ_c?
    retries: int  # times the exact solver needed a larger ridge


def solve_modules(b: Floats, A: Callable[[int], Floats], squared_g: Floats, restriction: Restriction) -> Solution:
    """Solve the dual problem of each module d from b = G g [D, C], A(d) [C, C] and ‖g‖² [D].

    A is called only for modules that need it.
    """
    modules = zip(b, squared_g, strict=True)
    duals = [solve_module(partial(A, d), b_d, squared, restriction) for d, (b_d, squared) in enumerate(modules)]
    rows_z = sum(dual.rows_z for dual in duals)  # ⟨ĝ_c, z⟩ = Σ_d (b_d + A_d v_d)_c
    return Solution(
        v=np.stack([dual.v for dual in duals]),
        rows_z=np.asarray(rows_z),
        violated=np.array([dual.violated for dual in duals]),
        retries=sum(dual.retries for dual in duals),
    )


def solve_module(A: Floats | Callable[[], Floats], b: Floats, squared_g: float, restriction: Restriction) -> Dual:
    """Solve the dual problem of one module. A [C, C] may be a function, which is called only if b [C] is not sufficient."""
    for products in (b,) if callable(A) else (b, A):
        _check_finite(products)
    strength = restriction.row_strengths(len(b))
    q, gamma = (strength, 0.0) if restriction.strength_kind == "dual-floor" else (np.zeros_like(b), strength)
    c = b - gamma
    may_be_violated = bool((c < 0).any())
    if restriction.trigger == "violation" and not may_be_violated:
        return Dual(np.zeros_like(b), b, False, 0)
    if callable(A):
        A = A()
        _check_finite(A)
    violated = may_be_violated and bool(is_violated(c, A.diagonal(), squared_g).any())
    if restriction.trigger == "violation" and not violated:
        return Dual(np.zeros_like(b), b, False, 0)
    if restriction.solver == "approx":
        v, retries = approx(A.diagonal(), c, q), 0
    else:
        v, retries = exact(A, c, q, restriction.ridge, restriction.ridge_kind)
    return Dual(v, b + A @ v, violated, retries)


def is_violated(c: Floats, diagonal: Floats, squared_g: Floats | float) -> NDArray[np.bool_]:
    """Return for each row whether c = ⟨ĝ_c, g⟩ − γ_c is negative beyond rounding errors; `diagonal` has ‖ĝ_c‖²."""
    return np.asarray(c < VIOLATED * np.sqrt(np.maximum(diagonal * squared_g, 0.0)))


def _check_finite(products: Floats) -> None:
    if not np.isfinite(products).all():
        raise FloatingPointError("a gradient is not finite, or too large to be squared")


def approx(diagonal: Floats, c: Floats, q: Floats) -> Floats:
    """Return v = max(−c / diag(A), q), row by row (approx-GEM); rows of zeros restrict nothing and have v = q."""
    floor = np.broadcast_to(q, np.broadcast_shapes(np.shape(diagonal), c.shape, np.shape(q)))
    return np.maximum(np.divide(-c, diagonal, out=floor.copy(), where=diagonal > 0), floor)


def exact(A: Floats, c: Floats, q: Floats, ridge: float, ridge_kind: RidgeKind) -> tuple[Floats, int]:
    """Solve min_v 1/2 vᵀ(A + ridge)v + cᵀv with v ≥ q by quadprog → v [C], and how often it needed a larger ridge.

    Rows are scaled to unit length first, so that their scale does not matter. With v = q + u it is a problem in u ≥ 0.
    Rows of zeros restrict nothing and have v = q.
    """
    norm = np.sqrt(np.maximum(A.diagonal(), 0.0))
    nonzero = norm > 0
    v = np.array(q, float)
    if not nonzero.any():
        return v, 0
    norm = norm[nonzero]
    unit_A = A[np.ix_(nonzero, nonzero)] / norm / norm[:, None]
    unit_ridge = np.full(len(norm), ridge) if ridge_kind == "relative" else ridge / norm**2
    unit_q = v[nonzero] * norm
    u, retries = _solve_above_floor(unit_A, c[nonzero] / norm, unit_q, unit_ridge)
    v[nonzero] = (unit_q + u) / norm
    return np.maximum(v, q), retries


def _solve_above_floor(A: Floats, c: Floats, q: Floats, ridge: Floats) -> tuple[Floats, int]:
    """Find u ≥ 0 that minimises 1/2 uᵀHu + (c + Hq)ᵀu with H = A + ridge; increase the ridge until quadprog solves it."""
    for retries in range(8):
        H = A + np.diag(ridge)
        slope = c + H @ q
        scale = float(np.abs(slope).max()) or 1.0
        try:
            u = quadprog.solve_qp(H, -slope / scale, np.eye(len(c)), np.zeros(len(c)))[0]
        except ValueError:  # "not positive definite" or "inconsistent", both because of rounding
            u = np.full(len(c), np.nan)
        if _is_optimal(H, slope / scale, u):
            return np.maximum(u, 0.0) * scale, retries
        ridge = np.maximum(ridge * 100, 1e-9)
    raise NoSolutionError(f"the exact solver found no solution of a dual problem with {len(c)} memory rows")


def _is_optimal(H: Floats, slope: Floats, u: Floats) -> bool:
    """Return whether the KKT conditions hold: u ≥ 0, Hu + slope ≥ 0, and one of the two is zero in every row."""
    with np.errstate(invalid="ignore"):
        gradient = H @ u + slope
        tolerance = 1e-6 * max(1.0, float(np.abs(u).max()))
        feasible = (u >= -tolerance).all() and (gradient >= -tolerance).all()
        return bool(feasible and (np.minimum(u, gradient) <= tolerance).all())
