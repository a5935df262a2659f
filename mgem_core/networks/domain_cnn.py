"""The paper's network for DomainNet: five convolutions that halve the image, and one that gives the logits."""

from itertools import pairwise

from mgem_core.networks import Module, Network, register
from mgem_core.networks._layer import Layer, Shape, conv, scaled

WIDTHS = (64, 128, 256, 512, 512)


def layers(shape: Shape, classes: int, width: float) -> list[Layer]:
    sizes = pairwise([*_channels(shape, width), classes])
    return [conv(f"conv{i}", inputs, outputs, 3, bias=True) for i, (inputs, outputs) in enumerate(sizes, start=1)]


def build(shape: Shape, classes: int, width: float) -> Module:
    """Build the module. Images of 96 × 96 give one position per logit, as in the paper; larger ones are averaged."""
    from torch import nn

    from mgem_core.networks._initialised import conv

    channels = _channels(shape, width)
    network = nn.Sequential()
    for i, (inputs, outputs) in enumerate(pairwise(channels), start=1):
        network.add_module(f"conv{i}", conv(inputs, outputs, 3, stride=2, padding=1, bias=True))
        network.add_module(f"a{i}", nn.ReLU())
    network.add_module(f"conv{len(channels)}", conv(channels[-1], classes, 3, bias=True))
    network.add_module("pool", nn.AdaptiveAvgPool2d(1))
    network.add_module("flat", nn.Flatten())
    return network


def _channels(shape: Shape, width: float) -> list[int]:
    return [shape[0], *(scaled(full, width) for full in WIDTHS)]


# 65 pixels, halved and rounded up five times, leave the 3 that the last convolution needs.
register(Network("domain-cnn", layers, build, smallest_side=65, images_per_pass=256))
