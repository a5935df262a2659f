"""Forward and backward passes of a chain of linear layers and ReLUs, without autograd.

    a_0 = x        a_l = relu(a_{l−1} W_lᵀ + b_l)        logits = a_{L−1} W_Lᵀ + b_L
    δ_L = weight · (softmax(logits) − onehot(y))          δ_l = (δ_{l+1} W_{l+1}) where a_l > 0, else 0
    ∂/∂W_l = δ_lᵀ a_{l−1}                                 ∂/∂b_l = Σ δ_l

A memory row is a sum over its own samples, so each layer needs one batched product for all rows. The batch of the step
is part of the same pass. `tests/gradients/test_linear_chain.py` compares the results with autograd, and `perf/step.py`
measures the time saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from mgem_core.gradients.memory import Memory
from mgem_core.streams._stream import Batch

COLUMNS = 8  # the number of input columns is a multiple of this: rows of 32 bytes, one vector register


def chain_of(network: nn.Module) -> LinearChain | None:
    """Return the network as a chain (Flatten, then linear layers with ReLUs in between, all trainable), or None.

    The first call moves the parameters of the first layer into one shared tensor, without changing their values.
    """
    if network not in _CHAINS:
        _CHAINS[network] = LinearChain(_linear_layers(network)) if _is_chain(network) else None
    return _CHAINS[network]


_CHAINS: WeakKeyDictionary[nn.Module, LinearChain | None] = WeakKeyDictionary()


def _is_chain(network: nn.Module) -> bool:
    """Return whether the network is a chain of at least two linear layers with the usual forward pass.

    `compute_in_bf16` replaces the forward pass, so such a network is not a chain.
    """
    if type(network) is not nn.Sequential or "forward" in vars(network):
        return False
    kinds = [type(part) for part in network]
    layers = _linear_layers(network)
    expected = [nn.Flatten, *[nn.Linear, nn.ReLU] * (len(layers) - 1), nn.Linear]
    trainable = all(p.requires_grad and p.dtype == torch.float32 for p in network.parameters())
    return kinds == expected and len(layers) > 1 and trainable and all(layer.bias is not None for layer in layers)


def _linear_layers(network: nn.Module) -> list[nn.Linear]:
    return [part for part in network.children() if isinstance(part, nn.Linear)]


class LinearChain:
    def __init__(self, layers: Sequence[nn.Linear]):
        """Store the weights of the first layer input by input: `lines` [in + 1, out], whose last line is the bias."""
        first = layers[0]
        self.lines = torch.cat([first.weight.detach().T, first.bias.detach()[None]])
        first.weight.data, first.bias.data = self.lines[:-1].T, self.lines[-1]
        self.W = [layer.weight.detach() for layer in layers]  # [out, in]
        self.b = [layer.bias.detach() for layer in layers]
        self.W_T = [W.T for W in self.W]
        self.theta = [parameter for pair in zip(self.W, self.b, strict=True) for parameter in pair]
        self.classes = torch.arange(len(self.b[-1]), device=self.lines.device)[:, None]
        self.sizes = [parameter.numel() for parameter in self.theta]

    def logits(self, x: Tensor) -> Tensor:
        """Return the logits [N, classes]."""
        return self._logits(self._hidden(x.flatten(1))[-1]).T

    def gradient(self, batch: Batch) -> tuple[Tensor, list[Tensor]]:
        """Return the mean loss on the batch and its gradient, one tensor per parameter."""
        log_p, layers = self._inputs_and_deltas(batch, 1 / len(batch.y))
        return mean_loss(log_p, batch.y), [part for a, delta in layers for part in (delta @ a, delta.sum(1))]

    def add_gradient(self, total: Sequence[Tensor], batch: Batch, factor: float) -> None:
        """Add factor · the gradient of the loss, summed over the batch, to `total`, which may be `theta` itself."""
        _, layers = self._inputs_and_deltas(batch, factor)
        for W, b, (a, delta) in zip(total[::2], total[1::2], layers, strict=True):
            W.addmm_(delta, a)
            b.add_(delta.sum(1))

    def squared_gradients(self, samples: Batch) -> list[Tensor]:
        """Return the mean of the squared per-sample gradients."""
        _, layers = self._inputs_and_deltas(samples, 1.0)
        squares = [(a.square(), delta.square().div_(len(samples.y))) for a, delta in layers]
        return [part for a, delta in squares for part in (delta @ a, delta.sum(1))]

    def split(self, vector: Tensor) -> list[Tensor]:
        """Return views of a vector [P] in the layout of `RowsAndBatch`, shaped like the parameters."""
        parts = list(vector.split(self.sizes))
        parts[0] = parts[0].view(self.W_T[0].shape).T
        for i in range(2, len(parts), 2):
            parts[i] = parts[i].view(self.theta[i].shape)
        return parts

    def _inputs_and_deltas(self, batch: Batch, weight: float) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Return log softmax(logits) [classes, N], and for each layer its inputs a [N, in] and δᵀ [out, N]."""
        a = self._hidden(batch.x.flatten(1))
        log_p = _log_softmax(self._logits(a[-1]), batch.mask)
        delta = log_p.exp().sub_(self._one_hot(batch.y)).mul_(weight)
        return log_p, list(zip(a, self._backward(a, delta), strict=True))

    def _one_hot(self, y: Tensor) -> Tensor:
        """Return [classes, N]."""
        return (self.classes == y).float()

    def _hidden(self, x: Tensor) -> list[Tensor]:
        """Return the inputs of all layers for x [N, in]."""
        a = [x]
        for b, W_T in zip(self.b[:-1], self.W_T, strict=False):
            a.append(torch.addmm(b, a[-1], W_T).relu_())
        return a

    def _logits(self, a: Tensor, out: Tensor | None = None) -> Tensor:
        """Return [classes, N]: for a few classes, the softmax along columns is twenty times as fast as along rows."""
        return torch.addmm(self.b[-1][:, None], self.W[-1], a.T, out=out)

    def _backward(self, a: Sequence[Tensor], delta: Tensor, out: Sequence[Tensor | None] | None = None) -> list[Tensor]:
        """Return δᵀ of all layers, in their order, from δᵀ of the last one [classes, N]."""
        deltas, backward = [delta], delta.T
        for i in range(len(self.W) - 1, 0, -1):
            backward = torch.mm(backward, self.W[i], out=out[i - 1] if out else None)
            backward.mul_(a[i].sign())  # the derivative of relu: 1 where a > 0, else 0; multiplying by a bool is slower
            deltas.insert(0, backward.T)
        return deltas


