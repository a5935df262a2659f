"""Torch layers initialised as in GEM's published code: Xavier-uniform weights, biases at zero."""

from torch import nn

from mgem_core.networks._convolution import Conv2d


def linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.zeros_(layer.bias)
    nn.init.xavier_uniform_(layer.weight)
    return layer


def conv(inputs: int, outputs: int, kernel: int, stride: int = 1, padding: int = 0, bias: bool = False) -> Conv2d:
    layer = Conv2d(inputs, outputs, kernel, stride, padding, bias=bias)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    nn.init.xavier_uniform_(layer.weight)
    return layer
