import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mgem_core.metrics import acc_fwd_bwd, forgetting, pareto_front

matrices = st.integers(1, 6).flatmap(lambda T: arrays(float, (T, T), elements=st.floats(0, 100)))
several_tasks = matrices.filter(lambda R: len(R) > 1)
clouds = st.integers(0, 15).flatmap(lambda n: arrays(float, (n, 2), elements=st.integers(0, 9).map(float)))


def test_acc_fwd_bwd_of_a_small_matrix():
    R = [[90, 10, 10], [70, 80, 10], [60, 70, 95]]
    assert acc_fwd_bwd(R) == pytest.approx((75, 265 / 3, 75 - 265 / 3))


@given(matrices)
def test_acc_is_fwd_plus_bwd(R):
    acc, fwd, bwd = acc_fwd_bwd(R)
    assert acc == pytest.approx(fwd + bwd, abs=1e-9)


@pytest.mark.parametrize("measure", [acc_fwd_bwd, forgetting])
@pytest.mark.parametrize("R", [[[1, 2]], [1, 2], np.zeros((0, 0))])
def test_matrix_must_be_square(measure, R):
    with pytest.raises(ValueError, match="square"):
        measure(R)


def lost_since_learned(R):
    """Return the mean of R[j, j] − R[T, j] over the tasks before the last."""
    return -acc_fwd_bwd(R)[2] * len(R) / (len(R) - 1)


@given(several_tasks)
def test_forgetting_is_at_least_what_was_lost_since_learning(R):
    assert forgetting(R) >= lost_since_learned(R) - 1e-9


@given(several_tasks)
def test_forgetting_is_what_was_lost_if_accuracy_only_falls_after_learning(R):
    falling = R.copy()
    for j in range(len(R)):
        falling[j:, j] = np.sort(R[j:, j])[::-1]
        falling[:j, j] = np.minimum(R[:j, j], falling[j, j])
    assert forgetting(falling) == pytest.approx(lost_since_learned(falling), abs=1e-9)


@given(several_tasks)
def test_forgetting_is_negative_only_if_the_last_task_raises_an_accuracy_above_all_earlier_ones(R):
    has_risen = R[-1, :-1] > R[:-1, :-1].max(axis=0)
    assert forgetting(R) >= 0 or has_risen.any()
    assert forgetting(R) < 0 or not has_risen.all()


@given(several_tasks)
def test_accuracy_on_the_last_task_is_not_forgotten(R):
    other = R.copy()
    other[:, -1] = 0
    assert forgetting(R) == forgetting(other)


@pytest.mark.parametrize(
    ("R", "expected"),
    [
        ([[90, 10, 10], [70, 80, 10], [60, 70, 95]], 20),  # (30 + 10) / 2
        ([[90, 10, 10], [95, 80, 10], [60, 70, 95]], 22.5),  # the first task was best after the second
        ([[90, 84, 10], [70, 80, 10], [60, 70, 95]], 22),  # the second task was best before it was learned
        ([[50, 10], [60, 90]], -10),
    ],
)
def test_forgetting_of_small_matrices(R, expected):
    assert forgetting(R) == pytest.approx(expected)


@pytest.mark.parametrize("R", [[[90]], [[90, 10, 10], [np.nan] * 3, [60, 70, 95]], [[None, None], [60, 70]]])
def test_forgetting_is_unknown_for_one_task_or_a_missing_row(R):
    assert np.isnan(forgetting(R))


@given(matrices)
def test_networks_that_share_nothing_have_no_forgetting(R):
    assert np.isnan(forgetting(R, shares_network=False))


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