class RowsAndBatch:
    """The gradients of C memory rows and of a batch, in one pass, with buffers that are reused in every step.

    Inputs that are zero in all samples of a row, such as the border of digits, are left out, because the gradient of the
    row is always zero there. An additional input that is always 1 represents the bias.
    """

    def __init__(self, chain: LinearChain, memory: Memory):
        self.chain, self.memory, self.split = chain, memory, chain.split
        C, n = memory.y.shape
        inputs, width = chain.lines.shape
        x = torch.cat([memory.x.flatten(2), memory.x.new_ones(C, n, 1)], dim=2)
        is_used = (x != 0).any(dim=1)
        count = min(inputs, -(-int(is_used.sum(1).max()) // COLUMNS) * COLUMNS)
        columns = is_used.int().argsort(dim=1, descending=True, stable=True)[:, :count].sort(dim=1).values
        self.x = x.gather(2, columns[:, None].expand(-1, n, -1))  # [C, n, count]
        self.x_T, self.columns = self.x.transpose(1, 2), columns.flatten()
        self.W_used, self.G_used = x.new_empty(C * count, width), x.new_zeros(C * count + 1, width)  # last line: 0
        self.W_rows, self.G_rows = self.W_used.view(C, count, width), self.G_used[:-1].view(C, count, width)

        P = sum(chain.sizes)
        lines = -(-P // width)  # per row of G, which begins with the lines of the first layer
        self.G_lines = x.new_zeros(C * lines, width)
        self.G = self.G_lines.view(C, -1)[:, :P]
        used = torch.arange(C * count, device=x.device).view(C, count)
        self.places = (
            columns.new_full((C, lines), C * count).scatter_(1, columns, used).flatten()
        )  # line of G_lines → line of G_used
        parts = self.G.split(chain.sizes, dim=1)
        self.G_W = [part.unflatten(1, W.shape) for part, W in zip(parts[2::2], chain.W[1:], strict=True)]
        self.G_b = parts[3::2]
        self.g = x.new_empty(P)
        self.g_parts = chain.split(self.g)
        self._prepare_for_batches_of(1)

    def _prepare_for_batches_of(self, samples: int) -> None:
        """Allocate buffers for the samples of the memory, followed by those of a batch."""
        memory, (C, n), classes = self.memory, self.memory.y.shape, len(self.chain.b[-1])
        new, self.samples, N = self.x.new_empty, samples, memory.y.numel() + samples
        # Stored unit by unit, because MKL needs a tenth less time for a product with fewer and longer lines.
        self.a, self.deltas = ([new(len(b), N).T for b in self.chain.b[:-1]] for _ in range(2))
        self.logits, self.last_delta = new(classes, N), new(classes, N)
        weight = torch.cat([memory.weight.flatten(), new(samples).fill_(1 / samples)])
        self.weight = weight.expand(classes, -1).contiguous()
        self.one_hot = torch.cat([self.chain._one_hot(memory.y.flatten()), new(classes, samples)], dim=1)
        self.is_masked = None
        if memory.mask is not None:
            is_masked = ~memory.mask.repeat_interleave(n, dim=0).T
            self.is_masked = torch.cat([is_masked, is_masked.new_zeros(classes, samples)], dim=1)
        deltas_T = [*(delta.T for delta in self.deltas), self.last_delta]
        self.a_rows, self.a_batch = [a[:-samples].unflatten(0, (C, n)) for a in self.a], [a[-samples:] for a in self.a]
        self.delta_rows = [delta[:, :-samples].unflatten(1, (C, n)).transpose(0, 1) for delta in deltas_T]
        self.delta_batch = [delta[:, -samples:] for delta in deltas_T]

    def __call__(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the mean loss on the batch, its gradient g [P], and the memory rows G [C, P], until the next call."""
        if len(batch.y) != self.samples:
            self._prepare_for_batches_of(len(batch.y))
        x, chain = batch.x.flatten(1), self.chain
        torch.index_select(chain.lines, 0, self.columns, out=self.W_used)
        torch.bmm(self.x, self.W_rows, out=self.a_rows[0])
        self.a_batch[0].copy_(torch.addmm(chain.b[0], x, chain.W_T[0]))  # with out=, MKL takes ten times as long
        self.a[0].relu_()
        for i in range(1, len(self.a)):
            torch.addmm(chain.b[i], self.a[i - 1], chain.W_T[i], out=self.a[i]).relu_()
        log_p = self._log_softmax(batch)
        torch.exp(log_p, out=self.last_delta).sub_(self.one_hot).mul_(self.weight)
        chain._backward([x, *self.a], self.last_delta, out=self.deltas)
        self._rows()
        self._gradient(x)
        return mean_loss(log_p[:, -self.samples :], batch.y), self.g, self.G

    def _log_softmax(self, batch: Batch) -> Tensor:
        """Return the log softmax [classes, N] over the logits of each task."""
        self.one_hot[:, -self.samples :] = self.chain._one_hot(batch.y)
        logits = self.chain._logits(self.a[-1], out=self.logits)
        if self.is_masked is not None and batch.mask is not None:
            self.is_masked[:, -self.samples :] = ~batch.mask[:, None]
            logits.masked_fill_(self.is_masked, -torch.inf)
        return torch.log_softmax(logits, dim=0)

    def _rows(self) -> None:
        torch.bmm(self.x_T, self.delta_rows[0].transpose(1, 2), out=self.G_rows)
        torch.index_select(self.G_used, 0, self.places, out=self.G_lines)
        for a, delta, G_W, G_b in zip(self.a_rows, self.delta_rows[1:], self.G_W, self.G_b, strict=True):
            torch.bmm(delta, a, out=G_W)
            torch.sum(delta, 2, out=G_b)

    def _gradient(self, x: Tensor) -> None:
        g_W, g_b = self.g_parts[::2], self.g_parts[1::2]
        for a, delta, W, b in zip([x, *self.a_batch], self.delta_batch, g_W, g_b, strict=True):
            torch.mm(delta, a, out=W)
            torch.sum(delta, 1, out=b)


def mean_loss(log_p: Tensor, y: Tensor) -> Tensor:
    """Return the mean cross-entropy from log_p [classes, N] and y [N]."""
    return log_p.gather(0, y[None]).mean().neg()


def _log_softmax(logits: Tensor, mask: Tensor | None) -> Tensor:
    """Return the log softmax of each column of logits [classes, N]; the mask is [classes] or [N, classes]."""
    if mask is not None:
        logits = logits.masked_fill(~(mask if mask.ndim == 2 else mask[None]).T, -torch.inf)
    return torch.log_softmax(logits, dim=0)
