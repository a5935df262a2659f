"""The passes written out for chains of linear layers give what autograd gives."""

import copy

import pytest
import torch
from torch import nn

from mgem_core import RunConfig, learners, networks
from mgem_core.gradients.linear_chain import RowsAndBatch, chain_of
from mgem_core.gradients.memory import pack
from mgem_core.gradients.rows import descend, full_gradient, losses, squared_gradients
from mgem_core.streams import BENCHMARKS
from mgem_core.streams._stream import Batch

WITH_AND_WITHOUT_MASK = pytest.mark.parametrize("benchmark", ["mnist5k-split", "mnist5k-permutations"])


def mlp(seed=0):
    return networks.build("mlp", (1, 28, 28), 10, seed)


def batch_of(benchmark, task, images):
    stream = BENCHMARKS[benchmark].open(4, 0)
    return stream.batch(task, stream.tasks[task].train[images])


def by_autograd(network, batch):
    loss = losses(network(batch.x), batch.y, batch.mask).mean()
    return loss.detach(), torch.autograd.grad(loss, list(network.parameters()))


def assert_close(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@WITH_AND_WITHOUT_MASK
@pytest.mark.parametrize("samples", [1, 10, 300])
def test_loss_and_gradient_are_those_of_autograd(benchmark, samples):
    network, batch = mlp(), batch_of(benchmark, 2, slice(samples))
    loss, g = chain_of(network).gradient(batch)
    expected_loss, expected = by_autograd(network, batch)
    torch.testing.assert_close(loss, expected_loss)
    assert_close(g, expected)


def test_every_sample_may_have_its_own_mask():
    network, parts = mlp(), [batch_of("mnist5k-split", task, slice(3)) for task in (1, 3)]
    masks = torch.cat([part.mask.expand(3, -1) for part in parts])
    batch = Batch(torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts]), masks)
    assert_close(chain_of(network).gradient(batch)[1], by_autograd(network, batch)[1])


@WITH_AND_WITHOUT_MASK
@pytest.mark.parametrize("sizes", [(40,), (7, 7, 7), (5, 9, 9, 2)])
def test_rows_and_batch_of_one_pass_are_those_of_a_pass_each(benchmark, sizes):
    network = mlp()
    rows = [batch_of(benchmark, task, slice(size)) for task, size in enumerate(sizes)]
    one_pass = RowsAndBatch(chain_of(network), pack(rows))
    for samples in (10, 10, 4):  # buffers that are used again, and a batch of another size
        batch = batch_of(benchmark, 3, slice(100, 100 + samples))
        loss, g, G = one_pass(batch)
        expected_loss, expected = by_autograd(network, batch)
        torch.testing.assert_close(loss, expected_loss)
        assert_close(one_pass.split(g), expected)
        for row, vector in zip(rows, G, strict=True):
            assert_close(one_pass.split(vector), by_autograd(network, row)[1])
        descend(network, batch, 0.1)


def test_inputs_that_no_sample_of_a_row_uses_are_left_out():
    rows = [batch_of("mnist5k-permutations", task, slice(50)) for task in range(2)]
    one_pass = RowsAndBatch(chain_of(mlp()), pack(rows))
    used = [int((row.x.flatten(1) != 0).any(0).sum()) for row in rows]
    assert max(used) < one_pass.x.shape[2] < max(used) + 10 < 784


def test_without_such_inputs_all_are_there():
    row = Batch(torch.rand(20, 1, 28, 28), torch.randint(0, 10, (20,)), None)
    network = mlp()
    one_pass = RowsAndBatch(chain_of(network), pack([row]))
    assert one_pass.x.shape[2] == 785
    assert_close(one_pass.split(one_pass(row)[2][0]), by_autograd(network, row)[1])


def test_the_same_step_gives_the_same_bits():
    rows, batch = [batch_of("mnist5k-permutations", task, slice(60)) for task in range(3)], None
    found = []
    for _ in range(2):
        one_pass = RowsAndBatch(chain_of(mlp()), pack(rows))
        for start in (0, 10):
            batch = batch_of("mnist5k-permutations", 3, slice(start, start + 10))
            found.append([part.clone() for part in one_pass(batch)])
    for first, again in zip(found[:2], found[2:], strict=True):
        assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))


