"""A store with runs that were really trained, in the process of the test."""

from pathlib import Path

from mgem_core import run
from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store

SPEC = SweepSpec(
    base={"tasks": 2, "iterations": 5, "memory": 20, "probe_every": 2, "validation": 0.1},
    grid={"strength": [0.0, 1.0], "seed": [0, 1]},
)


def trained_store(path: Path, spec: SweepSpec = SPEC) -> Store:
    store = Store(path)
    store.submit(spec, "tiny")
    while claimed := store.claim():
        number, config = claimed
        store.record([(number, event) for event in run(config)])
    return store
