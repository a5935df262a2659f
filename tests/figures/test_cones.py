"""Figure 1 of the paper shows the solution of the dual problem."""

import math

import numpy as np

from mgem_core.figures import cones


def test_z_is_the_nearest_allowed_direction():
    for panel in cones.panels():
        assert (panel.rows @ panel.z >= -1e-6).all()
        angles, lengths = np.meshgrid(np.linspace(*panel.allowed, 400), np.linspace(0, 2, 400))
        allowed = np.stack([lengths * np.cos(angles), lengths * np.sin(angles)], axis=-1)
        nearest = np.linalg.norm(allowed - cones.G_T, axis=-1).min()
        assert np.linalg.norm(panel.z - cones.G_T) <= nearest + 1e-6


def test_shaded_angles_agree_with_every_row():
    for panel in cones.panels():
        low, high = panel.allowed
        inside = np.linspace(low, high, 50)
        outside = [low - 0.01, high + 0.01]
        assert (panel.rows @ np.stack([np.cos(inside), np.sin(inside)]) >= -1e-9).all()
        assert ((panel.rows @ np.stack([np.cos(outside), np.sin(outside)])) < 0).any(axis=0).all()


def test_split_memory_allows_fewer_directions():
    whole, split = cones.panels()
    assert split.allowed[0] > whole.allowed[0]
    assert split.allowed[1] < whole.allowed[1]
    assert math.isclose(whole.allowed[1] - whole.allowed[0], math.pi)
    np.testing.assert_allclose(split.rows.mean(axis=0), whole.rows[0])


def test_every_vector_has_an_arrow():
    arrows = [one for one in cones.screen()["layout"]["annotations"] if one.get("showarrow")]
    assert len(arrows) == 3 + 4
    assert "180°" in cones.in_words()
