"""A layer as plain data, without torch."""

from dataclasses import dataclass
from math import floor, prod

Shape = tuple[int, int, int]  # channels, height and width of an image


@dataclass(frozen=True)
class Layer:
    """A layer with parameters: its name and the shapes of its tensors, in the order of the network."""

    name: str
    shapes: dict[str, tuple[int, ...]]

    @property
    def tensors(self) -> dict[str, int]:
        """Return the number of parameters of each tensor, by name."""
        return {f"{self.name}.{tensor}": prod(shape) for tensor, shape in self.shapes.items()}

    @property
    def size(self) -> int:
        return sum(self.tensors.values())


def linear(name: str, inputs: int, outputs: int) -> Layer:
    return Layer(name, {"weight": (outputs, inputs), "bias": (outputs,)})


def conv(name: str, inputs: int, outputs: int, kernel: int, bias: bool = False) -> Layer:
    """Describe a convolution; before a batch norm it needs no bias."""
    return Layer(name, {"weight": (outputs, inputs, kernel, kernel)} | ({"bias": (outputs,)} if bias else {}))


def norm(name: str, channels: int) -> Layer:
    return Layer(name, {"weight": (channels,), "bias": (channels,)})


def scaled(full: int, width: float) -> int:
    """Return a hidden width, scaled and rounded down, but at least 1; 100 × (1/n) is exactly 100 // n for every n."""
    return max(1, floor(full * width + 1e-9))
