"""The direction z: the paper's lemmas and propositions, where they are true, and input that is not nice."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mgem_core.restriction.direction import gram, module_slices, project
from mgem_core.restriction.restriction import RIDGE


@st.composite
def problems(draw, most_rows=6):
    """gradient [30], rows [C, 30] in float64."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**62)))
    C = draw(st.integers(1, most_rows))
    return (
        torch.randn(30, generator=generator, dtype=torch.float64),
        torch.randn(C, 30, generator=generator, dtype=torch.float64),
    )


@st.composite
def partitions(draw):
    """Slices that cover 30 parameters."""
    cuts = sorted(draw(st.sets(st.integers(1, 29), max_size=4)))
    return [slice(a, b) for a, b in zip([0, *cuts], [*cuts, 30], strict=True)]


strengths = st.sampled_from([0.0, 0.05, 0.5, 1.0])


def allowed(direction, G, d=0):
    """How far z may go against each row: the ridge ρ solves (A + ρ‖ĝ‖²)v + b ≥ 0, so ⟨ĝ, z⟩ ≥ −ρ‖ĝ‖²v, but for rounding."""
    ridge = RIDGE * 100.0**direction.retries
    return 1e-5 + 2 * ridge * (G**2).sum(1) * torch.as_tensor(direction.v[d])


@given(problems())
def test_gem_never_conflicts_with_memory(problem):
    g, G = problem
    direction = project(g, G, strength=0.0)
    assert (G @ direction.z >= -allowed(direction, G)).all()


@given(problems(), partitions())
def test_p_mgem_never_conflicts_with_memory_in_any_module(problem, modules):
    g, G = problem
    direction = project(g, G, modules=modules, strength=0.0)
    for d, module in enumerate(modules):
        assert (G[:, module] @ direction.z[module] >= -allowed(direction, G[:, module], d)).all()


@given(problems(), partitions(), strengths, st.sampled_from(["exact", "approx"]), st.sampled_from(["violation", "always"]))
def test_p_mgem_is_gem_module_by_module(problem, modules, q, solver, trigger):
    """Lemma 1."""
    g, G = problem
    knobs = {"strength": q, "solver": solver, "trigger": trigger}
    whole = project(g, G, modules=modules, **knobs)
    for d, module in enumerate(modules):
        alone = project(g[module], G[:, module], **knobs)
        torch.testing.assert_close(whole.z[module], alone.z, rtol=0, atol=1e-12)
        np.testing.assert_allclose(whole.v[d], alone.v[0], atol=1e-12)


@given(problems(most_rows=1), partitions(), st.floats(0, 5))
def test_p_mgem_loss_decrease_on_past_exceeds_memory_strength_and_gem(problem, modules, margin):
    """Proposition 2, the half that is true: p-mGEM with one past task, margins that add up to GEM's."""
    g, G = problem
    knobs = {"strength_kind": "margin", "trigger": "always"}
    gem = project(g, G, strength=0.0, **knobs).z
    strong = project(g, G, strength=margin, **knobs).z
    per_module = margin / len(modules)
    fine = project(g, G, modules=modules, strength=per_module, **knobs).z
    assert float(G[0] @ fine) >= float(G[0] @ strong) - 1e-5
    assert float(G[0] @ strong) >= float(G[0] @ gem) - 1e-5


def test_with_two_past_tasks_p_mgem_can_remember_less_than_gem():
    """Proposition 2 does not hold for p-mGEM beyond one past task: a module that meets both rows alone gives way."""
    rows = torch.tensor([[-1.0, 0.0], [1.0, -1.0]], dtype=torch.float64)
    g = torch.tensor([-1.0, 0.0], dtype=torch.float64)
    gem = project(g, rows, trigger="always")
    p_mgem = project(g, rows, modules=[slice(0, 1), slice(1, 2)], trigger="always")
    assert float(rows[0] @ gem.z) == pytest.approx(0.5, abs=1e-6)
    assert float(rows[0] @ p_mgem.z) == pytest.approx(0.0, abs=1e-6)


def test_d_mgem_can_remember_less_than_gem():
    """Proposition 2 does not hold for d-mGEM: the counterexample of the paper notes, at γ = 0."""
    splits = torch.tensor([[1.0, 0.0], [-3.0, 1.0]], dtype=torch.float64)
    g = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    memory = splits.mean(0, keepdim=True)
    gem, d_mgem = project(g, memory, trigger="always"), project(g, splits, trigger="always")
    assert float(memory[0] @ gem.z) == pytest.approx(1.5, abs=1e-6)
    assert float(memory[0] @ d_mgem.z) == pytest.approx(0.5, abs=1e-6)


@given(problems(), st.floats(0, 5))
def test_margins_are_met(problem, margin):
    g, G = problem
    z = project(g, G, strength=margin, strength_kind="margin", trigger="always").z
    assert (G @ z >= margin - 1e-4).all()


@given(problems(), strengths)
def test_z_is_the_gradient_plus_the_weighted_rows(problem, q):
    g, G = problem
    d = project(g, G, strength=q, trigger="always")
    torch.testing.assert_close(d.z, g + torch.from_numpy(d.v[0]) @ G)
    np.testing.assert_allclose(d.rows_z, (G @ d.z).numpy(), atol=1e-9)


@given(problems(), partitions())
def test_a_module_may_be_several_slices(problem, modules):
    g, G = problem
    merged = project(g, G, modules=[modules])  # one module made of all the slices: GEM
    torch.testing.assert_close(merged.z, project(g, G).z, rtol=0, atol=1e-9)


