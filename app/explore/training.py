"""Requests of the workbench: train the chosen settings, run the preset live, add seeds, show, stop and resume runs."""

import json
from collections.abc import Sequence
from typing import Any

import session
from export_menu import ask_to_export
from paper.run_this import ask_to_run
from pydantic import ValidationError

from explore.launch import add_runs, launch, needs_confirmation
from explore.source_choice import ask_for_files, choose_source
from explore.sources import EXAMPLE_KEY, Source
from explore.sweep_controls import resume_sweep, stop_sweep
from explore.trained_verdicts import MOST_ADDED
from explore.verdicts import add_seeds
from mgem_core import RunConfig, UsageError, networks
from mgem_core.config import explain
from mgem_core.config.sweeps import SweepSpec
from mgem_core.learners import uses
from mgem_core.paper.presets import EXAMPLE, PRESETS
from mgem_core.restriction import partition
from mgem_core.store import Store

CHOSEN = (
    "splits",
    "strength",
    "solver",
    "trigger",
    "step_length",
)  # fields that can be chosen in the workbench, besides the modules


@session.explain_errors
def handle_trigger(store: Store, source: Source, name: str, value: Any) -> None:
    """Do what the user asked for in the workbench."""
    if not store.is_current():
        return  # the page reports the replaced store
    if name == "live":
        launch(store, PRESETS[EXAMPLE].spec, PRESETS[EXAMPLE].title)
    elif name == "add" and source.sweep is not None and isinstance(value, int) and 0 < value <= MOST_ADDED:
        add_seeds(store, source.sweep, value)
    elif name == "train":
        train(store, source, value)
    elif name == "source" and isinstance(value, str):
        choose_source(store, value)
    elif name == "export":
        ask_to_export(source.key)
    elif name == "open":
        ask_for_files()
    elif name == "runs" and source.sweep is not None:
        (resume_sweep if value == "resume" else stop_sweep)(store, source.sweep)


def train(store: Store, source: Source, wanted: Any) -> None:
    """Train the chosen settings with all seeds of the source, after a question if that takes long."""
    recorded, seeds, probe_every = template(store, source)
    measured = {"snap_every": 0, "snap_splits": 0, "probe_every": probe_every}
    try:
        trained = RunConfig.model_validate({**_fields(recorded), **train_settings(recorded, wanted), **measured})
    except ValidationError as error:
        session.queue_toast(explain(error))
        return
    spec = spec_with(store, source, recorded, trained, seeds)
    name = f"{trained.label} with strength {trained.strength}"
    if needs_confirmation(store, SweepSpec(grid=_grid(trained, seeds)).runs()):
        ask_to_run(name, spec, source.sweep)
    elif source.sweep is None:
        launch(store, spec, name)
    else:
        add_runs(store, source.sweep, spec)


def train_settings(config: RunConfig, wanted: Any) -> dict[str, Any]:
    """Convert the settings chosen in the workbench to fields of RunConfig."""
    info = config.benchmark_info
    layers = networks.layers(config.network, info.shape, info.classes)
    try:
        modules = partition.simplest_modules(layers, tuple(int(d) for d in wanted["moduleOf"]))
        return {"modules": modules, **{name: wanted[name] for name in CHOSEN}}
    except (KeyError, TypeError, ValueError):
        raise UsageError("The workbench sent settings that cannot be read; reload the page.") from None


def template(store: Store, source: Source) -> tuple[RunConfig, list[int], int]:
    """Return the config whose other settings the chosen ones get, the seeds, and the steps between probes.

    The config is that of a recording, or the first that restricts its gradient. Probes are taken as in the other trained
    runs or, if there are none, at the recorded steps.
    """
    if source.key == EXAMPLE_KEY:
        found = PRESETS[EXAMPLE].spec.runs()
    else:
        ids = list(source.runs) if source.sweep is None else None
        found = [config for (text,) in store.run_values(["config"], ids, source.sweep) if (config := _read(text))]
    restricted = [config for config in found if uses(config.method, "snap_every")]
    if not restricted:
        raise UsageError("None of these runs restricts its gradient, so these settings cannot be trained with them.")
    first = next((config for config in restricted if config.snap_every), restricted[0])
    probes = next((config.probe_every for config in restricted if not config.snap_every), first.snap_every)
    return first, sorted({config.seed for config in found if config.benchmark == first.benchmark}), probes


def _read(text: str) -> RunConfig | None:
    try:
        return RunConfig.model_validate_json(text)
    except ValidationError:  # stored by another version
        return None


def spec_with(store: Store, source: Source, recorded: RunConfig, trained: RunConfig, seeds: Sequence[int]) -> SweepSpec:
    """Return the sweep of the source with the trained config, or a new sweep of the recordings and the trained config."""
    if source.sweep is None:
        return SweepSpec(grid=[_grid(recorded, seeds), _grid(trained, seeds)])
    found = store.sweep(source.sweep)
    spec = SweepSpec.model_validate(found["spec"] if found else {})
    return spec.model_copy(update={"grid": [*spec.grids, _grid(trained, seeds)]})


def _grid(config: RunConfig, seeds: Sequence[int]) -> dict[str, list[Any]]:
    return {**{name: [value] for name, value in _fields(config).items()}, "seed": list(seeds)}


def _fields(config: RunConfig) -> dict[str, Any]:
    """Return the fields that matter, without the seed, as plain data."""
    return {name: value for name, value in json.loads(config.stored()).items() if name != "seed"}
