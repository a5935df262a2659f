"""The header of a file with a recording, validated, and what a recording may have at most.

Strangers send such files, and a small one can unpack to whatever it likes. The limits are far above what is recorded in
practice, and low enough for the memory of a laptop.
"""

from collections import Counter
from math import prod
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from mgem_core.networks._layer import Layer
from mgem_core.restriction import gram_factors
from mgem_core.text import pluralize

FORMAT, VERSION = "mgem-lens", 1
MOST_HEADER_BYTES = 8_000_000  # 20,000 snapshots of 19 past tasks with 6 splits
MOST_NUMBERS = 64_000_000  # in all factors, 256 MB: ResNet-18 with 19 past tasks, 6 splits, 100 snapshots has 57 million
MOST_ROWS = 1000  # of a Gram matrix, whose solution takes time with their cube: 19 past tasks with 50 splits have 971
MOST_LAYERS, MOST_TENSORS = 1000, 2000  # DenseNet-264 has about 530 layers with 790 tensors
MOST_SNAPSHOTS = 100_000
MOST_PARAMETERS = 10**15  # of a tensor: the sum over all tensors is a whole number of 64 bits
LARGEST = 2**53  # the browser has no larger whole numbers


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it has characters that cannot be shown")
    return text


Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)]
Whole = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
Dimension = Annotated[int, Field(ge=0, le=MOST_PARAMETERS)]
Samples = Annotated[int, Field(ge=1, le=10**12)]


class HeaderStart(BaseModel):
    """What the headers of all versions have."""

    format: Literal["mgem-lens"]
    version: Annotated[int, Field(ge=1, le=10**6)]


class HeaderLayer(BaseModel):
    name: Name
    shapes: Annotated[dict[Name, Annotated[list[Dimension], Field(max_length=20)]], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if any(prod(shape) > MOST_PARAMETERS for shape in self.shapes.values()):
            raise ValueError("it has too many parameters")
        return self


class HeaderSnapshot(BaseModel):
    task: Whole
    step: Whole
    sizes: list[list[Samples]]  # [S, K]

    @model_validator(mode="after")
    def _check_shape(self) -> Self:
        """Before task t, counted from 0, there are t tasks, all with as many splits."""
        if self.task < 1 or len(self.sizes) != self.task or len({len(row) for row in self.sizes}) != 1 or not self.sizes[0]:
            raise ValueError("sizes do not fit the task")
        return self

    @property
    def rows(self) -> int:
        """M, of the Gram matrices: g, g_t, the g_s and the memory rows."""
        return gram_factors.gram_rows(len(self.sizes), len(self.sizes[0]))

    @property
    def packed_length(self) -> int:
        """Of the factor of each tensor."""
        return gram_factors.packed_length(len(self.sizes), len(self.sizes[0]))


class Header(HeaderStart):
    model_config = ConfigDict(allow_inf_nan=False)

    layers: list[HeaderLayer]
    split_by: Literal["random", "class", "order"] | None
    lr: float | None
    seed: Whole | None
    used: dict[str, Any] | None  # `recordings.Used` says what is in it
    snapshots: list[HeaderSnapshot]

    @model_validator(mode="after")
    def _check_layers(self) -> Self:
        if self.snapshots and not self.layers:
            raise ValueError("there are no layers")
        for names in ([layer.name for layer in self.layers], [name for one in self.network for name in one.tensors]):
            if names and max(Counter(names).values()) > 1:
                raise ValueError("two layers or tensors have the same name")
        return self

    @property
    def network(self) -> tuple[Layer, ...]:
        return tuple(Layer(one.name, {name: tuple(shape) for name, shape in one.shapes.items()}) for one in self.layers)

    @property
    def tensors(self) -> int:
        return sum(len(layer.shapes) for layer in self.layers)

    @property
    def numbers(self) -> int:
        """In the packed factors of all snapshots."""
        return self.tensors * sum(one.packed_length for one in self.snapshots)


def find_excess(
    layers: int, tensors: int, snapshots: int, rows: int, numbers: int, most_numbers: int = MOST_NUMBERS
) -> str:
    """What a recording has more of than a lens opens, as part of a sentence; empty if there is nothing."""
    limits = {
        "layer": (layers, MOST_LAYERS, "record fewer of them"),
        "tensor": (tensors, MOST_TENSORS, "record fewer of them"),
        "snapshot": (snapshots, MOST_SNAPSHOTS, "record fewer steps"),
        "row": (rows, MOST_ROWS, "record fewer splits"),
        "number": (numbers, most_numbers, "record fewer steps or splits"),
    }
    for noun, (count, most, remedy) in limits.items():
        if count > most:
            where = " in a Gram matrix" if noun == "row" else ""
            return f"has {pluralize(count, noun)}{where}, and at most {most:,} can be opened; {remedy}"
    return ""
