"""The dual problem: what must hold for every module, whatever the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from mgem_core.restriction.dual import solve_module, solve_modules
from mgem_core.restriction.restriction import Restriction


@st.composite
def problems(draw, most_rows=8):
    """g [P], G [C, P] with standard normal entries, and a floor q."""
    C, P = draw(st.integers(1, most_rows)), draw(st.integers(10, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    q = draw(st.sampled_from([0.0, 0.05, 0.5, 1.0]))
    return rng.normal(size=P), rng.normal(size=(C, P)), q


def always(**knobs):
    return Restriction(**{"strength": 0.0, "trigger": "always", "ridge": 1e-12, **knobs})


@given(problems())
def test_exact_solution_meets_the_kkt_conditions(problem):
    g, G, q = problem
    v = solve_module(G @ G.T, G @ g, g @ g, always(strength=q)).v
    pull = G @ (G.T @ v + g)  # the gradient of the dual objective
    scale = 1e-8 * np.abs(G @ G.T).max()
    assert (v >= q - 1e-12).all()
    assert (pull >= -scale).all()
    assert np.abs((v - q) * pull).max() <= scale


@given(problems())
def test_exact_solution_equals_that_of_an_independent_solver(problem):
    g, G, q = problem
    v = solve_module(G @ G.T, G @ g, g @ g, always(strength=q)).v
    other = lsq_linear(G.T, -g, bounds=(q, np.inf), method="bvls", tol=1e-14).x
    np.testing.assert_allclose(v, other, atol=1e-6)


@given(problems())
def test_default_ridge_effect_is_negligible(problem):
    g, G, q = problem
    v = solve_module(G @ G.T, G @ g, g @ g, Restriction(strength=q, trigger="always")).v
    other = lsq_linear(G.T, -g, bounds=(q, np.inf), method="bvls", tol=1e-14).x
    np.testing.assert_allclose(G.T @ v, G.T @ other, atol=1e-4)


@given(problems(), st.floats(0.0, 3.0))
def test_margin_form_meets_its_margins(problem, margin):
    g, G, _ = problem
    v = solve_module(G @ G.T, G @ g, g @ g, always(strength=margin, strength_kind="margin")).v
    assert (v >= 0).all()
    assert (G @ (g + G.T @ v) >= margin - 1e-6).all()


@given(problems())
def test_approx_is_exact_for_orthogonal_rows(problem):
    g, G, q = problem
    orthogonal = np.linalg.qr(G.T)[0].T * np.linspace(0.5, 2, len(G))[:, None]
    A, b = orthogonal @ orthogonal.T, orthogonal @ g
    np.testing.assert_allclose(
        solve_module(A, b, g @ g, always(strength=q, solver="approx")).v,
        solve_module(A, b, g @ g, always(strength=q)).v,
        atol=1e-9,
    )


@given(problems())
def test_approx_equals_the_closed_form_of_the_paper(problem):
    g, G, q = problem
    A, b = G @ G.T, G @ g
    expected = np.array([max(-b_c / A_cc, q) for A_cc, b_c in zip(A.diagonal(), b, strict=True)])
    np.testing.assert_array_equal(solve_module(A, b, g @ g, always(strength=q, solver="approx")).v, expected)


@given(problems())
def test_trigger_violation_keeps_a_gradient_without_conflict(problem):
    g, G, q = problem
    G *= np.where(G @ g < 0, -1.0, 1.0)[:, None]
    dual = solve_module(G @ G.T, G @ g, g @ g, Restriction(strength=q, trigger="violation"))
    assert not dual.violated
    assert not dual.v.any()


@given(problems())
def test_triggers_agree_where_a_row_is_violated(problem):
    g, G, q = problem
    G[0] *= np.where(G[0] @ g > 0, -1.0, 1.0)
    on, off = (solve_module(G @ G.T, G @ g, g @ g, Restriction(strength=q, trigger=t)) for t in ("violation", "always"))
    assert on.violated
    np.testing.assert_array_equal(on.v, off.v)


@given(problems(), st.integers(-8, 8))
def test_at_strength_zero_the_length_of_a_row_does_not_matter(problem, exponent):
    """The restriction is a half-space; a longer row gets a smaller v and z stays."""
    g, G, _ = problem
    longer = G.copy()
    longer[0] *= 10.0**exponent
    z = [g + rows.T @ solve_module(rows @ rows.T, rows @ g, g @ g, always()).v for rows in (G, longer)]
    np.testing.assert_allclose(z[0], z[1], atol=1e-5)


def test_unmet_margin_is_a_violation():
    knobs = Restriction(strength=1.5, strength_kind="margin", trigger="violation")
    dual = solve_module(np.eye(1), np.array([1.0]), 1.0, knobs)  # ⟨ĝ, g⟩ = 1 is positive, but less than the margin
    assert dual.violated
    assert dual.v[0] == pytest.approx(0.5)
    assert not solve_module(np.eye(1), np.array([2.0]), 4.0, knobs).v.any()


@pytest.mark.parametrize(
    ("knobs", "sentence"),
    [
        ({"strength_kind": "dual_floor"}, "strength_kind is 'dual_floor'; it must be one of dual-floor, margin"),
        ({"solver": "magic"}, "solver is 'magic'; it must be one of exact, approx"),
        ({"trigger": "never"}, "trigger is 'never'; it must be one of violation, always"),
        ({"strength": -1}, "strength is -1; it must be a number of at least 0"),
        ({"strength": [0.1, float("nan")]}, "strength is .*; it must be a number of at least 0"),
    ],
)
def test_invalid_option_is_rejected(knobs, sentence):
    with pytest.raises(ValueError, match=sentence):
        Restriction(**knobs)


def test_strength_may_differ_per_row():
    A, b = np.eye(3), np.array([1.0, 1.0, 1.0])
    np.testing.assert_allclose(solve_module(A, b, 3.0, always(strength=[0.0, 0.5, 2.0])).v, [0.0, 0.5, 2.0])


def test_absolute_ridge_equals_that_of_gems_code():
    """One row, one violation: v = −b / (A + 1e-3), as in GEM's code."""
    absolute = Restriction(strength=0.0, ridge=1e-3, ridge_kind="absolute")
    v = solve_module(np.array([[4.0]]), np.array([-2.0]), 1.0, absolute).v
    assert v[0] == pytest.approx(2.0 / 4.001, rel=1e-12)


