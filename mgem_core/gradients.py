"""Network and batches → gradients, one tensor per parameter; memory rows in the number of passes that is fastest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mgem_core.streams._stream import Batch

Gradient = list[Tensor]  # one tensor per parameter, shaped like it; rows have one more dimension in front


def losses(logits: Tensor, y: Tensor, mask: Tensor | None) -> Tensor:
    """Cross-entropy per sample [N]; logits outside the classes of the task do not count."""
    if mask is not None:
        logits = logits.masked_fill(~mask, -torch.inf)
    return cross_entropy(logits, y, reduction="none")


def gradient(network: nn.Module, batch: Batch) -> tuple[Tensor, Gradient]:
    """Mean loss on the batch, and its gradient: zero for parameters that are frozen or that the loss does not depend on."""
    loss = losses(network(batch.x), batch.y, batch.mask).mean()
    parameters = list(network.parameters())
    found = iter(torch.autograd.grad(loss, [p for p in parameters if p.requires_grad], materialize_grads=True))
    return loss.detach(), [next(found) if p.requires_grad else torch.zeros_like(p) for p in parameters]


@contextmanager
def preserved_statistics(network: nn.Module) -> Iterator[None]:
    """Restore the running statistics of batch norms afterwards, because a measurement must not change the run."""
    before = [buffer.clone() for buffer in network.buffers()]
    try:
        yield
    finally:
        for buffer, value in zip(network.buffers(), before, strict=True):
            buffer.copy_(value)


def full_gradient(network: nn.Module, chunks: Iterable[Batch], samples: int) -> Gradient:
    """Gradient of the mean loss over all `samples` in the chunks."""
    total = [torch.zeros_like(p) for p in network.parameters()]
    for chunk in chunks:
        _, g = gradient(network, chunk)
        for total_l, g_l in zip(total, g, strict=True):
            total_l.add_(g_l, alpha=len(chunk.y) / samples)
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

    In one pass if all parameters are in linear layers; otherwise a pass per row, so that a batch norm normalises each row
    as a separate batch and updates its running statistics with it, as in GEM's code: they then cover all tasks.
    `perf/rows.py` measures both ways, and vmap.
    """
    return rows_at_once(network, memory) if _all_linear(network) else rows_one_by_one(network, memory)


def rows_one_by_one(network: nn.Module, memory: Memory) -> Gradient:
    """A pass per row. Each row is copied to its place at once, so that memory holds one more row at most."""
    rows = [p.new_empty(len(memory.sizes), *p.shape) for p in network.parameters()]
    for c in range(len(memory.sizes)):
        for rows_l, g_l in zip(rows, gradient(network, memory.row(c))[1], strict=True):
            rows_l[c] = g_l
    return rows


def rows_at_once(network: nn.Module, memory: Memory) -> Gradient:
    """Linear layers only: a row's weight gradient is Σ_i δ_i a_iᵀ over its samples, so all rows are one batched product."""
    C, n = memory.y.shape
    mask = None if memory.mask is None else memory.mask.repeat_interleave(n, dim=0)
    samples = Batch(memory.x.flatten(0, 1), memory.y.flatten(), mask)
    rows = []
    for a, delta in _inputs_and_deltas(network, samples, memory.weight.flatten()):
        delta = delta.view(C, n, -1)
        rows += [torch.bmm(delta.transpose(1, 2), a.view(C, n, -1)), delta.sum(1)]
    return rows


def squared_gradients(network: nn.Module, samples: Batch) -> Gradient:
    """Mean over samples of the squared gradient of each one: the diagonal of the empirical Fisher matrix.

    In evaluation mode, because one sample has no batch statistics.
    """
    n = len(samples.y)
    if _all_linear(network):
        per_layer = _inputs_and_deltas(network, samples, torch.ones_like(samples.y, dtype=torch.float32))
        squares = [(delta.square(), a.square()) for a, delta in per_layer]
        return [t / n for delta2, a2 in squares for t in (delta2.T @ a2, delta2.sum(0))]
    network.eval()
    total = [torch.zeros_like(p) for p in network.parameters()]
    for i in range(n):
        _, g = gradient(network, Batch(samples.x[i : i + 1], samples.y[i : i + 1], samples.mask))
        for total_l, g_l in zip(total, g, strict=True):
            total_l.addcmul_(g_l, g_l, value=1 / n)
    network.train()
    return total


def _all_linear(network: nn.Module) -> bool:
    """Is every parameter the weight or bias of a linear layer, and trainable?"""
    owners = [module for module in network.modules() if list(module.parameters(recurse=False))]
    linear = all(isinstance(module, nn.Linear) and module.bias is not None for module in owners)
    return linear and all(p.requires_grad for p in network.parameters())


def _inputs_and_deltas(network: nn.Module, batch: Batch, weight: Tensor) -> list[tuple[Tensor, Tensor]]:
    """For every linear layer its inputs a [N, in] and δ [N, out], the gradient of Σ_i weight_i · loss_i at its outputs.

    Both are zero for a layer that the network does not use.
    """
    recorded: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def record(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        recorded[layer] = inputs[0].detach(), output

    layers = [module for module in network.modules() if isinstance(module, nn.Linear)]
    hooks = [layer.register_forward_hook(record) for layer in layers]
    loss = (losses(network(batch.x), batch.y, batch.mask) * weight).sum()
    for hook in hooks:
        hook.remove()
    used = [layer for layer in layers if layer in recorded]
    deltas = dict(
        zip(used, torch.autograd.grad(loss, [recorded[layer][1] for layer in used], materialize_grads=True), strict=True)
    )
    n, zeros = len(batch.y), batch.x.new_zeros
    return [
        (recorded[layer][0], deltas[layer])
        if layer in recorded
        else (zeros(n, layer.in_features), zeros(n, layer.out_features))
        for layer in layers
    ]


def inner(a: Gradient, b: Gradient) -> float:
    return float(sum(torch.dot(x.flatten(), y.flatten()) for x, y in zip(a, b, strict=True)))
