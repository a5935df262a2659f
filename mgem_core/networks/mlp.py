"""The paper's network for digits: two hidden layers of 100 units. It takes images of any shape."""

from collections import OrderedDict
from math import prod

from mgem_core.networks import Module, Network, register
from mgem_core.networks._layer import Layer, Shape, linear, scaled

HIDDEN = 100


def layers(shape: Shape, classes: int, width: float) -> list[Layer]:
    hidden = scaled(HIDDEN, width)
    return [linear("fc1", prod(shape), hidden), linear("fc2", hidden, hidden), linear("fc3", hidden, classes)]


def build(shape: Shape, classes: int, width: float) -> Module:
    from torch import nn

    from mgem_core.networks._initialised import linear

    hidden = scaled(HIDDEN, width)
    return nn.Sequential(
        OrderedDict(
            flat=nn.Flatten(),
            fc1=linear(prod(shape), hidden), a1=nn.ReLU(),
            fc2=linear(hidden, hidden), a2=nn.ReLU(),
            fc3=linear(hidden, classes),
        )
    )  # fmt: skip


register(Network("mlp", layers, build))
