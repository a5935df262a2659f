"""The direction z in which the parameters move, from a gradient and memory rows: the part of the method with tensors.

It works on vectors, without a network. The dual problem, which needs only their inner products, is solved in `dual.py`:

    b = G g,  A = G Gᵀ  →  v  →  z_d = g_d + G_dᵀ v_d  for every module d
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mgem_core.restriction import dual
from mgem_core.restriction.restriction import RIDGE, Restriction, RidgeKind, Solver, StrengthKind, Trigger

Modules = list[list[slice]]  # for each module, its slices of the P parameters
PANEL = 16  # rows per panel in `gram`
DOUBLE_AT_ONCE = 1 << 16  # columns that are converted to double precision at once


@dataclass(frozen=True, kw_only=True)
class Direction(dual.Solution):
    z: Tensor  # [P]


def project(
    gradient: Tensor,
    rows: Tensor,
    modules: Sequence[slice | Sequence[slice]] = (slice(None),),
    strength: float | Sequence[float] = 0.0,
    strength_kind: StrengthKind = "dual-floor",
    solver: Solver = "exact",
    trigger: Trigger = "violation",
    ridge: float = RIDGE,
    ridge_kind: RidgeKind = "relative",
) -> Direction:
    """Restrict a gradient [P] by rows [C, P] → z [P], v [D, C]; a module is a slice of the P parameters, or several."""
    g, G = torch.as_tensor(gradient).detach(), torch.as_tensor(rows).detach()
    dtype = torch.promote_types(torch.promote_types(g.dtype, G.dtype), torch.float32)
    g, G = g.to(dtype), G.to(dtype)
    if g.ndim != 1 or G.ndim != 2 or G.shape[1] != len(g):
        raise ValueError(f"gradient has shape {tuple(g.shape)} and rows {tuple(G.shape)}; they must be [P] and [C, P]")
    if any(not list(_pieces(module)) for module in modules):
        raise ValueError("a module is empty; every module must be a slice of the parameters, or several")
    pieces = [(piece, d) for d, module in enumerate(modules) for piece in _pieces(module)]
    covered = torch.zeros(len(g), dtype=torch.int)
    for piece, _ in pieces:
        covered[piece] += 1
    if not (covered == 1).all():
        raise ValueError("modules must cover every parameter exactly once")
    if np.size(strength) not in (1, len(G)):
        raise ValueError(f"strength is {strength!r}; it must be one number, or one for each of the {len(G)} rows")
    restriction = Restriction(
        strength=strength, strength_kind=strength_kind, solver=solver, trigger=trigger, ridge=ridge, ridge_kind=ridge_kind
    )
    slices = [list(_pieces(module)) for module in modules]
    solution = solve(g, G, slices, restriction)
    return Direction(z=update_direction(g, G, solution.v, slices), **vars(solution))


def module_slices(sizes: Sequence[int], module_of: Sequence[int]) -> Modules:
    """Return the slices of each module, from the size and the module of each tensor; adjacent tensors share a slice."""
    modules: Modules = [[] for _ in range(max(module_of) + 1)]
    start = 0
    for size, d in zip(sizes, module_of, strict=True):
        if modules[d] and modules[d][-1].stop == start:
            modules[d][-1] = slice(modules[d][-1].start, start + size)
        else:
            modules[d].append(slice(start, start + size))
        start += size
    return modules


def solve(g: Tensor, G: Tensor, modules: Modules, restriction: Restriction) -> dual.Solution:
    """Compute v of each module from g [P] and G [C, P]: first b = G g, and A = G Gᵀ only where it is needed."""
    pieces = [[(g[piece], G[:, piece]) for piece in module] for module in modules]
    b = torch.stack([_sum([G_d @ g_d for g_d, G_d in module]) for module in pieces])
    squared_g = torch.stack([_sum([g_d @ g_d for g_d, _ in module]) for module in pieces])

    def gram_of(d: int) -> Tensor:
        return _sum([gram(G_d) for _, G_d in pieces[d]])

    if not computes_all_at_once(g):
        products = torch.cat([b, squared_g[:, None]], dim=1).double().numpy()
        return dual.solve_modules(products[:, :-1], lambda d: gram_of(d).double().numpy(), products[:, -1], restriction)
    A = torch.stack([gram_of(d) for d in range(len(modules))])
    together = torch.cat([b.flatten(), A.flatten(), squared_g]).cpu().double().numpy()  # one transfer
    b_there, A_there, squares = np.split(together, [b.numel(), b.numel() + A.numel()])
    return dual.solve_modules(b_there.reshape(b.shape), A_there.reshape(A.shape).__getitem__, squares, restriction)


def computes_all_at_once(g: Tensor) -> bool:
    """Return whether b and A are computed together: on a GPU, waiting for b before computing A costs more than A."""
    return not g.is_cpu


def gram(G: Tensor) -> Tensor:
    """Return A = G Gᵀ [C, C]; on the CPU in panels of 16 columns, because MKL takes twice as long for 19 rows at once."""
    C = len(G)
    if C <= PANEL or computes_all_at_once(G):
        return G @ G.T
    A = G.new_empty(C, C)
    for start in range(0, C, PANEL):
        end = start + PANEL
        A[start:, start:end] = G[start:] @ G[start:end].T
        A[start:end, end:] = A[end:, start:end].T
    return A


def update_direction(g: Tensor, G: Tensor, v: np.ndarray, modules: Modules, out: Tensor | None = None) -> Tensor:
    """Return z with z_d = g_d + G_dᵀ v_d for each module d, in `out` if it is given.

    Where v_d = 0, z_d is bit-identical to g_d; if v = 0, z is g itself.
    """
    if not v.any():
        return g
    z, G_T = g.clone() if out is None else out.copy_(g), G.T
    v_on_device = torch.as_tensor(v, dtype=g.dtype, device=g.device).unbind()
    for d in np.flatnonzero(v.any(axis=1)):
        for piece in modules[d]:
            z[piece].addmv_(G_T[piece], v_on_device[d])
    return z


def rescale(z: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """Return z with the length of g, and the factor, so that the strength changes only the direction of a step."""
    length = torch.linalg.vector_norm(z)
    factor = torch.where(length > 0, torch.linalg.vector_norm(g) / length, 1.0)
    return z * factor, factor


def grams(vectors: Sequence[Sequence[Tensor]]) -> np.ndarray:
    """Return the inner products S [L, M, M] of M vectors, each given as L tensors, per tensor and in double precision."""
    stacks = [torch.stack([part.flatten() for part in parts]) for parts in zip(*vectors, strict=True)]
    return torch.stack([_gram_in_double(stack) for stack in stacks]).cpu().numpy()


def _gram_in_double(stack: Tensor) -> Tensor:
    """Return the Gram matrix [M, M] of rows [M, P], piece by piece, because a copy in double may not fit in memory."""
    return _sum([gram(piece) for piece in map(_double, stack.split(DOUBLE_AT_ONCE, dim=1))])


def _double(piece: Tensor) -> Tensor:
    """Convert to double precision, on the CPU if the device does not have it."""
    return (piece.cpu() if piece.device.type == "mps" else piece).double()


def products_with(z: Sequence[Tensor], vectors: Sequence[Sequence[Tensor]]) -> tuple[np.ndarray, np.ndarray]:
    """Return ⟨vector, z⟩ and ‖vector‖² of each vector, in double precision; all are given as a tensor per parameter."""
    products = [
        torch.stack(
            [
                torch.stack([(part * z_l).sum(dtype=torch.float64), part.square().sum(dtype=torch.float64)])
                for part, z_l in zip(vector, z, strict=True)
            ]
        ).sum(0)
        for vector in vectors
    ]
    with_z, squares = torch.stack(products).T.cpu().numpy()
    return with_z, squares


def _sum(parts: Sequence[Tensor]) -> Tensor:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _pieces(module: slice | Sequence[slice]) -> Sequence[slice]:
    return [module] if isinstance(module, slice) else module
