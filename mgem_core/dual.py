"""Gram matrices → v. The dual problem of every method of the GEM family, on numbers alone (numpy, no torch).

For one module, with memory rows G [C, P] and gradient g [P], all that is needed is A = G Gᵀ and b = G g:

    min_v  1/2 vᵀ A v + (b − γ)ᵀ v    s.t.  v ≥ q          (the direction is then z = g + Gᵀ v)

with a floor q and γ = 0 ("dual-floor", GEM's memory strength), or a margin γ and q = 0 ("margin").
The paper writes Ĝ with a minus sign; with it z would move against the memories. Rows here are positive, as in GEM's code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import quadprog
from numpy.typing import NDArray

Floats = NDArray[np.float64]
StrengthKind = Literal["dual-floor", "margin"]
Solver = Literal["exact", "approx"]
Trigger = Literal["violation", "always"]
RidgeKind = Literal["relative", "absolute"]

CHOICES = {"strength_kind": StrengthKind, "solver": Solver, "trigger": Trigger, "ridge_kind": RidgeKind}
RIDGE = 1e-7  # just above the rounding of float32 Gram matrices


@dataclass(frozen=True)
class Restriction:
    """The knobs of the GEM family, apart from how parameters and memory are split."""

    strength: float | Sequence[float] = 0.0  # one, or one per row
    strength_kind: StrengthKind = "dual-floor"
    solver: Solver = "exact"
    trigger: Trigger = "violation"
    ridge: float = RIDGE  # added to the diagonal of A
    ridge_kind: RidgeKind = "relative"  # to each row's ‖ĝ‖², or "absolute" as in GEM's published code (1e-3)

    def __post_init__(self) -> None:
        for name, kind in CHOICES.items():
            if getattr(self, name) not in get_args(kind):
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(get_args(kind))}")
        for name in ("strength", "ridge"):
            value = np.asarray(getattr(self, name), float)
            if not ((value >= 0) & np.isfinite(value)).all():
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be a number of at least 0")


class NoSolutionError(ArithmeticError):
    """The exact solver found no solution of a dual problem whose numbers are finite."""


class Dual(NamedTuple):
    v: Floats  # [C]; all zero where the trigger left g as it is
    violated: bool  # some ⟨ĝ_c, g⟩ < γ_c
    retries: int  # times the exact solver needed a larger ridge


def modular(S: Floats, module_of: Sequence[int]) -> Floats:
    """Gram matrices per tensor S [L, M, M] → per module [D, M, M]: inner products add up."""
    blocks = np.zeros((max(module_of) + 1, *S.shape[1:]))
    np.add.at(blocks, list(module_of), S)
    return blocks


def solve(A: Floats, b: Floats, knobs: Restriction) -> Dual:
    """The dual of one module: A [C, C], b [C] → v [C]."""
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise FloatingPointError("a gradient is not finite, or too large to be squared")
    strength = np.broadcast_to(np.asarray(knobs.strength, float), b.shape)
    floor, margin = (strength, 0.0) if knobs.strength_kind == "dual-floor" else (np.zeros_like(b), strength)
    c = b - margin
    violated = bool((c < 0).any())
    if knobs.trigger == "violation" and not violated:
        return Dual(np.zeros_like(b), False, 0)
    if knobs.solver == "approx":
        return Dual(approx(A, c, floor), violated, 0)
    v, retries = exact(A, c, floor, knobs.ridge, knobs.ridge_kind)
    return Dual(v, violated, retries)


def approx(A: Floats, c: Floats, q: Floats) -> Floats:
    """v = max(−c / diag(A), q): the diagonal in place of A, row by row, then back into the feasible set (approx-GEM)."""
    diagonal = A.diagonal()
    seen = diagonal > 0
    return np.where(seen, np.maximum(-c / np.where(seen, diagonal, 1.0), q), q)


def exact(A: Floats, c: Floats, q: Floats, ridge: float, ridge_kind: RidgeKind) -> tuple[Floats, int]:
    """min_v 1/2 vᵀ(A + ridge)v + cᵀv, v ≥ q, by quadprog, and how often it had to be asked again.

    Solved in unit rows, so that neither rows nor modules need a scale; with v = q + u it is a problem in u ≥ 0.
    Rows of zeros restrict nothing and keep v = q.
    """
    norm = np.sqrt(np.maximum(A.diagonal(), 0.0))
    seen = norm > 0
    v = np.array(q, float)
    if not seen.any():
        return v, 0
    norm = norm[seen]
    unit = A[np.ix_(seen, seen)] / norm / norm[:, None]
    extra = np.full(len(norm), ridge) if ridge_kind == "relative" else ridge / norm**2
    floor = v[seen] * norm
    u, retries = _nonnegative(unit, c[seen] / norm, floor, extra)
    v[seen] = (floor + u) / norm
    return np.maximum(v, q), retries


def _nonnegative(unit: Floats, c: Floats, floor: Floats, ridge: Floats) -> tuple[Floats, int]:
    """u ≥ 0 that minimises 1/2 uᵀHu + (c + H floor)ᵀu, H = unit + ridge; the ridge grows until the solution is one."""
    for retries in range(8):
        H = unit + np.diag(ridge)
        slope = c + H @ floor
        scale = float(np.abs(slope).max()) or 1.0
        try:
            u = quadprog.solve_qp(H, -slope / scale, np.eye(len(c)), np.zeros(len(c)))[0]
        except ValueError:  # not positive definite, or inconsistent: both mean rounding
            u = np.full(len(c), np.nan)
        if _optimal(H, slope / scale, u):
            return np.maximum(u, 0.0) * scale, retries
        ridge = np.maximum(ridge * 100, 1e-9)
    raise NoSolutionError(f"the exact solver found no solution of a dual problem with {len(c)} memory rows")


def _optimal(H: Floats, slope: Floats, u: Floats) -> bool:
    """Do the KKT conditions hold? u ≥ 0, Hu + slope ≥ 0, and one of the two is zero in every row."""
    with np.errstate(invalid="ignore"):
        pull = H @ u + slope
        tolerance = 1e-6 * max(1.0, float(np.abs(u).max()))
        return bool((u >= -tolerance).all() and (pull >= -tolerance).all() and (np.minimum(u, pull) <= tolerance).all())
