"""Rules of gradient surgery: those of TorchJD where it has them, and what their papers promise."""

import numpy as np
import pytest
import torch
from recorded import record
from torchjd import aggregation

from mgem_core.lens.answers import answers
from mgem_core.lens.steps import steps_of
from mgem_core.restriction.restriction import Restriction
from mgem_core.restriction.surgery import RULES


def gradients(seed, n=4, P=30):
    """Gradients that conflict: some share a direction with opposite signs."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, P)) + 2 * rng.normal(size=(n, 1)) * rng.normal(size=(1, P))


def direction(rule, J, parameter=0.0):
    return RULES[rule].weights(J @ J.T, np.ones(len(J) - 1), parameter) @ J


def in_order(monkeypatch):
    monkeypatch.setattr(torch, "randperm", lambda n, **_: torch.arange(n))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("rule", ["pcgrad", "mgda", "cagrad", "upgrad"])
def test_rule_equals_torchjd(rule, n, seed, monkeypatch):
    """PCGrad in the order that we take. The others differ by what TorchJD adds: a ridge, or a search that ends early."""
    in_order(monkeypatch)
    theirs = {
        "pcgrad": aggregation.PCGrad(),
        "mgda": aggregation.MGDA(epsilon=1e-9, max_iters=20_000),
        "cagrad": aggregation.CAGrad(c=0.5),
        "upgrad": aggregation.UPGrad(),
    }[rule]
    J = gradients(seed, n)
    expected, found = theirs(torch.from_numpy(J)).numpy(), direction(rule, J, 0.5)
    scale = np.linalg.norm(J, axis=1).mean()
    assert np.linalg.norm(found - expected) <= {"pcgrad": 1e-12, "mgda": 5e-3, "cagrad": 2e-4, "upgrad": 2e-3}[rule] * scale
    if rule == "mgda":
        assert np.linalg.norm(found) <= np.linalg.norm(expected) * (1 + 1e-9)


def test_agem_removes_the_conflict_with_the_memory_mean():
    for seed in range(10):
        J = gradients(seed)
        memory, z = J[1:].mean(0), direction("agem", J)
        if J[0] @ memory >= 0:
            np.testing.assert_allclose(z, J[0])
        else:
            assert z @ memory == pytest.approx(0, abs=1e-9)
            np.testing.assert_allclose(np.linalg.norm(z) ** 2, J[0] @ z, rtol=1e-9)  # a projection


def test_agem_weights_memory_rows_by_sample_count():
    J = gradients(3)
    J[0] = -(0.8 * J[1] + 0.1 * J[2] + 0.1 * J[3])
    w = RULES["agem"].weights(J @ J.T, np.array([0.8, 0.1, 0.1]), 0.0)
    np.testing.assert_allclose(w @ J, 0, atol=1e-9)


@pytest.mark.parametrize("rule", ["mgda", "upgrad"])
def test_direction_conflicts_with_no_gradient(rule):
    for seed in range(10):
        J = gradients(seed)
        z = direction(rule, J)
        assert (J @ z >= -1e-4 * np.linalg.norm(J, axis=1).max() ** 2).all()


def test_cagrad_stays_within_its_radius_and_radius_zero_is_the_mean():
    for seed in range(10):
        J = gradients(seed)
        mean = J.mean(0)
        np.testing.assert_allclose(direction("cagrad", J, 0.0), mean)
        off = direction("cagrad", J, 0.4) - mean
        assert np.linalg.norm(off) <= 0.4 * np.linalg.norm(mean) * (1 + 1e-6)
        assert (J @ (mean + off)).min() >= (J @ mean).min() - 1e-9


def test_replay_adds_the_memory():
    J = gradients(0)
    np.testing.assert_allclose(direction("replay", J, 0.3), J[0] + 0.3 * J[1:].sum(0))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["zero", "duplicate", "opposite", "one zero"])
def test_degenerate_gradients_give_finite_weights(rule, kind):
    J = gradients(1)
    J = {
        "zero": 0 * J,
        "duplicate": J[[0, 0, 1, 1]],
        "opposite": np.stack([J[0], -J[0]]),
        "one zero": J * [[1], [0], [1], [1]],
    }[kind]
    assert np.isfinite(direction(rule, J, 0.5)).all()


@pytest.mark.parametrize("rule", RULES)
def test_lens_applies_rules_per_module(rule):
    one = record("mlp", 1)
    found = answers(steps_of(one.recording, 2), [Restriction("layers", splits=2, strength=0.4, rule=rule)])
    vectors, sizes = torch.stack(one.vectors[0]).numpy(), one.recording.snapshots[0].sizes
    rows = vectors[4:].reshape(2, 2, 3, -1)
    weights = sizes.reshape(2, 2, 3, 1)
    rows = ((rows * weights).sum(2) / weights.sum(2)).reshape(4, -1)
    shares = (sizes.reshape(2, 2, 3).sum(2) / sizes.sum(1, keepdims=True)).ravel()
    J, z, start = np.concatenate([vectors[:1], rows]), [], 0
    for layer in one.recording.layers:
        part = J[:, start : start + layer.size]
        z.append(RULES[rule].weights(part @ part.T, shares, 0.4) @ part)
        start += layer.size
    z = np.concatenate(z)
    got = np.array([found.batch_z[0, 0], found.gt_z[0, 0], *found.gs_z[0, 0]])
    scale = np.linalg.norm(vectors[:4], axis=1) * np.linalg.norm(z)
    np.testing.assert_allclose(got / scale, vectors[:4] @ z / scale, rtol=0, atol=1e-5)
    assert found.norm_z[0, 0] == pytest.approx(np.linalg.norm(z), rel=1e-5)
