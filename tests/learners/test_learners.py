"""The baselines, each against its own definition."""

import numpy as np
import pytest
import torch

from mgem_core import RunConfig, learners
from mgem_core.gradients.rows import gradient
from mgem_core.learners._reservoir import Reservoir
from mgem_core.streams import BENCHMARKS


def learner(**fields):
    config = RunConfig(**{"iterations": 100, **fields})
    stream = BENCHMARKS[config.benchmark].open(config.tasks, config.seed)
    return learners.create(config, stream, torch.device("cpu"))


def theta(one):
    return [p.detach().clone() for p in one.network.parameters()]


def test_single_is_sgd():
    one = learner(method="single", lr=0.1)
    images = one.stream.tasks[0].train[:10]
    before = theta(one)
    _, g = gradient(one.network, one.stream.batch(0, images))
    one.observe(0, 0, images)
    for old, g_l, new in zip(before, g, theta(one), strict=True):
        torch.testing.assert_close(new, old - 0.1 * g_l)


def test_independent_networks_share_the_width_and_nothing_else():
    one = learner(method="independent", tasks=5)
    assert [network.fc1.weight.shape[0] for network in one.networks] == [20] * 5
    before = [network.fc1.weight.clone() for network in one.networks]
    one.observe(2, 0, one.stream.tasks[2].train[:10])
    moved = [not torch.equal(network.fc1.weight, old) for network, old in zip(one.networks, before, strict=True)]
    assert moved == [False, False, True, False, False]


@pytest.mark.parametrize("fisher", ["sample", "batch"])
def test_ewc_adds_the_gradient_of_its_penalty(fisher):
    """z − g against autograd of λ/2 Σ_s F_s (θ − θ_s)², with F_s and θ_s written down task by task."""
    one = learner(method="ewc", ewc_lambda=7.0, ewc_samples=20, ewc_fisher=fisher)
    terms = []
    for task in (0, 1):
        shown = one.stream.tasks[task].train[::40]
        for step in range(5):
            one.observe(task, step, shown[10 * step : 10 * step + 10])
        one.finish_task(task, shown)
        kept = one.draw_samples(task, shown, 20)
        groups = [kept[i : i + 1] for i in range(20)] if fisher == "sample" else [kept]
        gradients = [gradient(one.network, one.stream.batch(task, group))[1] for group in groups]
        terms.append(([torch.stack(g).square().mean(0) for g in zip(*gradients, strict=True)], theta(one)))
    step = one.observe(2, 0, one.stream.tasks[2].train[:10])
    at = [p + one.config.lr * z for p, z in zip(theta(one), step.z, strict=True)]  # where the step started
    at = [p.requires_grad_() for p in at]
    penalty = sum((F * (p - old) ** 2).sum() for Fs, olds in terms for F, p, old in zip(Fs, at, olds, strict=True))
    for extra, z_l, g_l in zip(torch.autograd.grad(7.0 / 2 * penalty, at), step.z, step.g, strict=True):
        torch.testing.assert_close(z_l - g_l, extra, rtol=1e-3, atol=1e-5)


def test_ewc_with_no_weight_is_single():
    plain, free = learner(method="single"), learner(method="ewc", ewc_lambda=0.0)
    for one in (plain, free):
        one.observe(0, 0, one.stream.tasks[0].train[:10])
        one.finish_task(0, one.stream.tasks[0].train[:100])
        one.observe(1, 0, one.stream.tasks[1].train[:10])
    assert all(torch.equal(a, b) for a, b in zip(theta(plain), theta(free), strict=True))


def test_mer_without_replay_and_with_full_reptile_rates_is_sgd_sample_by_sample():
    one = learner(method="mer", mer_replays=0, mer_beta=1.0, mer_gamma=1.0, lr=0.03)
    twin = learner(method="single", lr=0.03)
    images = one.stream.tasks[0].train[:10]
    one.observe(0, 0, images)
    for image in images:
        twin.observe(0, 0, np.array([image]))
    for a, b in zip(theta(one), theta(twin), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-7)


