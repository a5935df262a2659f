import torch
from torchvision.models import alexnet

from mgem_core import networks
from mgem_core.restriction import partition

CIFAR = (3, 32, 32)


def test_alexnet_equals_torchvision_except_for_adaptations():
    with torch.device("meta"):
        theirs = dict(alexnet(num_classes=10).named_parameters())
    ours = {
        f"{layer.name}.{name}": shape
        for layer in networks.layers("alexnet", CIFAR, 10)
        for name, shape in layer.shapes.items()
    }
    assert list(ours) == list(theirs)
    fitted = {name: shape for name, shape in ours.items() if shape != tuple(theirs[name].shape)}
    assert fitted == {"features.0.weight": (64, 3, 3, 3), "classifier.1.weight": (4096, 256 * 2 * 2)}
    assert max(partition.modules(networks.layers("alexnet", CIFAR, 10), "layers")) == 7


def test_features_are_in_torchvision_order():
    network = networks.build("alexnet", CIFAR, 10, seed=0, width=1 / 32)
    with torch.device("meta"):
        theirs = alexnet()
    assert all(isinstance(part, type(other)) for part, other in zip(network.features, theirs.features, strict=True))
    sides = [32]
    x = torch.rand(1, *CIFAR)
    for part in network.features:
        x = part(x)
        sides += [x.shape[-1]] if x.shape[-1] != sides[-1] else []
    assert sides == [32, 16, 8, 4, 2]


def test_forward_pass_is_deterministic():
    network = networks.build("alexnet", CIFAR, 10, seed=0, width=1 / 32).train()
    x = torch.rand(2, *CIFAR)
    assert torch.equal(network(x), network(x))
