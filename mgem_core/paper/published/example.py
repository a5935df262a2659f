"""The example that comes with the tool: recordings and trained runs of the preset "rotated-digits", without torch.

`python -m studies.example` trains the preset and writes the files in `example/`; do not edit them by hand.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mgem_core.config.sweeps import SweepSpec
from mgem_core.errors import UsageError
from mgem_core.lens.recordings import Recording
from mgem_core.lens.recordings import read as read_recording
from mgem_core.paper.presets import EXAMPLE, PRESETS

FOLDER = Path(__file__).with_name("example")
RUNS = "runs"  # name of the file with the trained runs, as in `published.read`
REMEDY = "install mGEM Explorer again, or write the example again with python -m studies.example"
PAIR_COLUMNS = (0, 1, 3, 4, 6, 7)  # of `Measurements.pairs`: x and y raw, per unit ‖z‖ and as cosines


class ExampleRun(NamedTuple):
    config: dict[str, Any]  # the fields of RunConfig that affect the run, with the seed
    label: str  # "p-mGEM(4)"
    status: str  # "finished", or "diverged"
    matrix: list[list[float | None]]  # R in percent; None where it is not known
    pairs: dict[str, list[float | None]]  # "0,1" → means of x and y over probed steps: raw, per unit ‖z‖, as cosines
    acc: float | None
    fwd: float | None
    bwd: float | None
    seconds_per_step: float | None  # wall-clock time on a busy machine, which does not measure the speed of a method

    @property
    def seed(self) -> int:
        return int(self.config["seed"])

    @property
    def is_recording(self) -> bool:
        return bool(self.config.get("snap_every"))


def spec() -> SweepSpec:
    """Return the sweep whose results the example has."""
    return PRESETS[EXAMPLE].spec


def recording_file(seed: int, folder: Path = FOLDER) -> Path:
    return folder / f"rotated-digits-{seed}.lens"


@cache
def recordings(folder: Path = FOLDER) -> tuple[Recording, ...]:
    """Return the recordings of GEM, one per seed."""
    seeds = sorted({config.seed for config in spec().runs() if config.snap_every})
    try:
        return tuple(read_recording(recording_file(seed, folder)) for seed in seeds)
    except UsageError as error:
        raise UsageError(f"The example is incomplete: {str(error).rstrip('.')}; {REMEDY}.") from None


@cache
def runs(folder: Path = FOLDER) -> list[ExampleRun]:
    """Return the trained runs, recordings included. All callers share the list and must not change it."""
    path = folder / f"{RUNS}.jsonl"
    try:
        lines = path.read_bytes().splitlines() or [b""]  # an empty file is damaged, too
        return [_run(json.loads(line)) for line in lines]
    except OSError as error:
        raise UsageError(f"The example is incomplete: {str(path)!r} cannot be read: {error.strerror}; {REMEDY}.") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise UsageError(f"The example is incomplete: {str(path)!r} is damaged; {REMEDY}.") from None


def _run(line: dict[str, Any]) -> ExampleRun:
    if not isinstance(line["config"]["seed"], int):
        raise ValueError("seed")
    pairs = {pair: [values[column] for column in PAIR_COLUMNS] for pair, values in line["pairs"].items()}
    return ExampleRun(**{**{name: line[name] for name in ExampleRun._fields}, "pairs": pairs})
