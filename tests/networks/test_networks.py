import pytest
import torch
from pydantic import ValidationError

from mgem_core import RunConfig, networks
from mgem_core.config import explain
from mgem_core.networks._layer import scaled

DIGITS, CIFAR, PHOTOS = (1, 28, 28), (3, 32, 32), (3, 96, 64)
SMALLEST_COLOUR = {name: (3, *[max(32, network.smallest_side)] * 2) for name, network in networks.NETWORKS.items()}
FITTING = [
    (name, shape)
    for name, network in networks.NETWORKS.items()
    for shape in (DIGITS, CIFAR, PHOTOS, (2, network.smallest_side, network.smallest_side))
    if network.fits(shape)
]


@pytest.mark.parametrize(("name", "shape"), FITTING)
@pytest.mark.parametrize(("classes", "width"), [(10, 1.0), (100, 1.0), (7, 1 / 5), (2, 1 / 1000)])
def test_described_layers_match_the_module(name, shape, classes, width):
    with torch.device("meta"):
        network = networks.build(name, shape, classes, seed=0, width=width)
        assert network(torch.zeros(2, *shape)).shape == (2, classes)
    layers = networks.layers(name, shape, classes, width)
    described = [(f"{layer.name}.{tensor}", size) for layer in layers for tensor, size in layer.shapes.items()]
    assert described == [(tensor, tuple(p.shape)) for tensor, p in network.named_parameters()]
    assert [tensor for layer in layers for tensor in layer.tensors] == [tensor for tensor, _ in described]
    assert sum(layer.size for layer in layers) == sum(p.numel() for p in network.parameters())


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_smallest_images_are_learned_and_smaller_ones_rejected(name):
    """MER uses batches of one image, and a batch norm needs more than one value per channel."""
    side = networks.NETWORKS[name].smallest_side
    network = networks.build(name, (3, side, side), 10, seed=0, width=1 / 8)
    network(torch.rand(1, 3, side, side)).sum().backward()
    if side > 1:
        with pytest.raises(ValueError, match=f"'{name}'; it needs images of at least {side} × {side}, and these are 3 × "):
            networks.layers(name, (3, side - 1, side), 10)


def test_network_unfit_for_the_benchmark_is_rejected():
    with pytest.raises(ValidationError) as caught:
        RunConfig(network="conv5")
    needs = "it needs images of at least 32 × 32, and mnist5k-permutations has 1 × 28 × 28"
    assert explain(caught.value) == f"network is 'conv5'; {needs}."


def test_mlp_matches_the_paper():
    sizes = [layer.size for layer in networks.layers("mlp", DIGITS, 10)]
    assert sizes == [784 * 100 + 100, 100 * 100 + 100, 100 * 10 + 10]


def test_conv5_matches_the_paper():
    layers = networks.layers("conv5", CIFAR, 100)
    assert len(layers) == 9
    weights = {layer.name: layer.shapes["weight"] for layer in layers if layer.name.startswith("conv")}
    assert weights == {
        "conv1": (128, 3, 4, 4),
        "conv2": (256, 128, 4, 4),
        "conv3": (512, 256, 4, 4),
        "conv4": (1024, 512, 4, 4),
        "conv5": (100, 1024, 2, 2),
    }
    assert [layer.name for layer in layers if layer.name.startswith("conv") and "bias" in layer.shapes] == ["conv5"]


def test_resnet18_equals_torchvision_except_for_its_stem():
    from torchvision.models import resnet18

    ours = networks.build("resnet18", CIFAR, 100, seed=3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        theirs = resnet18(num_classes=100)
    for (name, p), (their_name, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert name == their_name
        assert name == "conv1.weight" or torch.equal(p, q)
    assert ours.conv1.weight.shape == (64, 3, 3, 3)
    assert float(ours.conv1.weight.detach().std()) == pytest.approx((2 / (64 * 9)) ** 0.5, rel=0.1)
    features = ours.layer1(ours.maxpool(ours.relu(ours.bn1(ours.conv1(torch.rand(2, *CIFAR))))))
    assert features.shape == (2, 64, 32, 32)


@pytest.mark.parametrize(
    "name", [name for name in networks.NETWORKS if name != "resnet18"]
)  # initialised as in torchvision
def test_initial_weights_match_gems_code(name):
    """Xavier-uniform: within ±√(6 / (in + out)), with the same spread; biases are zero."""
    network = networks.build(name, SMALLEST_COLOUR[name], 10, seed=0, width=1 / 2)
    layers = [part for part in network.modules() if isinstance(part, torch.nn.Linear | torch.nn.Conv2d)]
    for layer in layers:
        edge = (6 / (sum(layer.weight.shape[:2]) * layer.weight[0, 0].numel())) ** 0.5
        assert 0.95 * edge < layer.weight.abs().max() <= edge
        assert float(layer.weight.detach().std()) == pytest.approx(edge / 3**0.5, rel=0.06)
        assert layer.bias is None or not layer.bias.any()


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_weights_depend_on_the_seed_not_on_torchs_random_state(name):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    shape = SMALLEST_COLOUR[name]
    one, same, other = (next(networks.build(name, shape, 10, seed, 1 / 8).parameters()) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("full", [8, 16, 64, 100, 128, 1024])
def test_width_is_divided_among_n_networks(full):
    assert [scaled(full, 1 / n) for n in range(1, 2000)] == [max(1, full // n) for n in range(1, 2000)]
