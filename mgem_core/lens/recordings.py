"""Recordings: the snapshots of a run with what is needed to read them, from the store or from a file.

A file is an archive of numpy (.npz) with two arrays. `header` is JSON as bytes: `format` ("mgem-lens") and `version`;
`layers`, each with its name and the shapes of its tensors; `split_by`, `lr`, `seed` and `used`, the settings of the run,
null where they are unknown; `snapshots`, each with its task, its step and the `sizes` [S, K] of its memory rows. `factors`
has the packed factors of all their Gram matrices (`mgem_core.restriction.gram_factors`), one after the other, in float32.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, ValidationError, create_model

from mgem_core import networks
from mgem_core.config import RunConfig, explain
from mgem_core.config.field_values import whole_number
from mgem_core.config.sweeps import configuration_of
from mgem_core.errors import UsageError
from mgem_core.events import Snapped
from mgem_core.home import replace_file
from mgem_core.lens import archive
from mgem_core.lens.header import FORMAT, MOST_HEADER_BYTES, MOST_NUMBERS, VERSION, Header, HeaderStart, find_excess
from mgem_core.networks._layer import Layer
from mgem_core.restriction import gram_factors
from mgem_core.restriction.restriction import FIELDS
from mgem_core.store import Store

ARRAYS = {"header": "|u1", "factors": "<f4"}  # of a file, by name
LONGEST_REASON = 300  # characters about a wrong setting, which a file may make as long as it likes


@dataclass(frozen=True)
class PackedSnapshot:
    """A snapshot of a file: as `Snapped`, but its Gram matrices are computed when somebody asks for them."""

    task: int
    step: int
    factors: NDArray[np.float32]  # [L, M (M + 1) / 2], see `mgem_core.restriction.gram_factors`
    sizes: NDArray[np.int64]

    @property
    def gram(self) -> NDArray[np.float64]:
        return gram_factors.unpack(self.factors)


Snapshot = Snapped | PackedSnapshot


@dataclass(frozen=True)
class Recording:
    name: str  # of the run or the file, for messages
    layers: tuple[Layer, ...]  # of the network, in the order of its parameters
    snapshots: tuple[Snapshot, ...]
    split_by: str | None = None  # how the memory was split; None if that is unknown
    lr: float | None = None
    seed: int | None = None
    used: dict[str, Any] = field(default_factory=dict)  # fields of RunConfig by which the run restricted its gradient
    configuration: str | None = None  # of a run of the store, equal for all its seeds; None for a file

    @property
    def tasks(self) -> list[int]:
        """The tasks in which there are snapshots."""
        return sorted({snapshot.task for snapshot in self.snapshots})

    @property
    def numbers(self) -> int:
        """In the packed factors of all snapshots."""
        tensors = sum(len(layer.shapes) for layer in self.layers)
        return tensors * sum(gram_factors.packed_length(*snapshot.sizes.shape) for snapshot in self.snapshots)


USED = tuple(name for name in FIELDS if name not in ("split_by", "rule"))
_fields: dict[str, Any] = {name: (RunConfig.model_fields[name].annotation, RunConfig.model_fields[name]) for name in USED}
Used: Any = create_model("Used", __config__=ConfigDict(allow_inf_nan=False), **_fields)  # checks them like a config


def of_run(store: Store, run: int) -> Recording:
    """The snapshots of a run of the store."""
    (record,) = store.run_records([run])
    snapshots = store.snapshots(run)
    if not snapshots:
        remedy = "train it with snapshots (mgem sweep --snap-every 10 --snap-splits 6)"
        raise UsageError(f"run r{run} has recorded nothing that a lens can show; {remedy}.")
    try:
        config = RunConfig.model_validate(record["config"])
    except ValidationError as error:  # stored by another version
        raise UsageError(f"run r{run} is of another version: {explain(error)}") from None
    info = config.benchmark_info
    layers = tuple(networks.layers(config.network, info.shape, info.classes))
    used = {name: getattr(config, name) for name in USED}
    configuration = configuration_of(config.stored())
    return Recording(f"r{run}", layers, tuple(snapshots), config.split_by, config.lr, config.seed, used, configuration)


def write(recording: Recording, path: Path) -> None:
    """Replace the file atomically."""
    replace_file(path, packed(recording.layers, recording.snapshots, recording))


def factors_of(snapshot: Snapshot) -> NDArray[np.float32]:
    """The packed factors [L, M (M + 1) / 2] of its Gram matrices; NaN where they are not finite."""
    return snapshot.factors if isinstance(snapshot, PackedSnapshot) else gram_factors.pack(snapshot.gram)


def packed(layers: Sequence[Layer], snapshots: Sequence[Snapshot], about: Recording | None = None) -> bytes:
    """The content of a file."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "layers": [{"name": layer.name, "shapes": layer.shapes} for layer in layers],
        **{name: getattr(about, name, None) for name in ("split_by", "lr", "seed", "used")},
        "snapshots": [{"task": one.task, "step": one.step, "sizes": one.sizes.tolist()} for one in snapshots],
    }
    factors = [factors_of(snapshot).ravel() for snapshot in snapshots]
    file = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez_compressed(file, header=text, factors=np.concatenate([np.empty(0, np.float32), *factors]))
    return file.getvalue()


