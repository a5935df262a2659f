"""z of every method in the browser is the z that Python finds, and what is shaded is what the restrictions allow."""

import numpy as np
import pytest
import torch
from components import bundle
from geometry.component import JS
from geometry.examples import methods

from mgem_core.restriction.direction import project

pytestmark = pytest.mark.slow
SOLVE = "(cases) => cases.map(({ method, g, rows, restriction }) => directionOf(method, g, rows, restriction))"
INSIDE = """(cases) => cases.map(({ method, rows, restriction, points }) => {
    const polygon = allowedPolygon([[-4, -4], [4, -4], [4, 4], [-4, 4]], restrictionsOf(method, rows, restriction));
    const edges = polygon.map((corner, i) => [corner, polygon[(i + 1) % polygon.length]]);
    const isLeft = ([x, y], [[x0, y0], [x1, y1]]) => (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) >= 0;
    return points.map((point) => polygon.length > 2 && edges.every((edge) => isLeft(point, edge)));
})"""
SAY = """(cases) => cases.map(({ method, g, rows, restriction }) => {
    const result = directionOf(method, g, rows, restriction);
    const exact = directionOf({ ...method, solver: "exact" }, g, rows, restriction);
    return [gradientInWords(g, rows), methodInWords(method, result, exact, { g, rows, restriction })];
})"""
KINDS = (
    *("random", "nearly parallel", "equal", "opposite", "zero row", "zero rows", "zero g", "along g", "against g"),
    *("at right angles", "scaled", "one module alone"),
)
CASES = 360


def case(number):
    """Every kind of vectors with every method, in the plane and in space, with every kind of strength and trigger."""
    rng = np.random.default_rng(number)
    kind, dimensions = KINDS[number % len(KINDS)], 2 + number // len(KINDS) % 2
    g, rows = rng.normal(size=dimensions), rng.normal(size=(2, dimensions))
    if kind == "nearly parallel":
        rows[1] = rows[0] + 1e-3 * rows[1]
    elif kind == "equal":
        rows[1] = rows[0]
    elif kind == "opposite":
        rows[1] = -rows[0]
    elif kind == "zero row":
        rows[1] = 0
    elif kind == "zero rows":
        rows[:] = 0
    elif kind == "zero g":
        g[:] = 0
    elif kind == "along g":
        rows = np.stack([2 * g, g])
    elif kind == "against g":
        rows = np.stack([-g, -0.5 * g])
    elif kind == "at right angles":
        g, rows = np.eye(dimensions)[0], np.stack([np.eye(dimensions)[1], -np.eye(dimensions)[0]])
    elif kind == "scaled":
        rows *= [[1e-2], [1e2]]
    elif kind == "one module alone":
        rows[:, -1] = 0
    restriction = {
        "strength_kind": ("dual-floor", "margin")[number // 2 % 2],
        "trigger": ("violation", "always")[number // 3 % 2],
        "strength": float([0, 0.5, rng.uniform(0, 3)][number // 24 % 3]),
    }
    return {"method": methods()[int(rng.integers(4))], "g": g.tolist(), "rows": rows.tolist(), "restriction": restriction}


def expected(one):
    method, g, rows = (
        one["method"],
        torch.tensor(one["g"], dtype=torch.float64),
        torch.tensor(one["rows"], dtype=torch.float64),
    )
    used = rows if method["splits"] == 2 else rows.mean(0, keepdim=True)
    modules = [slice(None)] if method["modules"] == 1 else [slice(0, len(g) - 1), slice(len(g) - 1, None)]
    restriction = one["restriction"]
    return project(g, used, modules, solver=method["solver"], **restriction).z.numpy()


@pytest.fixture
def scripts(page):
    page.goto("about:blank")
    page.add_script_tag(content=bundle(JS / "words.js"))  # with all that it imports
    return page


def points_of(number):
    return np.random.default_rng(number).uniform(-4, 4, (20, 2)).tolist()


def test_directions_agree_with_python(scripts):
    cases = [case(number) for number in range(CASES)]
    assert {(one["method"]["family"], len(one["g"])) for one in cases} >= {
        (one["family"], d) for one in methods() for d in (2, 3)
    }
    restricted = 0
    for one, found in zip(cases, scripts.evaluate(SOLVE, cases), strict=True):
        z, g = expected(one), np.array(one["g"])
        assert np.linalg.norm(np.array(found["z"]) - z) <= 1e-6 * max(np.linalg.norm(z), np.linalg.norm(g)), one
        restricted += not np.array_equal(z, g)
    assert restricted > CASES / 3


def test_shaded_set_is_the_feasible_set(scripts):
    """Random points of the picture are in the polygon of a set, or not, as its restrictions say."""
    cases = [case(number) for number in range(120)]
    cases = [{**one, "points": points_of(number)} for number, one in enumerate(cases) if len(one["g"]) == 2]
    inside = scripts.evaluate(INSIDE, cases)
    for one, found in zip(cases, inside, strict=True):
        method, rows, points = one["method"], np.array(one["rows"]), np.array(one["points"])
        used = rows if method["splits"] == 2 else rows.mean(0, keepdims=True)
        normals = np.concatenate([used * mask for mask in ([[1, 0], [0, 1]] if method["modules"] == 2 else [[1, 1]])])
        floor = one["restriction"]["strength"] if one["restriction"]["strength_kind"] == "margin" else 0.0
        allowed = (points @ normals[normals.any(axis=1)].T >= floor).all(axis=1)
        assert found == allowed.tolist(), one


def test_sentences_agree_with_the_computed_directions(scripts):
    cases = [case(number) for number in range(CASES)]
    said = scripts.evaluate(SAY, cases)
    counts = dict.fromkeys(("z = g", "nearest direction", "over-corrects", "not enough", "the ring"), 0)
    for one, (of_gradient, of_method) in zip(cases, said, strict=True):
        z, g, rows = expected(one), np.array(one["g"]), np.array(one["rows"])
        exact = expected({**one, "method": {**one["method"], "solver": "exact"}})
        floor = one["restriction"]["strength"] if one["restriction"]["strength_kind"] == "margin" else 0.0
        assert "NaN" not in of_method + of_gradient
        assert "undefined" not in of_method + of_gradient
        assert ("g hurts" in of_gradient) == (rows.mean(0) @ g < -1e-9)
        assert ("z = g" in of_method) == np.allclose(z, g, rtol=0, atol=1e-6 * max(1, np.linalg.norm(g)))
        if "nearest direction" in of_method:
            assert f"{np.linalg.norm(z - g):.2f} away" in of_method
        if "over-corrects" in of_method:
            assert np.linalg.norm(z - g) > np.linalg.norm(exact - g)
            assert (rows @ z >= floor - 0.006).all()
        if "not enough" in of_method:
            assert (rows @ z < floor).any()
        for words in counts:
            counts[words] += words in of_method
    assert min(counts.values()) > 3, counts
