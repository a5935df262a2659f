"""Differences of curves in y at equal x."""

import numpy as np
import pytest

from mgem_core.analysis.curves import curve_difference, interpolation_error, is_rising, rising_branch


def parabola(strengths, shift=0.0, reach=1.0):
    x = np.log1p(reach * np.asarray(strengths, float))
    return np.column_stack([x, 3 - 0.3 * (x - 1) ** 2 + shift])


def test_rising_branch_ends_at_the_largest_x_and_averages_where_x_falls():
    curve = np.array([[0.0, 1.0], [2.0, 3.0], [1.0, 9.0], [2.5, 2.0], [2.5, 7.0], [0.0, 0.0]])
    np.testing.assert_array_equal(rising_branch(curve), [[0.0, 1.0], [1.5, 6.0], [2.5, 2.0]])
    assert not is_rising(curve)
    assert is_rising(curve[:2])


def test_rising_branch_rises_and_keeps_the_mean_of_its_points():
    rng = np.random.default_rng(0)
    for _ in range(100):
        curve = rng.normal(size=(6, 2)) + np.arange(6)[:, None] * rng.uniform(0, 1)
        branch = rising_branch(curve)
        assert (np.diff(branch[:, 0]) > 0).all()
        assert branch[-1, 0] == pytest.approx(curve[:, 0].max())


def test_equal_values_up_to_rounding_do_not_rise():
    x = 0.3 + np.array([0.0, 1e-16, 2e-16, 1e-15])
    assert len(rising_branch(np.column_stack([x, x]))) == 1


def test_curve_that_is_shifted_by_a_constant_differs_by_that_constant():
    strengths = [0, 0.1, 0.3, 1, 3, 10]
    found = curve_difference(parabola(strengths, 0.25), parabola(strengths))
    assert found.difference == pytest.approx(0.25)
    assert found.common == pytest.approx(1.0)


def test_curves_without_common_range_have_no_difference():
    one, other = np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[2.0, 1.0], [3.0, 1.0]])
    assert np.isnan(curve_difference(one, other).difference)
    assert np.isnan(curve_difference(one, np.array([[0.0, np.nan], [1.0, 1.0]])).difference)


@pytest.mark.parametrize("reach", [1.5, 2.0, 6.0])
def test_interpolation_error_bounds_the_true_error(reach):
    """Both lines lie on one curve, so their whole difference is an error of the interpolation."""
    strengths = [0, 0.1, 0.3, 1, 3, 10]
    one, other = parabola(strengths, reach=reach), parabola(strengths)
    error = abs(curve_difference(one, other).difference)
    assert 1e-4 < error <= 1.2 * interpolation_error([one], [other])
    dense = np.linspace(0, 10, 2000)
    assert interpolation_error([parabola(dense, reach=reach)], [parabola(dense)]) < 1e-4
