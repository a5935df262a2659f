"""The part of each module in the answers of the lens, by its dual problem or by a rule of gradient surgery."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mgem_core.lens.steps import Steps, Tensors, module_grams, row_shares
from mgem_core.restriction.dual import approx, is_violated
from mgem_core.restriction.path import Paths, paths
from mgem_core.restriction.restriction import Restriction
from mgem_core.restriction.surgery import RULES

Floats = NDArray[np.float64]
# Module, strengths [Q] → the factor of g in z [N, Q], v [N, Q, C], and which rows g violates [N, Q, C] or [N, 1, C].
Solve = Callable[[int, Floats], tuple[Floats, Floats, NDArray[np.bool_]]]


def module_products(
    steps: Steps, modules: Sequence[Tensors], strengths: Sequence[Floats], weights: Floats, restriction: Restriction
) -> Iterator[Floats]:
    """Yield for each module [N, Q, 4 + 2 S]: ⟨g,z⟩, ⟨g_t,z⟩, ⟨g_s,z⟩ [S], ⟨ĝ_s,z⟩ [S], ‖z‖², and how many rows g violates.

    Row c has the strength q · weights[c], for each q in the strengths of its module.
    """
    splits = restriction.splits
    first, shares = 2 + steps.past, row_shares(steps, splits)
    blocks = module_grams(steps, splits, modules)
    if restriction.rule:
        solve = _by_rule(blocks, first, shares, restriction.rule)
    else:
        solve = _by_dual(blocks, weights, restriction)
    for u, (S, q) in enumerate(zip(blocks, strengths, strict=True)):
        of_g, v, violated = solve(u, q)
        with_all = of_g[..., None] * S[:, None, 0] + v @ S[:, first:]  # [N, Q, M]
        rows_z = with_all[..., first:]
        memory_z = (rows_z * shares[:, None]).reshape(*rows_z.shape[:2], -1, splits).sum(-1)
        squares = of_g * with_all[..., 0] + (v * rows_z).sum(-1)
        numbers = np.broadcast_to(violated.sum(-1), squares.shape)
        yield np.concatenate([with_all[..., :first], memory_z, squares[..., None], numbers[..., None]], axis=2)


def _by_dual(blocks: Floats, weights: Floats, restriction: Restriction) -> Solve:
    """Solve the dual problems of the GEM family."""
    U, N, M, _ = blocks.shape
    first = M - len(weights)
    A, b = blocks[:, :, first:, first:], blocks[:, :, first:, 0]
    diagonal = np.diagonal(A, axis1=2, axis2=3)
    if restriction.solver == "exact":
        all_paths = paths(A.reshape(U * N, *A.shape[2:]), b.reshape(U * N, -1), weights, restriction)

    def solve(u: int, q: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        each, nothing = q[:, None] * weights, np.zeros((len(q), len(weights)))
        floor, margin = (each, nothing) if restriction.strength_kind == "dual-floor" else (nothing, each)
        c, squared_rows = b[u][:, None] - margin, diagonal[u][:, None]
        violated = is_violated(c, squared_rows, blocks[u][:, None, :1, 0])
        if restriction.solver == "exact":
            v = Paths(*(part[u * N : (u + 1) * N] for part in all_paths)).at(q)
        else:
            v = approx(squared_rows, c, floor)
        if restriction.trigger == "violation":
            v = v * violated.any(-1, keepdims=True)
        return np.ones(v.shape[:2]), v, violated

    return solve


def _by_rule(blocks: Floats, first: int, shares: Floats, rule: str) -> Solve:
    """Apply a rule of gradient surgery to g and the memory rows."""
    used = [0, *range(first, blocks.shape[-1])]

    def solve(u: int, q: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        S = blocks[u][:, used][:, :, used]
        squares = np.diagonal(S, axis1=1, axis2=2)
        w = np.array(
            [[RULES[rule].weights(S_n, shares_n, q_j) for q_j in q] for S_n, shares_n in zip(S, shares, strict=True)]
        )
        return w[:, :, 0], w[:, :, 1:], is_violated(S[:, 1:, 0], squares[:, 1:], squares[:, :1])[:, None]

    return solve
