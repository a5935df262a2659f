"""The networks. A new one is a new file here that calls `register`; importing it must not import torch.

A network is described twice: `layers` is plain data, for partitions and pictures of them, and `build` makes the torch
module. A test compares the two. `_layer.py` has the kinds of layers as data, `_initialised.py` those of torch, under the
same names; files whose names begin with an underscore register nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mgem_core.networks._layer import Layer, Shape

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Network:
    name: str  # as the user writes it
    # (shape of an image, number of outputs, factor for all hidden widths) → the layers that have parameters, in their order
    layers: Callable[[Shape, int, float], list[Layer]]
    build: Callable[[Shape, int, float], nn.Module]  # the same arguments → the module, initialised from torch's seed
    # The least height and width of an image, in pixels: there, a batch of one image can be learned. A batch norm needs more
    # than one value per channel for that.
    smallest_side: int = 1
    images_per_pass: int = 1024  # when it is tested or probed on many images; perf/evaluation.py measures which is fastest
    packages: tuple[str, ...] = ()  # besides torch; their versions are part of the key

    def fits(self, shape: Shape) -> bool:
        return min(shape[1:]) >= self.smallest_side

    @property
    def requirement(self) -> str:
        return f"it needs images of at least {self.smallest_side} × {self.smallest_side}"


NETWORKS: dict[str, Network] = {}


def register(network: Network) -> None:
    NETWORKS[network.name] = network


def layers(network: str, shape: Shape, classes: int, width: float = 1.0) -> list[Layer]:
    """The layers of a network for images of that shape, with `classes` outputs and hidden widths multiplied by `width`."""
    return _network_for(network, shape).layers(shape, classes, width)


def build(network: str, shape: Shape, classes: int, seed: int, width: float = 1.0) -> nn.Module:
    """The torch module, initialised from `seed`; the global random state of torch does not change."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _network_for(network, shape).build(shape, classes, width)


def shape_text(shape: Shape) -> str:
    return " × ".join(map(str, shape))


def _network_for(name: str, shape: Shape) -> Network:
    network = NETWORKS[name]
    if not network.fits(shape):
        raise ValueError(f"network is {name!r}; {network.requirement}, and these are {shape_text(shape)}")
    return network


for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")
