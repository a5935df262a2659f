"""A convolution that is computed as a matrix product where that is faster."""

from math import prod

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, unfold

# On a CPU, torch computes the gradients of large kernels with few output positions at a third of the speed of a matrix
# product. Beyond these limits, torch is mostly faster: perf/convolutions.py measures layers on both sides of them.
LEAST_WEIGHTS, MOST_POSITIONS = 2**22, 4


class Conv2d(nn.Conv2d):
    """torch's convolution, for one group and padding with zeros."""

    padding: tuple[int, ...]

    def forward(self, x: Tensor) -> Tensor:
        """Return the output [N, channels, height, width] for images x [N, channels, height, width]."""
        return self.as_product(x) if self.is_faster_as_product(x) else super().forward(x)

    def is_faster_as_product(self, x: Tensor) -> bool:
        """Return whether the gradients are computed faster by `as_product`; for outputs alone, torch's way is faster."""
        is_large = self.weight.numel() >= LEAST_WEIGHTS and prod(self.positions(x)) <= MOST_POSITIONS
        return is_large and x.is_cpu and torch.is_grad_enabled()

    def as_product(self, x: Tensor) -> Tensor:
        """Return the output as the product of the weights and, at each position, the pixels under the kernel."""
        pixels = unfold(x, self.kernel_size, padding=self.padding, stride=self.stride).transpose(1, 2)
        y: Tensor = linear(pixels.flatten(0, 1), self.weight.flatten(1), self.bias)
        images_first = y.view(len(x), *self.positions(x), -1).permute(0, 3, 1, 2)
        return images_first.contiguous()  # vmap is slow for pooling in another layout

    def positions(self, x: Tensor) -> list[int]:
        """Return the height and width of the output."""
        sizes = zip(x.shape[2:], self.kernel_size, self.stride, self.padding, strict=True)
        return [(side + 2 * padding - kernel) // stride + 1 for side, kernel, stride, padding in sizes]
