import pytest
import torch

from mgem_core import models


@pytest.mark.parametrize("name", models.NETWORKS)
@pytest.mark.parametrize("divisor", [1, 5, 1000])
def test_the_layers_as_data_are_those_of_the_network(name, divisor):
    network = models.build(name, 10, seed=0, divisor=divisor)
    layers = models.layers(name, 10, divisor)
    assert {n: tuple(p.shape) for n, p in network.named_parameters()} == {
        f"{layer.name}.{tensor}": shape for layer in layers for tensor, shape in layer.shapes.items()
    }
    assert [n for n, _ in network.named_parameters()] == [n for layer in layers for n in layer.tensors]
    assert sum(layer.size for layer in layers) == sum(p.numel() for p in network.parameters())
    assert network(torch.zeros(2, 1, 28, 28)).shape == (2, 10)


def test_the_mlp_is_the_papers():
    assert [layer.size for layer in models.layers("mlp", 10)] == [784 * 100 + 100, 100 * 100 + 100, 100 * 10 + 10]


def test_weights_start_as_in_gems_code():
    """Xavier-uniform: within ±√(6 / (in + out)), and as spread as that; biases at zero."""
    network = models.build("mlp", 10, seed=0)
    for layer in (network.fc1, network.fc2, network.fc3):
        edge = (6 / sum(layer.weight.shape)) ** 0.5
        assert 0.95 * edge < layer.weight.abs().max() <= edge
        assert float(layer.weight.detach().std()) == pytest.approx(edge / 3**0.5, rel=0.06)
        assert not layer.bias.any()


def test_weights_follow_the_seed_and_leave_torchs_own_randomness_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    one, same, other = (models.build("mlp", 10, seed=seed).fc1.weight for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
