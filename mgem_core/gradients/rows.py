"""Gradients of a network on batches, one tensor per parameter, and memory rows, in the fastest number of passes.

Chains of linear layers have their own passes, without autograd (`mgem_core.gradients.linear_chain`).
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

from mgem_core.gradients.linear_chain import RowsAndBatch, chain_of
from mgem_core.gradients.memory import Memory
from mgem_core.streams._stream import Batch

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
Named = dict[str, Tensor]
Loss = Callable[[Tensor, Batch], Tensor]  # logits [N, classes] and the batch → a number
Gradient = list[Tensor]  # one tensor per parameter, shaped like it; rows have one more dimension in front


def losses(logits: Tensor, y: Tensor, mask: Tensor | None) -> Tensor:
    """Return the cross-entropy per sample [N]; logits outside the classes of the task are ignored."""
    if mask is not None:
        logits = logits.masked_fill(~mask, -torch.inf)
    return cross_entropy(logits.float(), y, reduction="none")


def logits(network: nn.Module, x: Tensor) -> Tensor:
    """Return the logits [N, classes]."""
    chain = chain_of(network)
    answers: Tensor = chain.logits(x) if chain else network(x)
    return answers


def gradient(network: nn.Module, batch: Batch, loss_of: Loss | None = None) -> tuple[Tensor, Gradient]:
    """Return the loss on the batch and its gradient: zero for frozen parameters and those that the loss does not depend on.

    The loss is the mean cross-entropy, or `loss_of` of the logits and the batch, such as the distance to remembered logits.
    """
    if loss_of is None and (chain := chain_of(network)):
        return chain.gradient(batch)
    answers = network(batch.x)
    loss = loss_of(answers, batch) if loss_of else losses(answers, batch.y, batch.mask).mean()
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
    """Return the gradient of the mean loss over all `samples` in the chunks."""
    total, chain = [torch.zeros_like(p) for p in network.parameters()], chain_of(network)
    for chunk in chunks:
        if chain:
            chain.add_gradient(total, chunk, 1 / samples)
        else:
            add(total, gradient(network, chunk)[1], len(chunk.y) / samples)
    return total


def descend(network: nn.Module, batch: Batch, lr: float) -> None:
    """Take one step of SGD on the mean loss of the batch."""
    if chain := chain_of(network):
        chain.add_gradient(chain.theta, batch, -lr / len(batch.y))
    else:
        _, g = gradient(network, batch)
        with torch.no_grad():
            add(network.parameters(), g, -lr)


def add(total: Iterable[Tensor], g: Gradient, factor: float) -> None:
    """Add factor · g to `total`, tensor by tensor."""
    for total_l, g_l in zip(total, g, strict=True):
        total_l.add_(g_l, alpha=factor)


class AutogradRows:
    """The gradients of C memory rows and of a batch by autograd."""

    def __init__(self, network: nn.Module, memory: Memory):
        self.network, self.memory = network, memory
        # Both are reused, because allocating the memory again would take longer than copying into it.
        self.G = _empty_rows(network, memory)
        self.g = torch.empty_like(self.G[0])

    def __call__(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the mean loss on the batch, its gradient g [P], and the memory rows G [C, P], until the next call."""
        G = autograd_rows(self.network, self.memory, self.G)
        loss, g = gradient(self.network, batch)
        return loss, flatten(g, out=self.g), G

    def split(self, vector: Tensor) -> Gradient:
        return split(self.network, vector)


def rows_and_batch(network: nn.Module, memory: Memory) -> RowsAndBatch | AutogradRows:
    """Return a function: batch → its loss, its gradient g [P], and the gradients G [C, P] of these memory rows."""
    chain = chain_of(network)
    return RowsAndBatch(chain, memory) if chain else AutogradRows(network, memory)


def memory_rows(network: nn.Module, memory: Memory) -> list[Gradient]:
    """Return the gradient of each memory row."""
    rows = rows_and_batch(network, memory)
    G = rows(memory.row(0))[2] if isinstance(rows, RowsAndBatch) else autograd_rows(network, memory, rows.G)
    return list(map(rows.split, G))


def flatten(g: Gradient, out: Tensor | None = None) -> Tensor:
    """Concatenate all tensors of a gradient into a vector [P]."""
    return torch.cat([g_l.flatten() for g_l in g], out=out)


def split(network: nn.Module, vector: Tensor) -> Gradient:
    """Return views of a flattened gradient [P], shaped like the parameters."""
    parameters = list(network.parameters())
    parts = vector.split([p.numel() for p in parameters])
    return [part.view(p.shape) for part, p in zip(parts, parameters, strict=True)]


