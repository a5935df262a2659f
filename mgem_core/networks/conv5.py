"""The paper's network for Split CIFAR100: five convolutions, the last of which gives the logits."""

from itertools import pairwise

from mgem_core.networks import Module, Network, register
from mgem_core.networks._layer import Layer, Shape, conv, norm, scaled

WIDTHS = (128, 256, 512, 1024)


def layers(shape: Shape, classes: int, width: float) -> list[Layer]:
    channels = _channels(shape, width)
    parts = []
    for i, (inputs, outputs) in enumerate(pairwise(channels), start=1):
        parts += [conv(f"conv{i}", inputs, outputs, 4), norm(f"norm{i}", outputs)]
    return [*parts, conv("conv5", channels[-1], classes, 2, bias=True)]


def build(shape: Shape, classes: int, width: float) -> Module:
    """Build the module. Images of 32 × 32 give one position per logit, as in the paper; larger ones are averaged."""
    from torch import nn

    from mgem_core.networks._initialised import conv

    channels = _channels(shape, width)
    network = nn.Sequential()
    for i, (inputs, outputs) in enumerate(pairwise(channels), start=1):
        network.add_module(f"conv{i}", conv(inputs, outputs, 4, stride=2, padding=1))
        network.add_module(f"norm{i}", nn.BatchNorm2d(outputs))
        network.add_module(f"a{i}", nn.ReLU())
    network.add_module("conv5", conv(channels[-1], classes, 2, bias=True))
    network.add_module("pool", nn.AdaptiveAvgPool2d(1))
    network.add_module("flat", nn.Flatten())
    return network


def _channels(shape: Shape, width: float) -> list[int]:
    return [shape[0], *(scaled(full, width) for full in WIDTHS)]


# 32 pixels, halved four times, leave the 2 that the last convolution needs.
register(Network("conv5", layers, build, smallest_side=32))
