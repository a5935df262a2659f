"""ER: every step learns from its batch and from samples of a reservoir."""

import numpy as np
import pytest
import torch
from resumed import check_resumed_run
from torch.nn.functional import cross_entropy

from mgem_core import RunConfig, run
from mgem_core.learners._reservoir import batch_of
from mgem_core.training.engine import _Run

SHORT = {"method": "er", "tasks": 3, "iterations": 15, "memory": 20}


def learner(**fields):
    return _Run(RunConfig(**{**SHORT, **fields}), torch.device("cpu")).learner


def test_the_first_step_has_nothing_to_replay():
    one = learner()
    step = one.observe(0, 0, one.stream.tasks[0].train[:10])
    assert all(torch.equal(z, g) for z, g in zip(step.z, step.g, strict=True))
    assert len(one.reservoir.samples) == 10


@pytest.mark.parametrize("benchmark", ["mnist5k-permutations", "mnist5k-split"])
def test_the_direction_is_the_gradient_of_the_mean_loss_over_batch_and_replays(benchmark):
    """With batch norm, too, which sees both as one batch."""
    one = learner(benchmark=benchmark, er_replays=5)
    one.observe(0, 0, one.stream.tasks[0].train[:10])
    old, new = one.reservoir.samples[:5], one.stream.tasks[1].train[:10]
    one.reservoir.draw = lambda count, draw: old
    batches = [one.stream.batch(1, new), *(one.stream.batch(task, np.array([image])) for task, image in old)]
    logits, y = one.network(torch.cat([batch.x for batch in batches])), torch.cat([batch.y for batch in batches])
    if batches[0].mask is not None:
        masks = torch.cat([batch.mask.expand(len(batch.y), -1) for batch in batches])
        logits = logits.masked_fill(~masks, -torch.inf)
    expected = torch.autograd.grad(cross_entropy(logits, y), list(one.network.parameters()))
    step = one.observe(1, 0, new)
    for z, g in zip(step.z, expected, strict=True):
        torch.testing.assert_close(z, g, rtol=1e-3, atol=1e-5)


def test_replayed_samples_are_shown_as_their_task_shows_them():
    one = learner(benchmark="mnist5k-split")
    images = [int(one.stream.tasks[task].train[0]) for task in (0, 2)]
    batch = batch_of(one.stream, [(0, images[0]), (2, images[1])])
    assert batch.mask.tolist() == [one.stream.mask(task).tolist() for task in (0, 2)]
    permuted = learner()
    image = int(permuted.stream.tasks[1].train[0])
    shown = batch_of(permuted.stream, [(1, image)])
    assert torch.equal(shown.x, permuted.stream.batch(1, np.array([image])).x)
    drawn = [(task, int(permuted.stream.tasks[task].train[number])) for number, task in enumerate([2, 0, 1, 0, 2])]
    one_by_one = [permuted.stream.batch(task, np.array([image])) for task, image in drawn]
    together = batch_of(permuted.stream, drawn)
    assert torch.equal(together.x, torch.cat([batch.x for batch in one_by_one]))
    assert torch.equal(together.y, torch.cat([batch.y for batch in one_by_one]))


@pytest.mark.parametrize("fields", [{}, {"benchmark": "mnist5k-split"}])
def test_resumed_run_is_bit_identical(fields):
    check_resumed_run(RunConfig(**{**SHORT, **fields}))


def test_er_forgets_less_than_sgd():
    fields = {**SHORT, "benchmark": "mnist5k-rotations", "iterations": 60, "probe_every": 0}
    er, single = (list(run(RunConfig(**{**fields, "method": method})))[-1] for method in ("er", "single"))
    assert er.acc > single.acc + 5
