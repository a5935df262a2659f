"""Compare two ways to compute a convolution and its gradients on the CPU: torch's own, and one matrix product.

The layers are on both sides of the limits in `mgem_core/networks/_convolution.py`, by which a network chooses.
"""

import argparse
from collections.abc import Callable

import torch
from torch import Tensor, nn

from mgem_core.networks._convolution import Conv2d
from perf.timing import Ratio, ratio, save_ratios, show, take_turns

LAYERS = {  # inputs, outputs, kernel, stride, padding; side of the input
    "conv5, 4th": ((512, 1024, 4, 2, 1), 4),
    "conv5, 3rd": ((256, 512, 4, 2, 1), 8),
    "domain-cnn, 5th": ((512, 512, 3, 2, 1), 6),
    "vgg11-bn, last": ((512, 512, 3, 1, 1), 2),
    "alexnet, 3rd": ((192, 384, 3, 1, 1), 4),
    "4.7 M weights, 1 position": ((512, 1024, 3, 1, 0), 3),
    "4.7 M weights, 4 positions": ((512, 1024, 3, 2, 1), 4),
    "4.7 M weights, 9 positions": ((512, 1024, 3, 2, 1), 6),
    "2.1 M weights, 1 position": ((512, 1024, 2, 1, 0), 2),
    "2.1 M weights, 4 positions": ((512, 1024, 2, 2, 0), 4),
}
BATCHES = (10, 64, 256)


def gradients(way: Callable[[Tensor], Tensor], layer: nn.Module, x: Tensor) -> Callable[[], object]:
    """Return a forward and a backward pass."""

    def call() -> object:
        y = way(x)
        return torch.autograd.grad(y, [x, *layer.parameters()], torch.ones_like(y))

    return call


def compare(name: str, samples: int, rounds: int) -> Ratio:
    """Return the CPU time of the product in terms of that of torch's convolution; mark layers that use the product."""
    (inputs, outputs, kernel, stride, padding), side = LAYERS[name]
    layer = Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
    x = torch.randn(samples, inputs, side, side, requires_grad=True)
    ways = {"torch": lambda x: nn.Conv2d.forward(layer, x), "product": layer.as_product}
    times = take_turns(rounds, {key: gradients(way, layer, x) for key, way in ways.items()})
    chosen = " (used)" if layer.is_faster_as_product(x) else ""
    return ratio(f"product / torch, {name}, {samples} images{chosen}", times["product"], times["torch"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    found = [compare(name, samples, rounds) for name in LAYERS for samples in BATCHES]
    show("CPU time of convolutions and their gradients", found)
    save_ratios("convolutions", found)


if __name__ == "__main__":
    main()
