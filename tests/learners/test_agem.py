"""A-GEM: one constraint per module, the mean gradient on samples of all memories."""

import pytest
import torch
from resumed import check_resumed_run

from mgem_core import RunConfig
from mgem_core.gradients.rows import gradient
from mgem_core.learners._reservoir import batch_of
from mgem_core.training.engine import _Run

SHORT = {"method": "agem", "tasks": 3, "iterations": 15, "memory": 20}


def learner(**fields):
    one = _Run(RunConfig(**{**SHORT, **fields}), torch.device("cpu")).learner
    for task in (0, 1):
        for step in range(5):
            one.observe(task, step, one.stream.tasks[task].train[10 * step : 10 * step + 10])
        one.finish_task(task, one.stream.tasks[task].train[:50])
    return one


def opposed(one):
    """A step whose gradient goes against the memory: the memory's own images with other labels."""
    reference = gradient(one.network, batch_of(one.stream, one.remembered))[1]
    noise = torch.Generator().manual_seed(0)
    against = [-2 * g + 0.01 * torch.randn(g.shape, generator=noise) for g in reference]
    one.gradient = lambda task, indices: (torch.tensor(1.0), against)
    return reference, one.observe(2, 0, one.stream.tasks[2].train[:10])


def test_conflicting_gradient_is_projected():
    one = learner(agem_samples=1000)  # all of the memory
    reference, step = opposed(one)
    flat = [torch.cat([t.flatten() for t in vector]) for vector in (step.g, step.z, reference)]
    g, z, ref = flat
    assert g @ ref < 0
    torch.testing.assert_close(z, g - (g @ ref) / (ref @ ref) * ref, rtol=1e-4, atol=1e-6)
    assert step.violated == 1.0


def test_with_modules_every_module_is_projected_by_itself():
    one = learner(agem_samples=1000, modules=3)
    reference, step = opposed(one)
    for module in range(3):
        g, z, ref = (
            torch.cat([t.flatten() for t, d in zip(vector, one.config.module_of, strict=True) if d == module])
            for vector in (step.g, step.z, reference)
        )
        torch.testing.assert_close(z, g - min(float((g @ ref) / (ref @ ref)), 0.0) * ref, rtol=1e-4, atol=1e-6)


def test_gradient_is_unchanged_without_conflict():
    one = learner()
    reference = gradient(one.network, batch_of(one.stream, one.remembered))[1]
    one.gradient = lambda task, indices: (torch.tensor(1.0), reference)
    step = one.observe(2, 0, one.stream.tasks[2].train[:10])
    assert all(torch.equal(z, g) for z, g in zip(step.z, step.g, strict=True))
    assert step.violated == 0.0


@pytest.mark.parametrize("fields", [{}, {"modules": 4}, {"benchmark": "mnist5k-split"}])
def test_resumed_run_is_bit_identical(fields):
    check_resumed_run(RunConfig(**{**SHORT, **fields}))


def test_labels():
    labels = [RunConfig(method="agem", modules=modules).label for modules in (1, 4, {"fc1": 0, "fc2": 1, "fc3": 0})]
    assert labels == ["A-GEM", "A-GEM(4)", "A-GEM(2*)"]
