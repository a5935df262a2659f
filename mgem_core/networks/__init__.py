"""The networks. A new one is a new file here that calls `register`; importing it must not import torch.

A network is described twice: `layers` returns plain data, for partitions and their pictures, and `build` returns the torch
module. A test compares the two. `_layer.py` has the kinds of layers as data, and `_initialised.py` has those of torch under
the same names. Files whose names begin with an underscore register nothing.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mgem_core.networks._layer import Layer, Shape

if TYPE_CHECKING:
    from torch.nn import Module
else:
    Module = Any  # in annotations, so that no network imports torch for them


@dataclass(frozen=True)
class Network:
    name: str  # the value of the field `network`
    # (shape of an image, number of outputs, factor for all hidden widths) → the layers with parameters, in order
    layers: Callable[[Shape, int, float], list[Layer]]
    build: Callable[[Shape, int, float], Module]  # the same arguments → the module, initialised from torch's seed
    # The smallest height and width of an image in pixels. A batch of one such image can be learned, for which a batch norm
    # needs more than one value per channel.
    smallest_side: int = 1
    # Images per pass when the network is tested or, if it has no batch norms, probed (see `training/evaluation.py`). It
    # affects nothing but the speed; perf/evaluation.py measures which is fastest.
    images_per_pass: int = 1024
    packages: tuple[str, ...] = ()  # libraries other than torch, whose versions are part of the key

    def fits(self, shape: Shape) -> bool:
        return min(shape[1:]) >= self.smallest_side

    @property
    def requirement(self) -> str:
        return f"it needs images of at least {self.smallest_side} × {self.smallest_side}"


NETWORKS: dict[str, Network] = {}


def register(network: Network) -> None:
    NETWORKS[network.name] = network


def layers(network: str, shape: Shape, classes: int, width: float = 1.0) -> list[Layer]:
    """Return the layers of a network for images of that shape, with all hidden widths multiplied by `width`."""
    return _network_for(network, shape).layers(shape, classes, width)


@lru_cache(maxsize=1000)
def has_convolutions(network: str, shape: Shape, classes: int) -> bool:
    return any(len(tensor) == 4 for layer in layers(network, shape, classes) for tensor in layer.shapes.values())


def build(network: str, shape: Shape, classes: int, seed: int, width: float = 1.0) -> Module:
    """Return the torch module, initialised from `seed`; the global random state of torch does not change."""
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
