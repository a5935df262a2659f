"""The example that comes with the tool: recordings and trained runs of the preset "rotated-digits", without torch.

`python -m studies.example` trains the preset and writes the files in `example/`; do not edit them by hand.
"""

from functools import cache
from pathlib import Path

import pandas as pd

from mgem_core.analysis.aggregate import Measurements
from mgem_core.config.sweeps import SweepSpec
from mgem_core.errors import UsageError
from mgem_core.lens.recordings import Recording
from mgem_core.lens.recordings import read as read_recording
from mgem_core.paper import published
from mgem_core.paper.presets import EXAMPLE, PRESETS

FOLDER = Path(__file__).with_name("example")
RUNS = "runs"  # name of the file with the trained runs, as in `published.read`
REMEDY = "install mGEM Explorer again, or write the example again with python -m studies.example"


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


def runs(folder: Path = FOLDER) -> tuple[pd.DataFrame, dict[int, Measurements]]:
    """Return the trained runs, recordings included, as `published.read` does."""
    path = folder / f"{RUNS}.jsonl"
    try:
        path.open("rb").close()
        found = published.read(RUNS, folder)
        problem = "is damaged" if found[0].empty else ""
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except UsageError:
        problem = "is damaged"
    if problem:
        raise UsageError(f"The example is incomplete: {str(path)!r} {problem}; {REMEDY}.")
    return found
