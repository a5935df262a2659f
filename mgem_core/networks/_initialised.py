"""Torch layers initialised as in GEM's published code: Xavier-uniform weights, biases at zero."""

from torch import nn


def linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.zeros_(layer.bias)
    nn.init.xavier_uniform_(layer.weight)
    return layer


def conv(inputs: int, outputs: int, kernel: int, stride: int = 1, padding: int = 0, bias: bool = False) -> nn.Conv2d:
    layer = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=bias)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    nn.init.xavier_uniform_(layer.weight)
    return layer
