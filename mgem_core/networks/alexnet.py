"""torchvision's AlexNet, adapted to images of 32 × 32.

Differences to torchvision: the first convolution is 3 × 3 with stride 2 (11 × 11 with stride 4 would leave only 7 × 7
positions, too few for three poolings); the poolings are 2 × 2 instead of overlapping 3 × 3; and the classifier gets the
remaining 2 × 2 positions, where torchvision's would get 6 × 6 copies of them. Weights are initialised as in GEM's published
code, like those of the paper's networks.

There is no dropout. A step must depend only on the state of the run, so that a resumed run is bit-identical to an
uninterrupted one. Runs like GEM's see each image about once, so there is little to overfit.
"""

from collections import OrderedDict

from mgem_core.networks import Module, Network, register
from mgem_core.networks._layer import Layer, Shape, conv, linear, scaled

CONVOLUTIONS = ((0, 64, 3), (3, 192, 5), (6, 384, 3), (8, 256, 3), (10, 256, 3))  # index in `features`, width, kernel
POOLINGS = (2, 5, 12)
HIDDEN = 4096
SIDE = 2  # positions that the classifier sees


def layers(shape: Shape, classes: int, width: float) -> list[Layer]:
    inputs, parts = shape[0], []
    for place, full, kernel in CONVOLUTIONS:
        parts.append(conv(f"features.{place}", inputs, scaled(full, width), kernel, bias=True))
        inputs = scaled(full, width)
    hidden = scaled(HIDDEN, width)
    sizes = ((1, inputs * SIDE**2, hidden), (4, hidden, hidden), (6, hidden, classes))
    return [*parts, *(linear(f"classifier.{place}", *size) for place, *size in sizes)]


def build(shape: Shape, classes: int, width: float) -> Module:
    from torch import nn

    from mgem_core.networks._initialised import conv, linear

    features: dict[str, nn.Module] = {f"{place}": nn.MaxPool2d(2) for place in POOLINGS}
    inputs = shape[0]
    for place, full, kernel in CONVOLUTIONS:
        stride = 1 if place else 2
        features[f"{place}"] = conv(inputs, scaled(full, width), kernel, stride, padding=kernel // 2, bias=True)
        features[f"{place + 1}"] = nn.ReLU()
        inputs = scaled(full, width)
    hidden = scaled(HIDDEN, width)
    classifier: dict[str, nn.Module] = {
        "1": linear(inputs * SIDE**2, hidden), "2": nn.ReLU(),
        "4": linear(hidden, hidden), "5": nn.ReLU(),
        "6": linear(hidden, classes),
    }  # fmt: skip
    return nn.Sequential(
        OrderedDict(
            features=nn.Sequential(OrderedDict(sorted(features.items(), key=lambda part: int(part[0])))),
            avgpool=nn.AdaptiveAvgPool2d(SIDE),
            flat=nn.Flatten(),
            classifier=nn.Sequential(OrderedDict(classifier)),
        )
    )


# The first convolution and each pooling halve the image, so 15 pixels leave one.
register(Network("alexnet", layers, build, smallest_side=15, images_per_pass=256))
