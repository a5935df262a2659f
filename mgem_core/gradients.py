"""Network and batches → gradients, one tensor per parameter; memory rows in as few passes as is fastest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

from mgem_core.streams._stream import Batch

Gradient = list[Tensor]  # one tensor per parameter, shaped like it; rows have one more dimension in front


def losses(logits: Tensor, y: Tensor, mask: Tensor | None) -> Tensor:
    """Cross-entropy per sample [N]; logits outside the task's own classes do not count."""
    if mask is not None:
        logits = logits.masked_fill(~mask, -torch.inf)
    return cross_entropy(logits, y, reduction="none")


def gradient(network: nn.Module, batch: Batch) -> tuple[Tensor, Gradient]:
    """Mean loss on the batch, and its gradient."""
    loss = losses(network(batch.x), batch.y, batch.mask).mean()
    return loss.detach(), list(torch.autograd.grad(loss, list(network.parameters())))


@contextmanager
def kept_statistics(network: nn.Module) -> Iterator[None]:
    """Passes within leave the running statistics of batch norms as they were: looking must not change the run."""
    before = [buffer.clone() for buffer in network.buffers()]
    yield
    for buffer, value in zip(network.buffers(), before, strict=True):
        buffer.copy_(value)


def full_gradient(network: nn.Module, chunks: Iterable[Batch], samples: int) -> Gradient:
    """Gradient of the mean loss over all `samples` in the chunks."""
    total = [torch.zeros_like(p) for p in network.parameters()]
    for chunk in chunks:
        _, g = gradient(network, chunk)
        torch._foreach_add_(total, g, alpha=len(chunk.y) / samples)
    return total


@dataclass(frozen=True)
class Memory:
    """The samples behind C memory rows; a row is the gradient of the mean loss over its samples.

    Rows of unequal size are padded to x [C, n, …], y [C, n]; weight [C, n] is 1/size on samples and 0 on padding.
    """

    x: Tensor
    y: Tensor
    weight: Tensor
    sizes: tuple[int, ...]
    mask: Tensor | None  # [C, classes]

    def row(self, c: int) -> Batch:
        size = self.sizes[c]
        return Batch(self.x[c, :size], self.y[c, :size], None if self.mask is None else self.mask[c])


def pack(rows: Sequence[Batch]) -> Memory:
    sizes = tuple(len(row.y) for row in rows)
    x = nn.utils.rnn.pad_sequence([row.x for row in rows], batch_first=True)
    pad = max(sizes)
    y = torch.stack([torch.cat([row.y, row.y[:1].expand(pad - len(row.y))]) for row in rows])
    weight = torch.stack([(torch.arange(pad, device=x.device) < size) / size for size in sizes])
    masks = [row.mask for row in rows if row.mask is not None]
    return Memory(x, y, weight, sizes, torch.stack(masks) if masks else None)


def memory_rows(network: nn.Module, memory: Memory) -> Gradient:
    """The gradient of every memory row: per parameter a tensor [C, …].

    One vectorised pass where every layer is linear and there are rows enough to pay for it; otherwise a pass per row.
    Convolutions are slower vectorised, and a batch norm must see each row as a batch of its own and keep its statistics,
    as in GEM's code: evaluation of old tasks then sees all tasks' statistics. `perf/rows.py` measures both ways.
    """
    with_parameters = [module for module in network.modules() if list(module.parameters(recurse=False))]
    if len(memory.sizes) >= 4 and all(isinstance(module, nn.Linear) for module in with_parameters):
        return rows_at_once(network, memory)
    return rows_one_by_one(network, memory)


def rows_one_by_one(network: nn.Module, memory: Memory) -> Gradient:
    rows = [gradient(network, memory.row(c))[1] for c in range(len(memory.sizes))]
    return [torch.stack(tensors) for tensors in zip(*rows, strict=True)]


def rows_at_once(network: nn.Module, memory: Memory) -> Gradient:
    def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor, weight: Tensor, mask: Tensor | None) -> Tensor:
        return (losses(functional_call(network, parameters, (x,)), y, mask) * weight).sum()

    parameters = {name: parameter.detach() for name, parameter in network.named_parameters()}
    in_dims = (None, 0, 0, 0, None if memory.mask is None else 0)
    rows = vmap(grad(loss), in_dims=in_dims)(parameters, memory.x, memory.y, memory.weight, memory.mask)
    return list(rows.values())


def squared_gradients(network: nn.Module, samples: Batch) -> Gradient:
    """Mean over samples of the squared gradient of each one: the diagonal of the empirical Fisher matrix.

    In evaluation mode: a sample alone has no batch statistics.
    """
    network.eval()
    total = [torch.zeros_like(p) for p in network.parameters()]
    for start in range(0, len(samples.y), 64):  # a few at a time: each gradient is as long as the network
        some = range(start, min(start + 64, len(samples.y)))
        alone = pack([Batch(samples.x[i : i + 1], samples.y[i : i + 1], samples.mask) for i in some])
        torch._foreach_add_(total, [row.square().sum(0) / len(samples.y) for row in rows_at_once(network, alone)])
    network.train()
    return total


def inner(a: Gradient, b: Gradient) -> float:
    return float(sum(torch.dot(x.flatten(), y.flatten()) for x, y in zip(a, b, strict=True)))
