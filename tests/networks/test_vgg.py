import pytest
import torch
from torchvision import models

from mgem_core import networks
from mgem_core.restriction import partition

CIFAR = (3, 32, 32)
BOTH = {"vgg11-bn": models.vgg11_bn, "vgg16-bn": models.vgg16_bn}


@pytest.mark.parametrize(("name", "convolutions"), [("vgg11-bn", 8), ("vgg16-bn", 13)])
def test_vgg_equals_torchvision_except_for_adaptations(name, convolutions):
    with torch.device("meta"):
        theirs, ours = BOTH[name](num_classes=10), networks.build(name, CIFAR, 10, seed=0)
    assert list(map(str, ours.features)) == [
        str(part).replace(", inplace=True", "").replace("inplace=True", "") for part in theirs.features
    ]
    shapes = {name: tuple(p.shape) for name, p in ours.named_parameters()}
    fitted = {name: shape for name, shape in shapes.items() if shape != tuple(theirs.get_parameter(name).shape)}
    assert list(shapes) == [name for name, _ in theirs.named_parameters()]
    assert fitted == {"classifier.0.weight": (4096, 512)}
    assert max(partition.modules(networks.layers(name, CIFAR, 10), "layers")) + 1 == 2 * convolutions + 3


@pytest.mark.parametrize("name", BOTH)
def test_forward_pass_is_deterministic(name):
    network = networks.build(name, CIFAR, 10, seed=0, width=1 / 32).train()
    x = torch.rand(2, *CIFAR)
    assert torch.equal(network(x), network(x))
