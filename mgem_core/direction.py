"""Gradient and memory rows → the direction z in which the parameters move: the part of the GEM family that handles tensors.

It knows vectors, but no network. The dual problem, which needs their inner products alone, is solved in `mgem_core.dual`:

    S = inner products of g and G  →  v  →  z_d = g_d + G_dᵀ v_d  for every module d
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mgem_core import dual


@dataclass(frozen=True, kw_only=True)
class Direction(dual.Solution):
    z: Tensor  # [P]


def project(
    gradient: Tensor,
    rows: Tensor,
    modules: Sequence[slice | Sequence[slice]] = (slice(None),),
    strength: float | Sequence[float] = 0.0,
    strength_kind: dual.StrengthKind = "dual-floor",
    solver: dual.Solver = "exact",
    trigger: dual.Trigger = "violation",
    ridge: float = dual.RIDGE,
    ridge_kind: dual.RidgeKind = "relative",
) -> Direction:
    """gradient [P], rows [C, P] → z [P], v [D, C]; a module is a slice of the P parameters, or several."""
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
    g_pieces, G_pieces = [g[piece] for piece, _ in pieces], [G[:, piece] for piece, _ in pieces]
    module_of = [d for _, d in pieces]
    knobs = dual.Restriction(strength, strength_kind, solver, trigger, ridge, ridge_kind)
    solution = dual.solve(grams(g_pieces, G_pieces), module_of, knobs)
    z = torch.empty_like(g)
    z_pieces = update_direction(g_pieces, G_pieces, solution.v, module_of)
    for (piece, _), z_piece in zip(pieces, z_pieces, strict=True):
        z[piece] = z_piece
    return Direction(z=z, **vars(solution))


def grams(g: Sequence[Tensor], G: Sequence[Tensor]) -> np.ndarray:
    """Per parameter tensor l, the inner products of g_l [P_l] and the rows G_l [C, P_l]: S [L, 1+C, 1+C], g first."""
    C = len(G[0])
    S = torch.empty(len(g), 1 + C, 1 + C, dtype=g[0].dtype, device=g[0].device)
    for S_l, g_l, G_l in zip(S, g, G, strict=True):
        g_l, G_l = g_l.flatten(), G_l.flatten(1)
        S_l[0, 0] = g_l @ g_l
        S_l[0, 1:] = S_l[1:, 0] = G_l @ g_l
        S_l[1:, 1:] = G_l @ G_l.T
    return S.cpu().double().numpy()


def update_direction(g: Sequence[Tensor], G: Sequence[Tensor], v: np.ndarray, module_of: Sequence[int]) -> list[Tensor]:
    """z_l = g_l + G_lᵀ v_d for every tensor l of module d; where v_d = 0, z_l is g_l to the last bit."""
    v_on_device = torch.as_tensor(v, dtype=g[0].dtype, device=g[0].device)
    return [
        g_l + (v_on_device[d] @ G_l.flatten(1)).view_as(g_l) if v[d].any() else g_l
        for g_l, G_l, d in zip(g, G, module_of, strict=True)
    ]


def rescale(z: Sequence[Tensor], g: Sequence[Tensor]) -> tuple[list[Tensor], float]:
    """z with the length of g, and the factor; a strength then decides the direction of a step, not its length."""
    length = torch.stack([torch.linalg.vector_norm(z_l) for z_l in z]).norm()
    target = torch.stack([torch.linalg.vector_norm(g_l) for g_l in g]).norm()
    factor = float(target / length) if length > 0 else 1.0
    return ([z_l * factor for z_l in z] if factor != 1.0 else list(z)), factor


def _pieces(module: slice | Sequence[slice]) -> Sequence[slice]:
    return [module] if isinstance(module, slice) else module
