"""Gradient and memory rows → the direction z in which the parameters move. Knows no model, only vectors.

    min_z ‖g − z‖²   s.t.  ⟨ĝ_c^d, z^d⟩ ≥ γ_c^d   for every memory row c and module d    (p-mGEM, d-mGEM; D = K = 1 is GEM)

Every module is a problem of its own (Lemma 1), solved in its dual from inner products (`mgem_core.dual`):

    z_d = g_d + G_dᵀ v_d,      v_d = argmin_v 1/2 ‖G_dᵀ v + g_d‖²   s.t.  v ≥ q
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mgem_core import dual


@dataclass(frozen=True, kw_only=True)
class Solution:
    """The dual of all modules, and what follows from it by inner products alone."""

    v: np.ndarray  # [D, C]
    rows_z: np.ndarray  # [C] ⟨ĝ_c, z⟩
    violated: np.ndarray  # [D] whether some memory row spoke against g
    retries: int  # times the exact solver needed a larger ridge


@dataclass(frozen=True, kw_only=True)
class Direction(Solution):
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
    common = torch.promote_types(torch.promote_types(g.dtype, G.dtype), torch.float32)
    g, G = g.to(common), G.to(common)
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
    solution = solve(grams(g_pieces, G_pieces), module_of, knobs)
    z = torch.empty_like(g)
    for (piece, _), z_piece in zip(pieces, bend(g_pieces, G_pieces, solution.v, module_of), strict=True):
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


def solve(S: np.ndarray, module_of: Sequence[int], knobs: dual.Restriction) -> Solution:
    """The dual of every module from the Gram matrices S [L, 1+C, 1+C] of its tensors."""
    blocks = dual.modular(S, module_of)
    A, b = blocks[:, 1:, 1:], blocks[:, 1:, 0]
    duals = [dual.solve(A_d, b_d, knobs) for A_d, b_d in zip(A, b, strict=True)]
    v = np.stack([d.v for d in duals])
    rows_z = (b + (A @ v[:, :, None])[:, :, 0]).sum(axis=0)
    violated = np.array([d.violated for d in duals])
    return Solution(v=v, rows_z=rows_z, violated=violated, retries=sum(d.retries for d in duals))


def bend(g: Sequence[Tensor], G: Sequence[Tensor], v: np.ndarray, module_of: Sequence[int]) -> list[Tensor]:
    """z_l = g_l + G_lᵀ v_d for every tensor l of module d; g_l itself, to the last bit, where v_d = 0."""
    v_on_device = torch.as_tensor(v, dtype=g[0].dtype, device=g[0].device)
    return [
        g_l + (v_on_device[d] @ G_l.flatten(1)).view_as(g_l) if v[d].any() else g_l
        for g_l, G_l, d in zip(g, G, module_of, strict=True)
    ]


def _pieces(module: slice | Sequence[slice]) -> Sequence[slice]:
    return [module] if isinstance(module, slice) else module
