"""The networks. A new one is a new file here that calls `register`; importing it must not import torch.

A network is described twice: `layers` is plain data, for partitions and pictures of them, and `build` makes the torch
module. A test compares the two.
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
    name: str
    layers: Callable[[Shape, int, float], list[Layer]]  # (shape, classes, width) → the layers that have parameters
    build: Callable[[Shape, int, float], nn.Module]  # the same arguments → the module, initialised from torch's seed
    smallest_side: int = 1  # of its images, in pixels
    images_per_pass: int = 1024  # where a whole set of images is needed; perf/evaluation.py measures which is fastest
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
