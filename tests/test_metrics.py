import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mgem_core.metrics import acc_fwd_bwd, pareto_front

matrices = st.integers(1, 6).flatmap(lambda T: arrays(float, (T, T), elements=st.floats(0, 100)))
clouds = st.integers(0, 15).flatmap(lambda n: arrays(float, (n, 2), elements=st.integers(0, 9).map(float)))


def test_acc_fwd_bwd_of_a_small_matrix():
    R = [[90, 10, 10], [70, 80, 10], [60, 70, 95]]
    assert acc_fwd_bwd(R) == pytest.approx((75, 265 / 3, 75 - 265 / 3))


@given(matrices)
def test_acc_is_fwd_plus_bwd(R):
    acc, fwd, bwd = acc_fwd_bwd(R)
    assert acc == pytest.approx(fwd + bwd, abs=1e-9)


@pytest.mark.parametrize("R", [[[1, 2]], [1, 2], np.zeros((0, 0))])
def test_matrix_must_be_square(R):
    with pytest.raises(ValueError, match="square"):
        acc_fwd_bwd(R)


@given(clouds)
def test_pareto_front(points):
    front = pareto_front(points)
    for point, on_front in zip(points, front, strict=True):
        dominated = any((other >= point).all() and (other > point).any() for other in points)
        assert on_front != dominated


def test_pareto_front_with_equal_points_and_nan():
    assert pareto_front([[1, 1], [1, 1], [0, 2], [np.nan, 5], [0, 1]]).tolist() == [True, True, True, False, False]


def test_points_must_be_pairs():
    with pytest.raises(ValueError, match="N × 2"):
        pareto_front([[1, 2, 3]])
