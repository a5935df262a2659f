"""Gram matrices as triangular factors in single precision: half as large, and still positive semidefinite.

A Gram matrix that is rounded to float32 need not be positive semidefinite: nearly parallel rows cause negative
eigenvalues, and then a dual problem has no solution. A factor F with F Fᵀ = the Gram matrix can be rounded: its rows are
the vectors in other coordinates, each rounded to 6e-8 of its length.
"""

from math import isqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NOISE = 3e-7  # error of a Gram matrix of unit vectors in float32, relative to the largest eigenvalue


def pack(gram: Floats) -> NDArray[np.float32]:
    """Factor Gram matrices [L, M, M] → lower triangles [L, M (M + 1) / 2], row by row; NaN if not finite."""
    norms, unit = _unit(gram)
    values, vectors = np.linalg.eigh(unit)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]  # R Rᵀ is the matrix; QR makes R triangular
    upper: Floats = np.asarray(np.linalg.qr(roots.swapaxes(1, 2), mode="r"))
    lower = upper.swapaxes(1, 2) * norms[:, :, None]
    return np.asarray(lower[:, *np.tril_indices(gram.shape[1])], np.float32)


def unpack(packed: NDArray[np.float32]) -> Floats:
    """Return the Gram matrices [L, M, M] of packed factors [L, M (M + 1) / 2]."""
    M = rows_of(packed.shape[1])
    lower = np.zeros((len(packed), M, M))
    lower[:, *np.tril_indices(M)] = packed
    return lower @ lower.swapaxes(1, 2)


def rows_of(packed_length: int) -> int:
    """Return the number M of rows whose triangle has M (M + 1) / 2 numbers."""
    return (isqrt(8 * packed_length + 1) - 1) // 2


def gram_rows(past: int, splits: int) -> int:
    """Return the number M of rows of a snapshot: g, g_t, a g_s for each past task, and its memory rows."""
    return 2 + past + past * splits


def packed_length(past: int, splits: int) -> int:
    """Return how many numbers the packed factor of one tensor in a snapshot has."""
    M = gram_rows(past, splits)
    return M * (M + 1) // 2


def without_noise(gram: Floats) -> Floats:
    """Remove eigenvalues that may be rounding errors from Gram matrices [L, M, M] stored in float32; NaN if not finite."""
    norms, unit = _unit(np.asarray(gram, float))
    values, vectors = np.linalg.eigh(unit)
    values = np.where(values > NOISE * values[:, -1:], values, 0.0)
    unit = (vectors * values[:, None]) @ vectors.swapaxes(1, 2)
    return np.asarray(unit * norms[:, :, None] * norms[:, None, :])


def _unit(gram: Floats) -> tuple[Floats, Floats]:
    """Return the norms [L, M] of the vectors, and the Gram matrices of the vectors scaled to unit length.

    If a matrix is not finite, its norms are NaN and it is replaced by zeros.
    """
    is_finite: NDArray[np.bool_] = np.asarray(np.isfinite(gram).all((1, 2)))
    gram = np.where(is_finite[:, None, None], gram, 0.0)
    norms = np.sqrt(np.maximum(np.diagonal(gram, axis1=1, axis2=2), 0.0))
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return np.where(is_finite[:, None], norms, np.nan), gram * inverse[:, :, None] * inverse[:, None, :]
