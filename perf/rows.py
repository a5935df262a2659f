"""Memory rows in one pass of our own, with torch's vmap, or one pass a row: which is fastest, for how many rows?"""

from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from mgem_core import networks
from mgem_core.gradients import Gradient, Memory, losses, rows_at_once, rows_one_by_one
from perf.timing import best_of


def conv_without_norm() -> nn.Module:
    convolutions = [nn.Conv2d(1, 8, 5, 2), nn.ReLU(), nn.Conv2d(8, 16, 5, 2), nn.ReLU()]
    return nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(256, 10))


def memory(rows: int, samples: int) -> Memory:
    x, y = torch.rand(rows, samples, 1, 28, 28), torch.randint(0, 10, (rows, samples))
    return Memory(x, y, torch.full((rows, samples), 1 / samples), (samples,) * rows, None)


def rows_by_vmap(network: nn.Module, memory: Memory) -> Gradient:
    def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        return (losses(functional_call(network, parameters, (x,)), y, None) * weight).sum()

    parameters = {name: parameter.detach() for name, parameter in network.named_parameters()}
    return list(vmap(grad(loss), in_dims=(None, 0, 0, 0))(parameters, memory.x, memory.y, memory.weight).values())


def main() -> None:
    print("Milliseconds for all memory rows; in brackets, against one pass a row\n")
    mlp = networks.build("mlp", (1, 28, 28), 10, seed=0)
    for name, network in {"mlp": mlp, "conv, no norm": conv_without_norm()}.items():
        for rows, samples in ((1, 256), (2, 256), (4, 256), (19, 256), (4, 64), (38, 128)):
            ways = {"one by one": rows_one_by_one, "vmap": rows_by_vmap}
            if name == "mlp":
                ways["at once"] = rows_at_once
            held = memory(rows, samples)
            best = best_of(7, {way: partial(call, network, held) for way, call in ways.items()})
            told = "   ".join(f"{way} {1000 * s:.2f} ({s / best['one by one']:.2f})" for way, s in best.items())
            print(f"{name}, {rows} × {samples}: {told}")
    print()


if __name__ == "__main__":
    main()