@WITH_AND_WITHOUT_MASK
def test_a_step_of_descent_is_one_of_sgd(benchmark):
    network, batch = mlp(), batch_of(benchmark, 1, slice(10))
    twin = copy.deepcopy(network)
    descend(network, batch, 0.1)
    optimiser = torch.optim.SGD(twin.parameters(), 0.1)
    losses(twin(batch.x), batch.y, batch.mask).mean().backward()
    optimiser.step()
    assert_close([p.detach() for p in network.parameters()], [p.detach() for p in twin.parameters()])


def test_the_gradient_of_a_whole_set_is_that_of_autograd():
    network, batch = mlp(), batch_of("mnist5k-split", 1, slice(100))
    chunks = [Batch(batch.x[i : i + 30], batch.y[i : i + 30], batch.mask) for i in range(0, 100, 30)]
    assert_close(full_gradient(network, chunks, 100), by_autograd(network, batch)[1])


def test_squared_gradients_are_those_of_each_sample_by_autograd():
    network, batch = mlp(), batch_of("mnist5k-split", 1, slice(20))
    alone = [by_autograd(network, Batch(batch.x[i : i + 1], batch.y[i : i + 1], batch.mask))[1] for i in range(20)]
    expected = [torch.stack(each).square().mean(0) for each in zip(*alone, strict=True)]
    for found, mean in zip(squared_gradients(network, batch), expected, strict=True):
        torch.testing.assert_close(found, mean, rtol=1e-3, atol=1e-9)


def test_logits_are_those_of_the_network():
    network, batch = mlp(), batch_of("mnist5k-split", 1, slice(100))
    torch.testing.assert_close(chain_of(network).logits(batch.x), network(batch.x).detach(), rtol=1e-4, atol=1e-5)


def test_a_network_stays_the_same_when_its_chain_is_made():
    network = mlp()
    before, x = copy.deepcopy(network.state_dict()), torch.rand(5, 1, 28, 28)
    expected = network(x)
    chain_of(network)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    torch.testing.assert_close(network(x), expected, rtol=1e-5, atol=1e-6)
    network.load_state_dict(mlp(seed=1).state_dict())
    torch.testing.assert_close(chain_of(network).logits(x), network(x).detach(), rtol=1e-4, atol=1e-5)


class Residual(nn.Sequential):
    def forward(self, x):
        return super().forward(x) + 1


def chain(*parts, kind=nn.Sequential):
    return kind(nn.Flatten(), *parts)


def frozen():
    network = mlp()
    network.fc1.bias.requires_grad_(False)
    return network


@pytest.mark.parametrize(
    "network",
    [
        networks.build("conv-small", (1, 28, 28), 10, seed=0),
        chain(nn.Linear(784, 10)),
        chain(nn.Linear(784, 10, bias=False), nn.ReLU(), nn.Linear(10, 10)),
        chain(nn.Linear(784, 10), nn.Tanh(), nn.Linear(10, 10)),
        chain(nn.Linear(784, 10), nn.Linear(10, 10)),
        chain(nn.Linear(784, 10), nn.ReLU(), nn.Linear(10, 10), nn.ReLU()),
        chain(nn.Linear(784, 10), nn.ReLU(), nn.Linear(10, 10), kind=Residual),
        mlp().double(),
        frozen(),
    ],
)
def test_other_networks_are_left_to_autograd(network):
    assert chain_of(network) is None


def test_a_deeper_chain_is_one_too():
    hidden = [part for _ in range(3) for part in (nn.Linear(12, 12), nn.ReLU())]
    network = chain(nn.Linear(784, 12), nn.ReLU(), *hidden, nn.Linear(12, 10))
    row, batch = (batch_of("mnist5k-permutations", task, slice(9)) for task in range(2))
    _, g, G = (one_pass := RowsAndBatch(chain_of(network), pack([row])))(batch)
    assert_close(one_pass.split(g), by_autograd(network, batch)[1])
    assert_close(one_pass.split(G[0]), by_autograd(network, row)[1])


def test_a_learner_lays_out_its_weights_before_anything_is_copied_from_them():
    """Otherwise a resumed run would add up some numbers in another order than an undisturbed one."""
    config = RunConfig(method="mer", tasks=2)
    one = learners.create(config, config.benchmark_info.open(2, 0), torch.device("cpu"))
    before = [p.stride() for p in one.network.parameters()]
    assert chain_of(one.network)
    assert [p.stride() for p in one.network.parameters()] == before
