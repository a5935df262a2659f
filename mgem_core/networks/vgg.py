"""torchvision's VGG-11 and VGG-16 with batch norm, adapted to images of 32 × 32.

Difference to torchvision: five poolings leave one position of 32 × 32, so the classifier gets only that one, where
torchvision's would get 7 × 7 copies of it. Weights are initialised as in GEM's published code, like those of the paper's
networks. There is no dropout, for the reasons given in alexnet.py.
"""

from collections import OrderedDict
from collections.abc import Iterator

from mgem_core.networks import Module, Network, register
from mgem_core.networks._layer import Layer, Shape, conv, linear, norm, scaled

Stages = tuple[tuple[int, ...], ...]  # the widths of the convolutions before each of the five poolings
VGG11: Stages = ((64,), (128,), (256, 256), (512, 512), (512, 512))
VGG16: Stages = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
HIDDEN = 4096


def layers(stages: Stages, shape: Shape, classes: int, width: float) -> list[Layer]:
    parts, outputs = [], shape[0]
    for place, inputs, outputs in _convolutions(stages, shape, width):
        parts += [conv(f"features.{place}", inputs, outputs, 3, bias=True), norm(f"features.{place + 1}", outputs)]
    hidden = scaled(HIDDEN, width)
    sizes = ((0, outputs, hidden), (3, hidden, hidden), (6, hidden, classes))
    return [*parts, *(linear(f"classifier.{place}", *size) for place, *size in sizes)]


def build(stages: Stages, shape: Shape, classes: int, width: float) -> Module:
    from torch import nn

    from mgem_core.networks._initialised import conv, linear

    features, last = nn.Sequential(), shape[0]
    for place, inputs, last in _convolutions(stages, shape, width):
        if place > len(features):  # a stage has ended
            features.append(nn.MaxPool2d(2))
        features.extend([conv(inputs, last, 3, padding=1, bias=True), nn.BatchNorm2d(last), nn.ReLU()])
    features.append(nn.MaxPool2d(2))
    hidden = scaled(HIDDEN, width)
    classifier: dict[str, nn.Module] = {
        "0": linear(last, hidden), "1": nn.ReLU(),
        "3": linear(hidden, hidden), "4": nn.ReLU(),
        "6": linear(hidden, classes),
    }  # fmt: skip
    return nn.Sequential(
        OrderedDict(
            features=features,
            avgpool=nn.AdaptiveAvgPool2d(1),
            flat=nn.Flatten(),
            classifier=nn.Sequential(OrderedDict(classifier)),
        )
    )


def _convolutions(stages: Stages, shape: Shape, width: float) -> Iterator[tuple[int, int, int]]:
    """Yield the index in `features`, the inputs and the outputs of each convolution; a batch norm and a ReLU follow it."""
    place, inputs = 0, shape[0]
    for stage in stages:
        for full in stage:
            yield place, inputs, (outputs := scaled(full, width))
            place, inputs = place + 3, outputs
        place += 1  # the pooling


def _register(name: str, stages: Stages) -> None:
    # From 32 pixels on, the last batch norm has several values per channel, even in a batch of one image.
    register(
        Network(
            name,
            lambda shape, classes, width: layers(stages, shape, classes, width),
            lambda shape, classes, width: build(stages, shape, classes, width),
            smallest_side=32,
            images_per_pass=256,
        )
    )


_register("vgg11-bn", VGG11)
_register("vgg16-bn", VGG16)
