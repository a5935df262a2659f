"""The sources that the lens can show: recorded runs of the store, grouped by configuration, and the example."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lens.example_runs import SPEC
from mgem_core import UsageError
from mgem_core.config.sweeps import SweepSpec, configuration_of
from mgem_core.networks._layer import Layer
from mgem_core.restriction import partition
from mgem_core.store import Store
from mgem_core.text import pluralize


@dataclass(frozen=True)
class Source:
    """Runs of one configuration that differ only in their seeds."""

    key: str  # in the URL
    title: str
    config: dict[str, Any]  # without the seed
    seeds: tuple[int, ...]
    runs: tuple[int, ...] = ()  # ids in the store; none for the example
    replaced: tuple[int, ...] = ()  # older runs of this configuration whose seeds were trained again

    def spec(self, settings: dict[str, Any]) -> SweepSpec:
        """Return the sweep that trains these settings of the lens with the recorded seeds.

        It takes probes at the steps at which the recorded runs took snapshots: the probes measure what the lens predicts.
        """
        measured = {"probe_every": self.config["snap_every"], "snap_every": 0, "snap_splits": 0}
        return SweepSpec(base={**self.config, **settings, **measured}, grid={"seed": list(self.seeds)})


def example() -> Source:
    config = SPEC.runs()[0]
    seeds = pluralize(len(SPEC.runs()), "seed")
    title = f"Example: {config.label} with strength {config.strength} on rotated digits, {seeds}"
    return Source("example", title, dict(SPEC.base), tuple(one.seed for one in SPEC.runs()))


def recorded_sources(store: Store) -> list[Source]:
    """Return the configurations with recorded runs, the newest first, each with the newest run of every seed."""
    groups: dict[str, dict[int, dict[str, Any]]] = {}
    members: dict[str, list[int]] = {}
    for record in store.run_records(store.runs_with_snapshots()):
        configuration = configuration_of(json.dumps(record["config"]))
        groups.setdefault(configuration, {})[record["config"]["seed"]] = record
        members.setdefault(configuration, []).append(record["id"])
    found = []
    for configuration, by_seed in groups.items():
        records = [by_seed[seed] for seed in sorted(by_seed)]
        config = {name: value for name, value in records[0]["config"].items() if name != "seed"}
        runs = tuple(record["id"] for record in records)
        names = f"r{runs[0]}" if len(runs) == 1 else f"r{min(runs)} … r{max(runs)}"
        what = f"{records[0]['label']} with strength {config.get('strength')} on {config['benchmark']}"
        title = f"{what}, {pluralize(len(runs), 'seed')} ({names})"
        replaced = tuple(run for run in members[configuration] if run not in runs)
        found.append(Source(f"r{runs[0]}", title, config, tuple(sorted(by_seed)), runs, replaced))
    return sorted(found, key=lambda source: -max(source.runs))


def train_settings(layers: Sequence[Layer], wanted: dict[str, Any]) -> dict[str, Any]:
    """Convert the settings chosen in the lens to fields of RunConfig."""
    try:
        module_of = tuple(int(d) for d in wanted["moduleOf"])
        modules = partition.simplest_modules(layers, module_of)
        return {"modules": modules, **{name: wanted[name] for name in ("splits", "strength", "solver", "trigger")}}
    except (KeyError, TypeError, ValueError):
        raise UsageError("The lens sent settings that cannot be read; reload the page.") from None
