"""The path over the strength: at every strength, it is the solution of the dual problem."""

import numpy as np
import pytest

from mgem_core.restriction.dual import exact
from mgem_core.restriction.path import paths
from mgem_core.restriction.restriction import RIDGE, Restriction

PROBLEMS, P = 12, 40


def rows_of(kind, C, rng):
    G = rng.normal(size=(PROBLEMS, C, P))
    if kind == "nearly parallel":
        G = G[:, :1] + 0.1 * G
    elif kind == "duplicate":
        G[:, C // 2] = G[:, 0]
    elif kind == "opposite":
        G[:, C // 2] = -G[:, 0]
    elif kind == "scaled":
        G *= 10.0 ** rng.integers(-6, 6, (PROBLEMS, C, 1))
    elif kind == "zero":
        G[:, C // 2] = 0
    elif kind == "tied":
        G = np.broadcast_to(np.eye(C, P), G.shape)
    return G


@pytest.mark.parametrize("C", [2, 6, 19])
@pytest.mark.parametrize("strength_kind", ["dual-floor", "margin"])
@pytest.mark.parametrize("kind", ["random", "nearly parallel", "duplicate", "opposite", "scaled", "zero", "tied"])
def test_path_equals_the_solution_at_every_strength(kind, strength_kind, C):
    rng = np.random.default_rng(C)
    G, weights = rows_of(kind, C, rng), rng.uniform(0.2, 1, C)
    g = np.full((PROBLEMS, P), -1.0) if kind == "tied" else rng.normal(size=(PROBLEMS, P))
    A, b = G @ G.swapaxes(1, 2), (G @ g[:, :, None])[:, :, 0]
    strengths = np.concatenate([[0.0], 10 ** rng.uniform(-2, 1.5, 50)])
    v = paths(A, b, weights, Restriction(strength_kind=strength_kind)).at(strengths)
    for i in range(PROBLEMS):
        for v_q, q in zip(v[i], strengths, strict=True):
            floor, margin = (q * weights, 0 * weights) if strength_kind == "dual-floor" else (0 * weights, q * weights)
            expected, _ = exact(A[i], b[i] - margin, floor, RIDGE, "relative")
            z = g[i] + expected @ G[i]
            assert np.linalg.norm(g[i] + v_q @ G[i] - z) <= 1e-6 * max(np.linalg.norm(z), np.linalg.norm(g[i]))


@pytest.mark.parametrize(("ridge", "ridge_kind"), [(1e-3, "absolute"), (1e-2, "relative"), (0.0, "relative")])
def test_path_uses_the_ridge_of_the_solver(ridge, ridge_kind):
    rng = np.random.default_rng(0)
    G, g = rng.normal(size=(PROBLEMS, 4, P)), rng.normal(size=(PROBLEMS, P))
    A, b = G @ G.swapaxes(1, 2), (G @ g[:, :, None])[:, :, 0]
    v = paths(A, b, np.ones(4), Restriction(ridge=ridge, ridge_kind=ridge_kind)).at(np.array([0.3]))
    for i in range(PROBLEMS):
        np.testing.assert_allclose(v[i, 0], exact(A[i], b[i], np.full(4, 0.3), ridge, ridge_kind)[0], rtol=1e-6, atol=1e-9)


def test_path_is_continuous_and_piecewise_linear():
    rng = np.random.default_rng(1)
    G, g = rng.normal(size=(PROBLEMS, 6, P)), rng.normal(size=(PROBLEMS, P))
    found = paths(G @ G.swapaxes(1, 2), (G @ g[:, :, None])[:, :, 0], np.ones(6), Restriction())
    assert (np.isfinite(found.start).sum(1) > 1).any()
    for i in range(PROBLEMS):
        for j in np.flatnonzero(np.isfinite(found.start[i]))[1:]:
            q = found.start[i, j]
            before = found.v0[i, j - 1] + q * found.v1[i, j - 1]
            np.testing.assert_allclose(found.v0[i, j] + q * found.v1[i, j], before, atol=1e-9)
