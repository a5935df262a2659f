"""Recordings: the snapshots of a run with what is needed to read them, from the store or from a file.

A file is an archive of numpy (.npz) with two arrays. `header` is JSON as bytes: `format` ("mgem-lens") and `version`;
`layers`, each with its name and the shapes of its tensors; `split_by`, `lr`, `seed` and `used`, the settings of the run,
null where they are unknown; `snapshots`, each with its task, its step and the `sizes` [S, K] of its memory rows. `factors`
has the packed factors of all their Gram matrices (`mgem_core.gram_factors`), one after the other, in float32.
"""

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, ValidationError, create_model

from mgem_core import gram_factors, networks
from mgem_core.config import RunConfig, explain
from mgem_core.errors import UsageError
from mgem_core.events import Snapped
from mgem_core.field_values import whole_number
from mgem_core.home import replace_file
from mgem_core.networks._layer import Layer
from mgem_core.store import Store
from mgem_core.sweeps import configuration_of

FORMAT, VERSION = "mgem-lens", 1


@dataclass(frozen=True)
class Recording:
    name: str  # of the run or the file, for messages
    layers: tuple[Layer, ...]  # of the network, in the order of its parameters
    snapshots: tuple[Snapped, ...]
    split_by: str | None = None  # how the memory was split; None if that is unknown
    lr: float | None = None
    seed: int | None = None
    used: dict[str, Any] = field(default_factory=dict)  # fields of RunConfig by which the run restricted its gradient
    configuration: str | None = None  # of a run of the store, equal for all its seeds; None for a file

    @property
    def tasks(self) -> list[int]:
        """The tasks in which there are snapshots."""
        return sorted({snapshot.task for snapshot in self.snapshots})


USED = (
    *("modules", "splits", "strength", "strength_kind", "strength_per", "solver", "trigger", "step_length"),
    *("ridge", "ridge_kind"),
)
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


def packed(layers: Sequence[Layer], snapshots: Sequence[Snapped], about: Recording | None = None) -> bytes:
    """The content of a file."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "layers": [{"name": layer.name, "shapes": layer.shapes} for layer in layers],
        **{name: getattr(about, name, None) for name in ("split_by", "lr", "seed", "used")},
        "snapshots": [{"task": one.task, "step": one.step, "sizes": one.sizes.tolist()} for one in snapshots],
    }
    factors = [gram_factors.pack(snapshot.gram).ravel() for snapshot in snapshots]
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


def parse(content: bytes, path: str) -> Recording:
    """The recording in the content of a file."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            header, factors = json.loads(arrays["header"].tobytes()), arrays["factors"]
        if header["format"] != FORMAT:
            raise ValueError(FORMAT)
        if header["version"] > VERSION:
            newer = f"version {header['version']}, and this program reads up to {VERSION}; update it"
            raise UsageError(f"{path!r} is a recording of {newer}.")
        recording = _recording(Path(path).name, header, factors)
    except ValidationError as error:
        raise UsageError(f"{path!r} has a setting that no run can have: {explain(error)}") from None
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError, zipfile.BadZipFile) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path!r} is no recording of mgem, or it is damaged; record it again.") from None
    if not recording.snapshots:
        raise UsageError(f"{path!r} has no snapshots yet; call recorder.snap(…) at some steps.")
    return recording


def _recording(name: str, header: dict[str, Any], factors: np.ndarray) -> Recording:
    """What a file says; any error, if its parts do not agree."""
    layers = tuple(
        Layer(layer["name"], {tensor: tuple(shape) for tensor, shape in layer["shapes"].items()})
        for layer in header["layers"]
    )
    L, snapshots, start = sum(len(layer.shapes) for layer in layers), [], 0
    for one in header["snapshots"]:
        sizes = sample_counts(one["sizes"])
        S, K = sizes.shape
        M = 2 + S + S * K
        stop = start + L * M * (M + 1) // 2
        snapshots.append(Snapped(int(one["task"]), int(one["step"]), factors[start:stop].reshape(L, -1), sizes))
        start = stop
    if start != len(factors) or (snapshots and not L):
        raise ValueError("factors")
    unpacked = [Snapped(one.task, one.step, gram_factors.unpack(one.gram), one.sizes) for one in snapshots]
    known = {key: header[key] for key in ("split_by", "lr", "seed")}
    used = Used(**(header["used"] or {})).model_dump(exclude_unset=True)
    return Recording(name, layers, tuple(unpacked), used=used, **known)