def autograd_rows(network: nn.Module, memory: Memory, G: Tensor) -> Tensor:
    """Fill G [C, P]: on the CPU in one pass per row, on a GPU in one pass for all, because operations have an overhead.

    In both, a batch norm normalises each row as a separate batch and updates its running statistics, as in GEM's code, so
    that they cover all tasks. `perf/rows.py` measures both ways.
    """
    is_cpu = next(network.parameters()).is_cpu
    return rows_one_by_one(network, memory, G) if is_cpu else rows_by_vmap(network, memory, G)


def _empty_rows(network: nn.Module, memory: Memory) -> Tensor:
    """Allocate G [C, P]."""
    parameters = list(network.parameters())
    return parameters[0].new_empty(len(memory.sizes), sum(p.numel() for p in parameters))


def rows_one_by_one(network: nn.Module, memory: Memory, G: Tensor | None = None) -> Tensor:
    """Return the rows [C, P], in G if it is given, with one pass per row; only one row is in memory twice at any time."""
    G = _empty_rows(network, memory) if G is None else G
    sizes = [p.numel() for p in network.parameters()]
    for c, row in enumerate(G):
        for place, g_l in zip(row.split(sizes), gradient(network, memory.row(c))[1], strict=True):
            place.copy_(g_l.flatten())
    return G


def rows_by_vmap(network: nn.Module, memory: Memory, G: Tensor | None = None) -> Tensor:
    """Return the rows [C, P], in G if it is given, with one pass for all rows of a size; there are at most two sizes."""

    def loss(parameters: Named, buffers: Named, x: Tensor, y: Tensor, mask: Tensor | None) -> Tensor:
        return losses(functional_call(network, (parameters, buffers), (x,)), y, mask).mean()

    trainable = {name: p.detach() for name, p in network.named_parameters() if p.requires_grad}
    buffers = {name: buffer.expand(len(memory.sizes), *buffer.shape).clone() for name, buffer in network.named_buffers()}
    sizes = {name: p.numel() for name, p in network.named_parameters()}
    G = (_empty_rows(network, memory) if G is None else G).zero_()
    places = dict(zip(sizes, G.split(list(sizes.values()), dim=1), strict=True))
    for size in sorted(set(memory.sizes)):
        rows = [c for c, row_size in enumerate(memory.sizes) if row_size == size]
        row_buffers = {name: buffer[rows] for name, buffer in buffers.items()}
        mask = None if memory.mask is None else memory.mask[rows]
        row_gradients = vmap(grad(loss), in_dims=(None, 0, 0, 0, None if mask is None else 0))
        for name, g in row_gradients(trainable, row_buffers, memory.x[rows, :size], memory.y[rows, :size], mask).items():
            places[name][rows] = g.flatten(1)
        for name, buffer in row_buffers.items():
            buffers[name][rows] = buffer
    _update_statistics(network, buffers)
    return G


def _update_statistics(network: nn.Module, after: Named) -> None:
    """Combine running statistics [C, …], each updated by one row, into those after all rows in turn.

    A batch norm with momentum m changes its statistics r to (1 − m) r + m · (those of the batch).
    """
    for prefix, norm in network.named_modules():
        if isinstance(norm, BATCH_NORMS) and norm.running_mean is not None and norm.momentum is not None:
            keep = 1 - norm.momentum
            for name, buffer in norm.named_buffers(recurse=False):
                rows = after[f"{prefix}.{name}"]
                if name == "num_batches_tracked":
                    buffer.add_(len(rows))
                else:
                    weights = keep ** torch.arange(len(rows) - 1, -1, -1, device=rows.device)
                    buffer.copy_(keep ** len(rows) * buffer + weights @ (rows - keep * buffer))


def squared_gradients(network: nn.Module, samples: Batch) -> Gradient:
    """Return the mean of the squared per-sample gradients: the diagonal of the empirical Fisher matrix.

    The network is in evaluation mode meanwhile, because one sample has no batch statistics.
    """
    if chain := chain_of(network):
        return chain.squared_gradients(samples)
    n = len(samples.y)
    network.eval()
    total = [torch.zeros_like(p) for p in network.parameters()]
    for i in range(n):
        _, g = gradient(network, Batch(samples.x[i : i + 1], samples.y[i : i + 1], samples.mask))
        for total_l, g_l in zip(total, g, strict=True):
            total_l.addcmul_(g_l, g_l, value=1 / n)
    network.train()
    return total