@given(problems(), strengths)
def test_gradient_is_unchanged_without_violation(problem, q):
    g, G = problem
    agreeing = G * torch.where(G @ g < 0, -1.0, 1.0)[:, None]
    assert torch.equal(project(g, agreeing, strength=q, trigger="violation").z, g)


P = 50


def rows_of(kind: str, dtype: torch.dtype) -> torch.Tensor:
    G = torch.randn(6, P, generator=torch.Generator().manual_seed(1), dtype=dtype)
    cases = {
        "zero": torch.zeros(6, P, dtype=dtype),
        "one zero": torch.cat([G, torch.zeros(1, P, dtype=dtype)]),
        "duplicate": G[[0, 0, 0, 1]],
        "opposite": torch.cat([G[:1], -G[:1]]),
        "huge": G * 1e8,
        "tiny": G * 1e-8,
        "mixed scales": G * torch.tensor([1e8, 1e-8, 1.0, 1e4, 1e-4, 1.0], dtype=dtype)[:, None],
        "200 rows": torch.randn(200, P, generator=torch.Generator().manual_seed(2), dtype=dtype),
        "200 nearly equal rows": G[:1]
        + 1e-6 * torch.randn(200, P, generator=torch.Generator().manual_seed(3), dtype=dtype),
    }
    return cases[kind]


KINDS = ["zero", "one zero", "duplicate", "opposite", "huge", "tiny", "mixed scales", "200 rows", "200 nearly equal rows"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("solver", ["exact", "approx"])
@pytest.mark.parametrize("strength_kind", ["dual-floor", "margin"])
def test_degenerate_rows_give_a_finite_direction(kind, dtype, solver, strength_kind):
    g = torch.randn(P, generator=torch.Generator().manual_seed(4), dtype=dtype)
    for q in (0.0, 0.5):
        knobs = {"solver": solver, "strength": q, "strength_kind": strength_kind, "trigger": "always"}
        d = project(g, rows_of(kind, dtype), modules=[slice(0, 7), slice(7, P)], **knobs)
        assert torch.isfinite(d.z).all()
        assert np.isfinite(d.v).all()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "200 rows"])
def test_degenerate_rows_are_not_violated(kind):
    g = torch.randn(P, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    G = rows_of(kind, torch.float64)
    z = project(g, G).z
    lengths = G.norm(dim=1).clamp_min(1e-300) * g.norm()
    assert (G @ z / lengths >= -1e-4).all()


def test_one_parameter_and_one_row():
    d = project(torch.tensor([-2.0]), torch.tensor([[4.0]]))
    assert d.z.item() == pytest.approx(0.0, abs=1e-5)
    assert d.v[0, 0] == pytest.approx(0.5)


def test_integers_and_mixed_precisions_are_converted():
    exact = project(torch.tensor([-1.0, 1.0]), torch.tensor([[1.0, 0.0]]))
    whole = project(torch.tensor([-1, 1]), torch.tensor([[1, 0]]))
    mixed = project(torch.tensor([-1.0, 1.0], dtype=torch.float64), torch.tensor([[1.0, 0.0]], requires_grad=True))
    torch.testing.assert_close(whole.z, exact.z)
    torch.testing.assert_close(mixed.z.float(), exact.z)
    assert not mixed.z.requires_grad


def test_zero_rows_have_no_effect():
    g = torch.randn(P)
    assert torch.equal(project(g, torch.zeros(3, P), trigger="always").z, g)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nonfinite_rows_are_rejected(bad):
    G = torch.ones(2, 4)
    G[1, 2] = bad
    with pytest.raises(FloatingPointError, match="not finite"):
        project(torch.ones(4), G)


@pytest.mark.parametrize(
    ("rows", "modules", "sentence"),
    [
        (torch.ones(2, 5), [slice(None)], r"must be \[P\] and \[C, P\]"),
        (torch.ones(4), [slice(None)], r"must be \[P\] and \[C, P\]"),
        (torch.ones(2, 4), [slice(0, 3)], "exactly once"),
        (torch.ones(2, 4), [slice(0, 3), slice(2, 4)], "exactly once"),
        (torch.ones(2, 4), [slice(None), []], "a module is empty"),
    ],
)
def test_invalid_shapes_are_rejected(rows, modules, sentence):
    with pytest.raises(ValueError, match=sentence):
        project(torch.ones(4), rows, modules=modules)


@given(problems(most_rows=16), partitions(), strengths, st.sampled_from(["violation", "always"]))
def test_gpu_code_path_gives_the_same_direction(problem, modules, q, trigger):
    g, G = problem
    knobs = {"modules": modules, "strength": q, "trigger": trigger}
    lazy = project(g, G, **knobs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mgem_core.restriction.direction.computes_all_at_once", lambda g: True)
        together = project(g, G, **knobs)
    assert torch.equal(lazy.z, together.z)
    np.testing.assert_array_equal(lazy.rows_z, together.rows_z)


@given(problems(most_rows=50))
def test_gram_matrix_in_panels_equals_full_product(problem):
    _, G = problem
    torch.testing.assert_close(gram(G), G @ G.T)


def test_adjacent_tensors_share_a_slice():
    assert module_slices([4, 2, 3, 1], [0, 0, 1, 0]) == [[slice(0, 6), slice(9, 10)], [slice(6, 9)]]
