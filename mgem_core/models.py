"""Networks by name: first as plain data (what the app draws and partitions need), then as torch modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Layer:
    """A layer with parameters: its name, its kind and the shapes of its tensors, in the network's own order."""

    name: str
    kind: str  # "linear" | "conv" | "norm"
    shapes: dict[str, tuple[int, ...]]

    @property
    def tensors(self) -> dict[str, int]:
        """Parameter name → number of parameters."""
        return {f"{self.name}.{tensor}": prod(shape) for tensor, shape in self.shapes.items()}

    @property
    def size(self) -> int:
        return sum(self.tensors.values())


def linear(name: str, inputs: int, outputs: int) -> Layer:
    return Layer(name, "linear", {"weight": (outputs, inputs), "bias": (outputs,)})


def conv(name: str, inputs: int, outputs: int, kernel: int) -> Layer:
    """A convolution with stride 2 and without bias: the batch norm behind it has one."""
    return Layer(name, "conv", {"weight": (outputs, inputs, kernel, kernel)})


def norm(name: str, channels: int) -> Layer:
    return Layer(name, "norm", {"weight": (channels,), "bias": (channels,)})


@dataclass(frozen=True)
class Network:
    """How a network of this name is laid out and built, for a number of classes and a divisor of its widths."""

    name: str
    layers: Callable[[int, int], list[Layer]]
    assemble: Callable[[dict[str, nn.Module]], nn.Module]


def _mlp_layers(classes: int, divisor: int) -> list[Layer]:
    width = max(1, 100 // divisor)
    return [linear("fc1", 784, width), linear("fc2", width, width), linear("fc3", width, classes)]


def _assemble_mlp(part: dict[str, nn.Module]) -> nn.Module:
    from torch.nn import Flatten, ReLU

    return _named(flat=Flatten(), fc1=part["fc1"], a1=ReLU(), fc2=part["fc2"], a2=ReLU(), fc3=part["fc3"])


def _conv_layers(classes: int, divisor: int) -> list[Layer]:
    narrow, wide = max(1, 8 // divisor), max(1, 16 // divisor)
    return [
        conv("conv1", 1, narrow, 5), norm("norm1", narrow),
        conv("conv2", narrow, wide, 5), norm("norm2", wide),
        linear("fc", wide * 16, classes),
    ]  # fmt: skip


def _assemble_conv(part: dict[str, nn.Module]) -> nn.Module:
    from torch.nn import Flatten, ReLU

    return _named(
        conv1=part["conv1"], norm1=part["norm1"], a1=ReLU(),
        conv2=part["conv2"], norm2=part["norm2"], a2=ReLU(),
        flat=Flatten(), fc=part["fc"],
    )  # fmt: skip


NETWORKS = {
    network.name: network
    for network in (Network("mlp", _mlp_layers, _assemble_mlp), Network("conv-small", _conv_layers, _assemble_conv))
}


def layers(network: str, classes: int, divisor: int = 1) -> list[Layer]:
    """The layers of a network that has `classes` outputs, hidden widths divided by `divisor`."""
    return NETWORKS[network].layers(classes, divisor)


def build(network: str, classes: int, seed: int, divisor: int = 1) -> nn.Module:
    """The network itself, initialised from `seed` as in GEM's published code: Xavier-uniform weights, biases at zero."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        parts = {layer.name: _module(layer) for layer in layers(network, classes, divisor)}
    return NETWORKS[network].assemble(parts)


def _module(layer: Layer) -> nn.Module:
    from torch import nn

    shape = layer.shapes["weight"]
    if layer.kind == "norm":
        return nn.BatchNorm2d(shape[0])
    module: nn.Linear | nn.Conv2d
    if layer.kind == "linear":
        module = nn.Linear(shape[1], shape[0])
        nn.init.zeros_(module.bias)
    else:
        module = nn.Conv2d(shape[1], shape[0], shape[2], stride=2, bias=False)
    nn.init.xavier_uniform_(module.weight)
    return module


def _named(**parts: nn.Module) -> nn.Module:
    from torch.nn import Sequential

    network = Sequential()
    for name, part in parts.items():
        network.add_module(name, part)
    return network
