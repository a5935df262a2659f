"""The networks. A new one is a new file here that calls `register`; importing it must not import torch.

A network is described twice: `layers` is plain data, which partitions and pictures of them need, and `build` is the torch
module itself. A test compares the two.
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
    smallest_side: int = 1  # of the images that it can take, in pixels
    images_per_pass: int = 4096  # where a whole set of images is needed: as many as take a gigabyte or two
    packages: tuple[str, ...] = ()  # besides torch, whose versions decide its numbers

    def fits(self, shape: Shape) -> bool:
        return min(shape[1:]) >= self.smallest_side

    @property
    def requirement(self) -> str:
        return f"it needs images of at least {self.smallest_side} × {self.smallest_side}"


NETWORKS: dict[str, Network] = {}


def register(network: Network) -> None:
    NETWORKS[network.name] = network


def layers(network: str, shape: Shape, classes: int, width: float = 1.0) -> list[Layer]:
    """The layers of a network for images of that shape that has `classes` outputs and `width` times its hidden widths."""
    return _fitting(network, shape).layers(shape, classes, width)


def build(network: str, shape: Shape, classes: int, seed: int, width: float = 1.0) -> nn.Module:
    """The network itself, initialised from `seed`; torch's own random state stays as it was."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _fitting(network, shape).build(shape, classes, width)


def in_words(shape: Shape) -> str:
    return " × ".join(map(str, shape))


def _fitting(name: str, shape: Shape) -> Network:
    network = NETWORKS[name]
    if not network.fits(shape):
        raise ValueError(f"network is {name!r}; {network.requirement}, and these are {in_words(shape)}")
    return network


for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")
