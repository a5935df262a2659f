"""The sources that the workbench can show: sweeps, recorded configurations that belong to no sweep, and the example."""

import json
from dataclasses import dataclass
from typing import Any

from mgem_core.config.sweeps import configuration_of
from mgem_core.store import Store
from mgem_core.text import pluralize

EXAMPLE_KEY = "example"


@dataclass(frozen=True)
class Source:
    key: str  # in the URL
    title: str
    sweep: int | None = None
    runs: tuple[int, ...] = ()  # of a recorded configuration that belongs to no sweep; older runs of a seed included


def sweep_sources(sweeps: dict[int, dict[str, Any]]) -> list[Source]:
    """Return a source per sweep, given all sweeps by id (`session.read_sweeps`)."""
    return [
        Source(f"s{sweep}", f"{row['name']} · s{sweep} · {pluralize(row['runs'], 'run')}", sweep)
        for sweep, row in sweeps.items()
    ]


def recorded_sources(store: Store) -> list[Source]:
    """Return the recorded configurations none of whose runs belongs to a sweep, the newest first."""
    members: dict[str, list[dict[str, Any]]] = {}
    for record in store.run_records(store.runs_with_snapshots_outside_sweeps()):
        members.setdefault(configuration_of(json.dumps(record["config"])), []).append(record)
    sources = [_recorded_source(records) for records in members.values()]
    return sorted(sources, key=lambda source: -max(source.runs))


def _recorded_source(records: list[dict[str, Any]]) -> Source:
    runs, config = [record["id"] for record in records], records[0]["config"]
    names = f"r{runs[0]}" if len(runs) == 1 else f"r{min(runs)} … r{max(runs)}"
    what = f"{records[0]['label']} with strength {config.get('strength')} on {config['benchmark']}"
    seeds = len({record["config"]["seed"] for record in records})
    return Source(f"r{runs[0]}", f"{what}, {pluralize(seeds, 'seed')} ({names})", runs=tuple(runs))


def find_source(store: Store, key: str) -> Source | None:
    """Return the source with this key, s4 or r12; None if the store has none."""
    number = int(key[1:])
    if key.startswith("s"):
        found = store.sweep(number)
        runs = len(store.run_ids(number)) if found else 0
        return next(iter(sweep_sources({number: {**found, "runs": runs}})), None) if found else None
    return next((source for source in recorded_sources(store) if number in source.runs), None)


def key_of_run(store: Store, run: int) -> str:
    """Return the key of the newest sweep that a run belongs to, else of its recorded configuration, else an empty text."""
    if sweeps := store.sweeps_of([run]):
        return f"s{max(sweeps)}"
    source = find_source(store, f"r{run}")
    return source.key if source else ""
