"""A small convolutional network for digits: two convolutions with batch norm, and a linear layer."""

from collections import OrderedDict

from mgem_core.networks import Module, Network, register
from mgem_core.networks._layer import Layer, Shape, conv, linear, norm, scaled

NARROW, WIDE = 8, 16
KERNEL, STRIDE = 5, 2


def layers(shape: Shape, classes: int, width: float) -> list[Layer]:
    narrow, wide = scaled(NARROW, width), scaled(WIDE, width)
    return [
        conv("conv1", shape[0], narrow, KERNEL), norm("norm1", narrow),
        conv("conv2", narrow, wide, KERNEL), norm("norm2", wide),
        linear("fc", wide * _positions(shape), classes),
    ]  # fmt: skip


def build(shape: Shape, classes: int, width: float) -> Module:
    from torch import nn

    from mgem_core.networks._initialised import conv, linear

    narrow, wide = scaled(NARROW, width), scaled(WIDE, width)
    return nn.Sequential(
        OrderedDict(
            conv1=conv(shape[0], narrow, KERNEL, STRIDE), norm1=nn.BatchNorm2d(narrow), a1=nn.ReLU(),
            conv2=conv(narrow, wide, KERNEL, STRIDE), norm2=nn.BatchNorm2d(wide), a2=nn.ReLU(),
            flat=nn.Flatten(), fc=linear(wide * _positions(shape), classes),
        )
    )  # fmt: skip


def _positions(shape: Shape) -> int:
    """Return the number of positions after the second convolution."""
    height, width = (_side(_side(side)) for side in shape[1:])
    return height * width


def _side(side: int) -> int:
    return (side - KERNEL) // STRIDE + 1


# From 17 pixels on, the second batch norm has several values per channel, even in a batch of one image.
register(Network("conv-small", layers, build, smallest_side=17))