def test_nonfinite_gram_matrix_is_rejected():
    with pytest.raises(FloatingPointError, match="not finite"):
        solve_module(np.array([[np.nan]]), np.array([1.0]), 1.0, Restriction())


@pytest.mark.parametrize("trigger", ["violation", "always"])
def test_the_gram_matrix_is_computed_only_for_modules_that_are_restricted(trigger):
    asked, b = [], np.array([[1.0, 2.0], [1.0, -2.0], [0.5, 0.0]])

    def gram(module):
        asked.append(module)
        return np.eye(2)

    solution = solve_modules(b, gram, np.ones(3), Restriction(strength=0.0, trigger=trigger))
    assert asked == ([1] if trigger == "violation" else [0, 1, 2])
    np.testing.assert_allclose(solution.v, [[0, 0], [0, 2], [0, 0]], atol=1e-6)
    np.testing.assert_allclose(solution.rows_z, [2.5, 2.0], atol=1e-6)
    assert solution.violated.tolist() == [False, True, False]


@pytest.mark.parametrize("solver", ["exact", "approx"])
@pytest.mark.parametrize("product", [-1e-13, 1e-13])
def test_rounding_errors_are_not_violations(solver, product):
    """g and a row that are orthogonal but for rounding: the sign of their product must not decide."""
    restriction = Restriction(strength=2.0, solver=solver)
    dual = solve_module(np.array([[4.0]]), np.array([product]), 1.0, restriction)
    assert not dual.violated
    assert not dual.v.any()
    assert solve_module(np.array([[4.0]]), np.array([-1e-11]), 1.0, restriction).v[0] == pytest.approx(2.0)


def test_strengths_of_rows():
    np.testing.assert_array_equal(Restriction(strength=0.5, splits=2).row_strengths(4), [0.5] * 4)
    np.testing.assert_array_equal(Restriction(strength=0.5, splits=2, strength_per="task").row_strengths(4), [0.25] * 4)
    of_each_task = Restriction(strength=(0.1, 0.2, 0.3), splits=2)
    np.testing.assert_array_equal(of_each_task.row_strengths(4), [0.1, 0.1, 0.2, 0.2])  # the third task comes later
    with pytest.raises(ValueError, match="there are 4 past tasks, so it must be that many"):
        of_each_task.row_strengths(8)
