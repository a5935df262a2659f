"""Find trained runs for the lens: equal to the recorded runs except for the fields that can be chosen in the lens."""

import json
from collections.abc import Mapping, MutableMapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

from pydantic import ValidationError

from lens.sources import Source
from mgem_core.config import RunConfig
from mgem_core.config.sweeps import configuration_of
from mgem_core.store import ENDED, Store

CHOSEN = ("modules", "splits", "strength", "solver", "trigger")  # fields that can be chosen in the lens
# Measurements do not change what a run learns, so these fields are set to fixed values before comparing.
MEASURED = {"probe_every": 1, "snap_every": 0, "snap_splits": 0}
MOST_NUMBERS = 300_000  # the largest number of values that is sent, newest configurations first; about 3 MB as text
Probes = list[dict[str, Any]]


def trained_as(store: Store, source: Source, known: MutableMapping[Any, Probes]) -> dict[str, Any]:
    """Return the data for the lens: configurations, the newest first, with their settings and a run per recorded seed.

    A run has its status and, if it has finished, its probes, which `known` caches between calls. `left_out` is the
    number of older configurations that are not read, because the newer ones reach MOST_NUMBERS.
    """
    runs = _matching_runs(store, source)
    newest = sorted(runs, key=lambda one: -max(run for by_seed in runs[one].values() for run, *_ in by_seed))
    found: list[dict[str, Any]] = []
    numbers = left_out = 0
    for place, configuration in enumerate(newest):
        if numbers >= MOST_NUMBERS:
            left_out = len(newest) - place
            break
        _read_probes(store, [one for by_seed in runs[configuration].values() for one in by_seed], known)
        members = [_choose_run(seed, by_seed, known) for seed, by_seed in sorted(runs[configuration].items())]
        members = [one for one in members if one["status"] != "finished" or one["tasks"]]
        if not members:  # no run has probes
            continue
        numbers += sum(len(row) for one in members for part in one["tasks"] for row in part["values"])
        found.append({**_settings(configuration), "runs": members})
    return {"source": source.key, "configurations": found, "left_out": left_out}


def _matching_runs(store: Store, source: Source) -> dict[str, dict[int, list[tuple[Any, ...]]]]:
    """Return configuration → seed → (id, status, identity) of each run."""
    recorded = json.dumps(source.config, sort_keys=True)
    runs: dict[str, dict[int, list[tuple[Any, ...]]]] = {}
    wanted = source.config["benchmark"], source.config["tasks"]
    columns = ("id", "status", "created", "ended", "benchmark", "tasks", "seed", "config")
    for run, status, created, ended, benchmark, tasks, seed, text in store.run_values(columns):
        if (benchmark, tasks) != wanted or seed not in source.seeds:
            continue
        if configuration := _as_recorded(recorded, configuration_of(text)):
            runs.setdefault(configuration, {}).setdefault(seed, []).append((run, status, (run, created, ended)))
    return runs


def is_training(trained: Mapping[str, Any]) -> bool:
    return any(run["status"] not in ENDED for one in trained["configurations"] for run in one["runs"])


@lru_cache(maxsize=20_000)
def _as_recorded(recorded: str, configuration: str) -> str | None:
    """Return the configuration without its measurements, if it differs from the recorded one only in fields of the lens.

    Runs count only if they are probed at all recorded steps, because means over different steps cannot be compared.
    """
    trained_fields, recorded_fields = json.loads(configuration), json.loads(recorded)
    probe_every = trained_fields.get("probe_every")
    if not probe_every or recorded_fields["snap_every"] % probe_every:
        return None
    try:
        trained = RunConfig.model_validate({**trained_fields, **MEASURED, "device": _device(trained_fields)})
        chosen = {name: getattr(trained, name) for name in CHOSEN}
        other = RunConfig.model_validate({**recorded_fields, **MEASURED, "device": _device(recorded_fields), **chosen})
    except ValidationError:  # stored by another version, or settings that the recorded run cannot have
        return None
    if isinstance(trained.strength, tuple):  # the lens has one strength for all past tasks
        return None
    text = configuration_of(trained.stored())
    return text if configuration_of(other.stored()) == text else None


def _device(fields: Mapping[str, Any]) -> str:
    """Return one device for all runs of a precision."""
    return "cuda" if fields.get("precision") == "bf16" else "cpu"


def _settings(configuration: str) -> dict[str, Any]:
    """Return the settings that the lens compares with its choices; null for a trigger that does not matter."""
    config = RunConfig.model_validate_json(configuration)
    trigger = config.trigger if "trigger" in config.relevant_fields() else None
    return {
        "name": f"{config.label}, strength {config.strength:g}",
        "moduleOf": list(config.module_of),
        **{"splits": config.splits, "strength": config.strength, "solver": config.solver, "trigger": trigger},
    }


def _choose_run(seed: int, runs: Sequence[tuple[Any, ...]], known: Mapping[Any, Probes]) -> dict[str, Any]:
    """Choose among runs of one seed: finished with probes first, then still training, then any; the newest of these."""

    def rank(one: tuple[Any, ...]) -> tuple[bool, bool, int]:
        run, status, identity = one
        return bool(known.get(identity)), status not in ENDED, run

    _, status, identity = max(runs, key=rank)
    return {"seed": seed, "status": status, "tasks": known.get(identity, [])}


def _read_probes(store: Store, runs: Sequence[tuple[Any, ...]], known: MutableMapping[Any, Probes]) -> None:
    """Add the probes of finished runs by task and step: all ⟨g_s,z⟩, ⟨g_t,z⟩, ‖z‖, all ‖g_s‖, ‖g_t‖."""
    new = {run: identity for run, status, identity in runs if status == "finished" and identity not in known}
    tasks: dict[int, dict[int, dict[str, Any]]] = {run: {} for run in new}
    for run, _, probed in store.events(list(new), ["Probed"]) if new else ():
        if "batch_z" not in probed:  # an older version measured ⟨g_t,z⟩ only on the batch
            continue
        row = [*probed["gs_z"], probed["gt_z"], probed["norm_z"], *probed["norm_gs"], probed["norm_gt"]]
        if all(value is not None and isfinite(value) for value in row):
            part = tasks[run].setdefault(probed["task"], {"task": probed["task"], "steps": [], "values": []})
            part["steps"].append(probed["step"])
            part["values"].append([float(f"{value:.7g}") for value in row])
    known.update({identity: list(tasks[run].values()) for run, identity in new.items()})
