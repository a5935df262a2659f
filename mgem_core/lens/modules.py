"""What single modules add to the answers of the lens: by their dual problems, or by a rule of gradient surgery."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgem_core.lens.steps import Steps, Tensors, module_grams, row_shares
from mgem_core.restriction.path import Paths, paths
from mgem_core.restriction.surgery import RULES

Floats = NDArray[np.float64]
VIOLATED = -1e-12  # the cosine of g and a row below which g violates it; rounding makes orthogonal ones differ from 0


def module_products(
    steps: Steps,
    splits: int,
    modules: Sequence[Tensors],
    strengths: Sequence[Floats],
    weights: Floats,
    knobs: tuple[Any, ...],
    rule: str,
) -> Iterator[Floats]:
    """Of each module [N, Q, 4 + 2 S]: ⟨g,z⟩, ⟨g_t,z⟩, ⟨g_s,z⟩ [S], ⟨ĝ_s,z⟩ [S], ‖z‖², and the number of violated rows."""
    first, shares = 2 + steps.past, row_shares(steps, splits)
    blocks = module_grams(steps, splits, modules)
    solve = _by_rule(blocks, first, shares, rule) if rule else _by_dual(blocks, first, weights, knobs)
    for u, (S, q) in enumerate(zip(blocks, strengths, strict=True)):
        of_g, v, is_violated = solve(u, q)
        with_all = of_g[..., None] * S[:, None, 0] + v @ S[:, first:]  # [N, Q, M]
        rows_z = with_all[..., first:]
        memory_z = (rows_z * shares[:, None]).reshape(*rows_z.shape[:2], -1, splits).sum(-1)
        squares = of_g * with_all[..., 0] + (v * rows_z).sum(-1)
        numbers = np.broadcast_to(is_violated.sum(-1), squares.shape)
        yield np.concatenate([with_all[..., :first], memory_z, squares[..., None], numbers[..., None]], axis=2)


def _by_dual(blocks: Floats, first: int, weights: Floats, knobs: tuple[Any, ...]) -> Any:
    """Module, strengths [Q] → how often z has g [N, Q], v [N, Q, C], and which rows g violates [N, Q, C]."""
    strength_kind, solver, trigger, ridge, ridge_kind = knobs
    U, N = blocks.shape[:2]
    A, b = blocks[:, :, first:, first:], blocks[:, :, first:, 0]
    diagonal = np.diagonal(A, axis1=2, axis2=3)
    limits = VIOLATED * np.sqrt(np.maximum(diagonal * blocks[:, :, :1, 0], 0.0))
    if solver == "exact":
        all_paths = paths(A.reshape(U * N, *A.shape[2:]), b.reshape(U * N, -1), weights, strength_kind, ridge, ridge_kind)

    def solve(u: int, q: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        each, nothing = q[:, None] * weights, np.zeros((len(q), len(weights)))
        floor, margin = (each, nothing) if strength_kind == "dual-floor" else (nothing, each)
        c = b[u][:, None] - margin
        is_violated = c < limits[u][:, None]
        if solver == "exact":
            v = Paths(*(part[u * N : (u + 1) * N] for part in all_paths)).at(q)
        else:
            on_diagonal = diagonal[u][:, None]
            closest = np.divide(-c, on_diagonal, out=np.broadcast_to(floor, c.shape).copy(), where=on_diagonal > 0)
            v = np.maximum(closest, floor)
        if trigger == "violation":
            v = v * is_violated.any(-1, keepdims=True)
        return np.ones(v.shape[:2]), v, is_violated

    return solve


def _by_rule(blocks: Floats, first: int, shares: Floats, rule: str) -> Any:
    """As `_by_dual`, for a rule of gradient surgery between g and the memory rows."""
    used = [0, *range(first, blocks.shape[-1])]

    def solve(u: int, q: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        S = blocks[u][:, used][:, :, used]
        lengths = np.sqrt(np.maximum(np.diagonal(S, axis1=1, axis2=2), 0.0))
        w = np.array(
            [[RULES[rule].weights(S_n, shares_n, q_j) for q_j in q] for S_n, shares_n in zip(S, shares, strict=True)]
        )
        return w[:, :, 0], w[:, :, 1:], (S[:, 1:, 0] < VIOLATED * lengths[:, 1:] * lengths[:, :1])[:, None]

    return solve


def module_bends(steps: Steps, splits: int, modules: Sequence[Tensors], weights: Floats, knobs: tuple[Any, ...]) -> Floats:
    """[N, J]: the strengths at which v of some module bends, in rising order from 0 on; infinite where there are fewer."""
    strength_kind, solver, trigger, ridge, ridge_kind = knobs
    first, blocks = 2 + steps.past, module_grams(steps, splits, modules)
    U, N = blocks.shape[:2]
    A, b = blocks[:, :, first:, first:], blocks[:, :, first:, 0]
    diagonal = np.diagonal(A, axis1=2, axis2=3)
    if solver == "exact":
        start = paths(A.reshape(U * N, *A.shape[2:]), b.reshape(U * N, -1), weights, strength_kind, ridge, ridge_kind).start
        found = start.reshape(U, N, -1)
    else:  # where −b / diag(A) meets the floor, or b the margin
        scale = weights * diagonal if strength_kind == "dual-floor" else np.broadcast_to(weights, b.shape)
        sign = -1.0 if strength_kind == "dual-floor" else 1.0
        found = np.divide(sign * b, scale, out=np.full(b.shape, np.inf), where=(scale > 0) & (diagonal > 0))
        found = np.where(found > 0, found, np.inf)
    if trigger == "violation" and strength_kind == "dual-floor":
        limits = VIOLATED * np.sqrt(np.maximum(diagonal * blocks[:, :, :1, 0], 0.0))
        found = np.where((b < limits).any(-1, keepdims=True), found, np.inf)
    strengths = np.sort(np.concatenate([np.zeros((N, 1)), found.swapaxes(0, 1).reshape(N, -1)], axis=1), axis=1)
    is_repeated = strengths[:, 1:] == strengths[:, :-1]
    strengths[:, 1:][is_repeated] = np.inf
    strengths.sort(axis=1)
    return np.asarray(strengths[:, : int(np.isfinite(strengths).sum(1).max())])
