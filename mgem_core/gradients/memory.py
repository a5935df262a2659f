"""The samples behind the memory rows of a step."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mgem_core.streams._stream import Batch


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
    """Pad the rows to the same size and stack them."""
    sizes = tuple(len(row.y) for row in rows)
    x = nn.utils.rnn.pad_sequence([row.x for row in rows], batch_first=True)
    pad = max(sizes)
    y = torch.stack([torch.cat([row.y, row.y[:1].expand(pad - len(row.y))]) for row in rows])
    weight = torch.stack([(torch.arange(pad, device=x.device) < size) / size for size in sizes])
    masks = [row.mask for row in rows if row.mask is not None]
    return Memory(x, y, weight, sizes, torch.stack(masks) if masks else None)
