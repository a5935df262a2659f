"""The paper's network for Digit-Five: two convolutions, a max-pooling, and two linear layers."""

from collections import OrderedDict

from mgem_core.networks import Module, Network, register
from mgem_core.networks._layer import Layer, Shape, conv, linear, scaled

NARROW, WIDE, HIDDEN = 32, 64, 128
KERNEL, POOL = 3, 2


def layers(shape: Shape, classes: int, width: float) -> list[Layer]:
    narrow, wide, hidden = _widths(width)
    return [
        conv("conv1", shape[0], narrow, KERNEL, bias=True),
        conv("conv2", narrow, wide, KERNEL, bias=True),
        linear("fc1", wide * _positions(shape), hidden),
        linear("fc2", hidden, classes),
    ]


def build(shape: Shape, classes: int, width: float) -> Module:
    from torch import nn

    from mgem_core.networks._initialised import conv, linear

    narrow, wide, hidden = _widths(width)
    return nn.Sequential(
        OrderedDict(
            conv1=conv(shape[0], narrow, KERNEL, bias=True), a1=nn.ReLU(),
            conv2=conv(narrow, wide, KERNEL, bias=True), a2=nn.ReLU(),
            pool=nn.MaxPool2d(POOL), flat=nn.Flatten(),
            fc1=linear(wide * _positions(shape), hidden), a3=nn.ReLU(),
            fc2=linear(hidden, classes),
        )
    )  # fmt: skip


def _widths(width: float) -> list[int]:
    return [scaled(full, width) for full in (NARROW, WIDE, HIDDEN)]


def _positions(shape: Shape) -> int:
    """Return the number of positions after the pooling: 144 for an image of 28 × 28."""
    height, width = ((side - 2 * (KERNEL - 1)) // POOL for side in shape[1:])
    return height * width


# Each convolution removes two of the 6 pixels, and the pooling needs the remaining two.
register(Network("digits-cnn", layers, build, smallest_side=6, images_per_pass=256))
