import numpy as np
import pytest
import torch

from mgem_core import RunConfig, networks, run
from mgem_core.gradients.memory import pack
from mgem_core.gradients.rows import (
    full_gradient,
    gradient,
    memory_rows,
    preserved_statistics,
    rows_by_vmap,
    rows_one_by_one,
    squared_gradients,
)
from mgem_core.streams import BENCHMARKS


def batches(benchmark="mnist5k-split", sizes=(5, 9, 9, 2)):
    stream = BENCHMARKS[benchmark].open(4, 0)
    return [stream.batch(t, stream.tasks[t].train[:n]) for t, n in enumerate(sizes)]


@pytest.mark.parametrize("benchmark", ["mnist5k-split", "mnist5k-permutations"])
@pytest.mark.parametrize("sizes", [(9, 9, 9, 9), (5, 9, 9, 2)], ids=["equal sizes", "several sizes"])
def test_rows_in_one_pass_are_those_of_a_pass_each_and_batch_norms_end_alike(benchmark, sizes):
    """On a GPU one pass for all rows; running statistics are those after the rows one by one."""
    network, twin = (networks.build("conv-small", (1, 28, 28), 10, seed=0) for _ in range(2))
    memory = pack(batches(benchmark, sizes))
    for _ in range(2):  # the second time, the statistics are not those of a new network
        torch.testing.assert_close(rows_by_vmap(network, memory), rows_one_by_one(twin, memory), rtol=1e-3, atol=1e-5)
        assert network.norm1.num_batches_tracked.item() in (4, 8)
        for (name, buffer), expected in zip(network.named_buffers(), twin.buffers(), strict=True):
            torch.testing.assert_close(buffer, expected, rtol=1e-5, atol=1e-6, msg=name)


def test_rows_in_one_pass_leave_out_parameters_without_a_gradient():
    network, memory = WithoutGradients(norm=True), pack(batches())
    network.unused.weight.requires_grad_(False)
    torch.testing.assert_close(rows_by_vmap(network, memory), rows_one_by_one(network, memory), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["mlp", "conv-small"])
def test_a_row_is_the_gradient_of_its_samples(name):
    network, rows = networks.build(name, (1, 28, 28), 10, seed=0), batches()
    together = [torch.stack(rows_l) for rows_l in zip(*memory_rows(network, pack(rows)), strict=True)]
    for c, batch in enumerate(rows):
        _, g = gradient(network, batch)
        for row, g_l in zip(together, g, strict=True):
            torch.testing.assert_close(row[c], g_l, rtol=1e-4, atol=1e-6)


def test_logits_of_other_tasks_get_no_gradient():
    network, batch = networks.build("mlp", (1, 28, 28), 10, seed=0), batches()[1]
    _, g = gradient(network, batch)
    assert g[-1].nonzero().flatten().tolist() == [2, 3]


def test_memory_passes_update_batch_norm_statistics_and_looking_does_not():
    network, memory = networks.build("conv-small", (1, 28, 28), 10, seed=0), pack(batches())
    before = network.norm1.running_mean.clone()
    with preserved_statistics(network):
        memory_rows(network, memory)
    assert torch.equal(network.norm1.running_mean, before)
    assert network.norm1.num_batches_tracked == 0
    memory_rows(network, memory)
    assert not torch.equal(network.norm1.running_mean, before)
    assert network.norm1.num_batches_tracked == 4


def test_the_gradient_of_chunks_is_that_of_the_whole():
    network, stream = networks.build("mlp", (1, 28, 28), 10, seed=0), BENCHMARKS["mnist5k-split"].open(1, 0)
    train = stream.tasks[0].train
    parts = [stream.batch(0, part) for part in np.array_split(train, 3)]
    for whole, chunked in zip(
        gradient(network, stream.batch(0, train))[1], full_gradient(network, parts, len(train)), strict=True
    ):
        torch.testing.assert_close(whole, chunked, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["mlp", "conv-small"])
def test_squared_gradients_are_those_of_each_sample_alone(name):
    network, batch = networks.build(name, (1, 28, 28), 10, seed=0), batches(sizes=(70,))[0]
    got = squared_gradients(network, batch)
    assert network.training
    network.eval()
    alone = [gradient(network, type(batch)(batch.x[i : i + 1], batch.y[i : i + 1], batch.mask))[1] for i in range(70)]
    for got_l, each in zip(got, zip(*alone, strict=True), strict=True):
        torch.testing.assert_close(got_l, torch.stack(each).square().mean(0), rtol=1e-3, atol=1e-9)


class WithoutGradients(torch.nn.Module):
    """Two layers that the loss does not depend on: one is not used, the output of the other is thrown away."""

    def __init__(self, norm):
        super().__init__()
        self.unused, self.ignored, self.used = (torch.nn.Linear(784, 10) for _ in range(3))
        self.norm = torch.nn.BatchNorm1d(784) if norm else torch.nn.Identity()

    def forward(self, x):
        x = self.norm(x.flatten(1))
        self.ignored(x)
        return self.used(x)


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
def test_parameters_without_a_gradient_get_zeros(norm, frozen):
    network, rows = WithoutGradients(norm), batches()
    network.unused.weight.requires_grad_(not frozen)
    together = [torch.stack(rows_l) for rows_l in zip(*memory_rows(network, pack(rows)), strict=True)]
    names = [name for name, _ in network.named_parameters()]
    for c, batch in enumerate(rows):
        _, g = gradient(network, batch)
        for name, row, g_l in zip(names, together, g, strict=True):
            assert row[c].any() == g_l.any() == (name.partition(".")[0] in ("used", "norm")), name
            torch.testing.assert_close(row[c], g_l, rtol=1e-4, atol=1e-6)
    for name, square in zip(names, squared_gradients(network, rows[0]), strict=True):
        assert square.any() == (name.partition(".")[0] in ("used", "norm"))


@pytest.mark.parametrize("method", ["gem", "ewc", "mer", "single", "independent"])
def test_a_run_leaves_parameters_without_a_gradient_where_they_are(method, monkeypatch):
    made = []

    def build(*arguments, **options):
        made.append(WithoutGradients(norm=False))
        made[-1].unused.weight.requires_grad_(False)
        made[-1].before = [p.detach().clone() for p in made[-1].parameters()]
        return made[-1]

    monkeypatch.setattr("mgem_core.learners._learner.build", build)
    config = RunConfig(method=method, tasks=2, iterations=2, trigger="always", probe_every=1, snap_every=1, ewc_samples=5)
    *_, last = run(config)
    assert last.status == "finished"
    for network in made:
        parts = zip(network.named_parameters(), network.before, strict=True)
        assert {name for (name, p), old in parts if not torch.equal(p, old)} == {"used.weight", "used.bias"}
