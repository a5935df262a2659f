"""The dual problems that the browser solves have the solutions that Python finds."""

from dataclasses import replace

import numpy as np
import pytest
from components import FOLDER, bundle
from degenerate_vectors import make_degenerate

from mgem_core.restriction.dual import solve_module
from mgem_core.restriction.path import paths
from mgem_core.restriction.restriction import RIDGE, Restriction

KINDS = ("random", "nearly parallel", "duplicate", "opposite", "zero", "tied", "scaled", "orthogonal to g")
PROBLEMS, P = 504, 40
SOLVE = """(problems) => problems.map(({ A, b, weights, restriction, squaredNorm, strengths }) => {
    const path = dualPath(Float64Array.from(A), Float64Array.from(b), weights, restriction, squaredNorm);
    return strengths.map((q) => [...valueAt(path, q)]);
})"""

pytestmark = pytest.mark.slow


def rows_of(kind, C, rng):
    G = make_degenerate(kind, rng.normal(size=(C, P)))
    if kind == "tied":
        G = np.eye(C, P)
    elif kind == "scaled":
        G *= 10.0 ** rng.integers(-6, 6, (C, 1))
    return G


def problem(number):
    """Every kind of rows with every solver, strength and trigger, and 1 to 19 rows."""
    rng = np.random.default_rng(number)
    kind, C = KINDS[number % len(KINDS)], int(rng.choice([1, 2, 3, 6, 12, 19]))
    G = rows_of(kind, C, rng)
    g = np.full(P, -1.0) if kind == "tied" else rng.normal(size=P)
    if kind == "orthogonal to g":
        g = g - np.linalg.lstsq(G, G @ g, rcond=None)[0]
    solver, trigger = ("exact", "exact", "approx")[number % 3], ("always", "violation")[number // 3 % 2]
    kind_of_strength = ("dual-floor", "margin")[number // 8 % 2]
    is_absolute = (
        number // 16 % 2 and kind != "scaled"
    )  # for rows of so many scales, quadprog itself finds no solution then
    ridge, ridge_kind = (1e-3, "absolute") if is_absolute else (RIDGE, "relative")
    return {
        "G": G,
        "g": g,
        "weights": rng.uniform(0.2, 1, C),
        "strengths": [0.0, *10 ** rng.uniform(-2, 1.5, 5)],
        "restriction": Restriction(
            solver=solver, strength_kind=kind_of_strength, trigger=trigger, ridge=ridge, ridge_kind=ridge_kind
        ),
    }


def for_browser(one):
    G, g = one["G"], one["g"]
    numbers = {"A": (G @ G.T).ravel().tolist(), "b": (G @ g).tolist(), "squaredNorm": float(g @ g)}
    return {
        **numbers,
        "weights": one["weights"].tolist(),
        "strengths": one["strengths"],
        "restriction": one["restriction"].as_json(),
    }


def expected(one, q):
    """v by quadprog or the closed form. Rounding decides whether a row at right angles to g is violated: such b are 0."""
    G, g, restriction = one["G"], one["g"], one["restriction"]
    b = G @ g
    b[np.abs(b) < 1e-12 * np.linalg.norm(G, axis=1) * np.linalg.norm(g)] = 0
    restriction = replace(restriction, strength=tuple(q * one["weights"]))
    return solve_module(G @ G.T, b, float(g @ g), restriction).v


def test_dual_solutions_agree_with_python(page):
    page.goto("about:blank")
    page.add_script_tag(content=bundle(FOLDER / "solver.js"))
    problems = [problem(number) for number in range(PROBLEMS)]
    found = page.evaluate(SOLVE, [for_browser(one) for one in problems])
    compared = 0
    for one, values in zip(problems, found, strict=True):
        G, g, restriction = one["G"], one["g"], one["restriction"]
        with_path = restriction.solver == "exact" and restriction.trigger == "always"
        if with_path:
            path = paths((G @ G.T)[None], (G @ g)[None], one["weights"], restriction)
        for q, v in zip(one["strengths"], values, strict=True):
            z = g + expected(one, q) @ G
            tolerance = 1e-6 * max(np.linalg.norm(z), np.linalg.norm(g))
            assert np.linalg.norm(g + v @ G - z) <= tolerance, restriction
            if with_path:
                assert np.linalg.norm(v @ G - path.at(np.array([q]))[0, 0] @ G) <= tolerance, restriction
                compared += 1
    assert compared > 500
