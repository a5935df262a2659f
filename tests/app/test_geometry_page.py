"""The page Geometry, without a browser: its examples show what they are named after, and its URL is read."""

import json

import numpy as np
import pytest
import torch
from geometry.examples import FAMILIES, PRESETS, methods
from geometry.link import read_link
from pages import open_page, texts

from mgem_core import UsageError
from mgem_core.restriction.direction import project

PRESET = {preset.name: preset for preset in PRESETS}


def directions(name, dimensions, **knobs):
    """z of every method for an example, by its family, with g and the rows."""
    vectors = torch.tensor([PRESET[name].g, PRESET[name].g1, PRESET[name].g2], dtype=torch.float64)[:, :dimensions]
    g, rows = vectors[0], vectors[1:]
    found = {}
    for method in methods():
        used = rows if method["splits"] == 2 else rows.mean(0, keepdim=True)
        modules = [slice(None)] if method["modules"] == 1 else [slice(0, -1), slice(dimensions - 1, None)]
        found[method["family"]] = project(g, used, modules, solver=method["solver"], **knobs).z.numpy()
    return g.numpy(), rows.numpy(), found


def geometry_data(app):
    [found] = [one for one in app.get("bidi_component") if one.proto.component_name == "geometry"]
    return json.loads(found.proto.json)


in_plane_and_space = pytest.mark.parametrize("dimensions", [2, 3])


@in_plane_and_space
def test_without_conflict_every_method_returns_g(dimensions):
    g, _, found = directions("Agreement", dimensions)
    for z in found.values():
        np.testing.assert_array_equal(z, g)


@in_plane_and_space
def test_with_conflict_every_method_changes_g(dimensions):
    g, rows, found = directions("Conflict", dimensions)
    assert (rows @ g < 0).all()
    points = [g, *found.values()]
    assert min(np.linalg.norm(one - other) for i, one in enumerate(points) for other in points[:i]) > 0.1


@in_plane_and_space
def test_counterexample_keeps_less_with_a_split_memory(dimensions):
    g, rows, found = directions("Counterexample to Proposition 2", dimensions)
    np.testing.assert_array_equal([g[:2], *rows[:, :2]], [[-1, 1], [1, 0], [-3, 1]])
    assert rows.mean(0) @ found["GEM"] == pytest.approx(1.5, abs=1e-6)
    assert rows.mean(0) @ found["d-mGEM"] == pytest.approx(0.5, abs=1e-6)


@in_plane_and_space
def test_closed_form_over_corrects_in_its_example(dimensions):
    g, rows, found = directions("Over-correction by approx-GEM", dimensions)
    exact, approx = found["d-mGEM"], found["approx-GEM"]
    assert (rows @ exact >= -1e-6).all()
    assert (rows @ approx > rows @ exact + 0.5).all()
    assert np.linalg.norm(approx - g) > 1.3 * np.linalg.norm(exact - g)


def test_all_methods_are_shown_with_their_usual_symbols(store):
    app = open_page("geometry")
    assert not app.exception
    assert not app.warning
    data = geometry_data(app)
    assert [method["label"] for method in data["content"]["methods"]] == [
        "GEM",
        "p-mGEM(2)",
        "d-mGEM(2)",
        "approx-GEM(1,2)",
    ]
    assert [method["symbol"] for method in data["content"]["methods"]] == ["circle", "triangle-up", "square", "cross"]
    assert data["start"] == {}


def test_link_restores_the_state(store):
    app = open_page("geometry", g="-1,1,0.5", g1="1,0,0", g2="-3,1,2", strength="0.5", turn="10,20", methods="d-mGEM,GEM")
    assert not app.warning
    start = geometry_data(app)["start"]
    assert start["dimensions"] == 3
    assert (start["g"], start["g1"], start["g2"]) == ([-1, 1, 0.5], [1, 0, 0], [-3, 1, 2])
    assert (start["strength"], start["turn"], start["methods"]) == (0.5, [10, 20], ["GEM", "d-mGEM"])


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"g": "1,x", "g1": "1,0", "g2": "0,1"}, "g is “1,x”; it must be 2 or 3 numbers from -100 to 100"),
        ({"g": "1,nan", "g1": "1,0", "g2": "0,1"}, "g is “1,nan”; it must be 2 or 3 numbers"),
        ({"g": "1,1e9", "g1": "1,0", "g2": "0,1"}, "g is “1,1e9”; it must be 2 or 3 numbers"),
        ({"g": "1,0", "g1": "1,0,0", "g2": "0,1"}, "g, g1 and g2 must be given together"),
        ({"g": "1,0"}, "g, g1 and g2 must be given together"),
        ({"strength": "-1"}, "strength is “-1”; it must be a number from 0 to 3"),
        ({"turn": "1"}, "turn is “1”; it must be 2 numbers from -180 to 180"),
        ({"kind": "floor"}, "kind is “floor”; it must be dual-floor or margin"),
        ({"trigger": ""}, "trigger is “”; it must be violation or always"),
        ({"methods": "GEM,ewc"}, f"methods is “GEM,ewc”; it must be some of {', '.join(FAMILIES)}"),
    ],
)
def test_invalid_link_is_reported_and_shows_the_first_example(store, query, sentence):
    with pytest.raises(UsageError) as error:
        read_link(query)
    assert sentence in str(error.value)
    app = open_page("geometry", **query)
    [message] = app.warning
    assert message.value == f"This link cannot be read, so the picture starts with its first example: {error.value}."
    assert geometry_data(app)["start"] == {}
    assert "small enough to draw" in texts(app)