def test_mer_interpolates_within_and_across_batches():
    """Two batches of the new sample alone: two SGD steps, each taken to β, and the way of both to γ."""
    beta, gamma, lr = 0.3, 0.5, 0.1
    one = learner(method="mer", mer_replays=0, mer_batches=2, mer_beta=beta, mer_gamma=gamma, lr=lr)
    twin = learner(method="single", lr=beta * lr)
    start, image = theta(one), one.stream.tasks[0].train[:1]
    one.observe(0, 0, image)
    twin.observe(0, 0, image)
    twin.observe(0, 1, image)
    for old, far, near in zip(start, theta(twin), theta(one), strict=True):
        torch.testing.assert_close(near - old, gamma * (far - old), rtol=1e-3, atol=1e-6)


def test_mer_learns_from_the_new_sample_and_then_replays_what_it_kept():
    one = learner(method="mer", mer_replays=3)
    draw = np.random.default_rng(0)
    for image in one.stream.tasks[1].train[:50]:
        one.reservoir.add((1, int(image)), draw)
    new = (0, int(one.stream.tasks[0].train[7]))
    batches = [one._replays(new, draw) for _ in range(20)]
    assert {len(set(batch)) for batch in batches} == {4}
    assert {batch.index(new) for batch in batches} == {0}


def test_mer_direction_is_the_total_parameter_change():
    one = learner(method="mer", mer_replays=2)
    before = theta(one)
    step = one.observe(0, 0, one.stream.tasks[0].train[:5])
    for old, z, new in zip(before, step.z, theta(one), strict=True):
        torch.testing.assert_close(old - one.config.lr * z, new, rtol=1e-4, atol=1e-6)


def test_a_reservoir_is_a_uniform_sample_of_everything_shown():
    reservoir, draw = Reservoir(40), np.random.default_rng(0)
    for sample in range(2000):
        reservoir.add((0, sample), draw)
    kept = np.array([index for _, index in reservoir.samples])
    assert len(kept) == len(set(kept)) == 40
    assert 700 < kept.mean() < 1300  # early and late alike


def test_a_payload_stays_with_its_sample():
    """As the logits of DER++: also when its slot is taken by another sample, and after a checkpoint."""
    reservoir, draw = Reservoir(10), np.random.default_rng(0)
    for sample in range(200):
        slot = reservoir.add((0, sample), draw, payload=torch.tensor(float(sample)))
        assert slot is None or reservoir.samples[slot] == (0, sample)
    restored = Reservoir(10)
    restored.restore(reservoir.state(), tasks=1, images=200, shown=200)
    for slot in restored.draw_slots(10, draw):
        assert restored.payloads[slot] == restored.samples[slot][1]


def test_a_gradient_of_another_loss():
    one = learner(method="single")
    batch = one.stream.batch(0, one.stream.tasks[0].train[:5])
    target = torch.ones(5, 10)
    loss, found = gradient(one.network, batch, lambda logits, _: (logits - target).square().mean())
    expected = (one.network(batch.x) - target).square().mean()
    torch.testing.assert_close(loss, expected.detach())
    for g, wanted in zip(found, torch.autograd.grad(expected, list(one.network.parameters())), strict=True):
        torch.testing.assert_close(g, wanted)


@pytest.mark.parametrize("split_by", ["random", "class", "order"])
def test_memory_is_a_sample_of_what_the_task_showed(split_by):
    one = learner(method="gem", memory=50, splits=3, split_by=split_by)
    shown = one.stream.tasks[0].train[::20]  # 20 of each digit
    one.finish_task(0, shown)
    kept = one.remembered[0]
    assert len(set(kept)) == 50
    assert 60 < np.mean([shown.tolist().index(image) for image in kept]) < 140  # from all of the task, not its start
    assert set(kept) <= set(shown)
    assert sum(one.rows.sizes) == 50
    assert len(one.rows.sizes) == 3


def test_batch_norm_networks_learn_with_memory_too():
    one = learner(method="gem", benchmark="mnist5k-split", memory=30, splits=2, modules=5)
    for task in (0, 1):
        one.observe(task, 0, one.stream.tasks[task].train[:10])
        one.finish_task(task, one.stream.tasks[task].train[:100])
    step = one.observe(2, 0, one.stream.tasks[2].train[:10])
    assert step.memory_z.shape == (2,)
    assert one.network.norm1.num_batches_tracked == 1 + (1 + 2) + (1 + 4)