def sample_counts(sizes: Any) -> NDArray[np.int64]:
    """The numbers of samples behind the memory rows [S, K]; a ValueError if they are not whole numbers of at least 1."""
    counts = [[whole_number(one) or 0 for one in row] for row in np.asarray(sizes).tolist()]
    if min(map(min, counts)) < 1:
        raise ValueError("sizes")
    return np.array(counts, np.int64)


def read(path: Path) -> Recording:
    """The recording in a file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
    return parse(content, str(path))


def parse(content: bytes, path: str, most_numbers: int = MOST_NUMBERS) -> Recording:
    """The recording in the content of a file; an error if its factors have more numbers than these.

    The content may be anything. Nothing is unpacked before its size is known to be within the limits.
    """
    try:
        arrays = archive.open_arrays(content, ARRAYS)
        if arrays["header"].count > MOST_HEADER_BYTES:
            most = f"and at most {MOST_HEADER_BYTES:,} can be opened; record fewer steps"
            raise UsageError(f"{path!r} has a header of {arrays['header'].count:,} bytes, {most}.")
        header = _read_header(arrays["header"].read().tobytes(), path)
        rows = max((snapshot.rows for snapshot in header.snapshots), default=0)
        counts = len(header.layers), header.tensors, len(header.snapshots), rows, header.numbers
        if excess := find_excess(*counts, most_numbers):
            raise UsageError(f"{path!r} {excess}.")
        if arrays["factors"].count != header.numbers:
            raise ValueError("factors")
        used = _read_used(header.used or {}, path)
        snapshots = _snapshots(header, arrays["factors"].read())
    except UsageError:
        raise
    except ValueError:  # a DamagedArchiveError, or a ValidationError of the header
        raise UsageError(f"{path!r} is no recording of mgem, or it is damaged; record it again.") from None
    if not snapshots:
        raise UsageError(f"{path!r} has no snapshots yet; call recorder.snap(…) at some steps.")
    return Recording(Path(path).name, header.network, snapshots, header.split_by, header.lr, header.seed, used)


def _read_header(text: bytes, path: str) -> Header:
    version = HeaderStart.model_validate_json(text).version
    if version > VERSION:
        newer = f"version {version}, and this program reads up to {VERSION}; update it"
        raise UsageError(f"{path!r} is a recording of {newer}.")
    return Header.model_validate_json(text)


def _read_used(given: dict[str, Any], path: str) -> dict[str, Any]:
    try:
        return Used.model_validate(given).model_dump(exclude_unset=True)
    except ValidationError as error:
        reason = explain(error)
        shortened = reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]} …"
        raise UsageError(f"{path!r} has a setting that no run can have: {shortened}") from None


def _snapshots(header: Header, factors: NDArray[np.float32]) -> tuple[PackedSnapshot, ...]:
    snapshots, start = [], 0
    for one in header.snapshots:
        stop = start + header.tensors * one.packed_length
        of_snapshot = factors[start:stop].reshape(header.tensors, -1)
        snapshots.append(PackedSnapshot(one.task, one.step, of_snapshot, np.array(one.sizes, np.int64)))
        start = stop
    return tuple(snapshots)
