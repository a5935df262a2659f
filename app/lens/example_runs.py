"""The recorded runs that come with the tool, so that the lens can be used before anything is trained."""

from functools import cache
from pathlib import Path

from mgem_core.config.sweeps import SweepSpec
from mgem_core.lens import recordings
from mgem_core.lens.recordings import Recording

FOLDER = Path(__file__).with_name("example")
SPEC = SweepSpec(
    base={
        **{"benchmark": "mnist5k-rotations", "method": "gem", "strength": 0.5, "tasks": 2, "iterations": 100},
        **{"memory": 252, "snap_every": 3, "snap_splits": 6, "probe_every": 0, "device": "cpu"},
    },
    grid={"seed": list(range(6))},
)


def file_of(seed: int) -> Path:
    return FOLDER / f"rotations-{seed}.lens"


@cache
def example_recordings() -> tuple[Recording, ...]:
    """Return the recordings, one per seed; `python -m studies.lens_example` makes them again."""
    return tuple(recordings.read(file_of(config.seed)) for config in SPEC.runs())
