"""Factors in float32 keep what the Gram matrices of gradients say."""

import numpy as np
import pytest

from mgem_core.restriction.gram_factors import pack, rows_of, unpack, without_noise


def gram_of(rows):
    return (rows @ rows.T)[None]


@pytest.mark.parametrize("parameters", [1, 3, 200])
def test_packing_preserves_lengths_and_angles(parameters):
    """Also where rows differ in length by many orders, and where there are more of them than parameters."""
    rng = np.random.default_rng(parameters)
    rows = rng.normal(size=(9, parameters)) * 10.0 ** rng.integers(-12, 12, (9, 1))
    lengths = np.linalg.norm(rows, axis=1)
    back = unpack(pack(gram_of(rows)))[0]
    np.testing.assert_allclose(back / lengths / lengths[:, None], rows @ rows.T / lengths / lengths[:, None], atol=1e-6)


def test_packing_preserves_the_sum_of_nearly_opposite_rows():
    """A cut of small eigenvalues would lose it, and with it the only direction that both allow."""
    row, other = np.eye(5)[:2]
    rows = np.stack([row + 3e-4 * other, -row + 3e-4 * other])
    both = np.ones(2)
    assert both @ unpack(pack(gram_of(rows)))[0] @ both == pytest.approx(4 * 9e-8, rel=1e-3)


def test_unpacked_matrix_is_positive_semidefinite():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1, 100)) + 1e-6 * rng.normal(size=(12, 100))
    assert np.linalg.eigvalsh(unpack(pack(gram_of(rows)))[0]).min() > -1e-13 * 12 * 100


def test_zero_rows_stay_zero():
    rows = np.random.default_rng(0).normal(size=(4, 10))
    rows[2] = 0
    back = unpack(pack(gram_of(rows)))[0]
    assert not back[2].any()
    assert not back[:, 2].any()


@pytest.mark.parametrize("kept", [lambda gram: unpack(pack(gram)), without_noise], ids=["factors", "matrices"])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_nonfinite_gradients_are_nan_only_in_their_tensor(kept, value):
    fine = np.eye(3)
    broken = np.full((3, 3), value)
    back = kept(np.stack([broken, fine]))
    assert np.isnan(back[0]).all()
    np.testing.assert_allclose(back[1], fine, atol=1e-6)


def test_number_of_rows_from_packed_length():
    assert [rows_of(M * (M + 1) // 2) for M in range(1, 300)] == list(range(1, 300))
