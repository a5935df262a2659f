"""The runs that are selected on the page Runs, and their settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from session import LARGEST_ID

from mgem_core import RunConfig
from mgem_core.config.sweeps import SweepSpec
from mgem_core.learners import method_specific_fields, uses
from mgem_core.store import Store
from mgem_core.text import MISSING, strength
from runs.run_list import Row, strength_of


def load_runs(store: Store, ids: Sequence[int]) -> list[Row]:
    """Return the runs with these ids that exist, in this order; `config` has only the fields relevant to each."""
    wanted = list(dict.fromkeys(run for run in ids if run <= LARGEST_ID))
    records = store.run_records(wanted) if wanted else []
    found = {run["id"]: {**run["config"], **run, "config": relevant_fields(run["config"])} for run in records}
    return [found[run] for run in wanted if run in found]


def relevant_fields(config: Row) -> Row:
    """Return a config without the fields of other methods."""
    irrelevant = {name for name in method_specific_fields() if not uses(config["method"], name)}
    return {name: value for name, value in config.items() if name not in irrelevant}


def run_names(runs: Sequence[Row]) -> list[str]:
    """Return a short name per run: its id and label, with strength and seed if the runs differ in them."""
    details = [{"q = ": strength(strength_of(run)), "seed ": str(run["seed"])} for run in runs]
    differing = [prefix for prefix in details[0] if len({one[prefix] for one in details}) > 1] if runs else []
    return [
        ", ".join([f"r{run['id']} {run['label']}", *(p + one[p] for p in differing if one[p] != MISSING)])
        for run, one in zip(runs, details, strict=True)
    ]


def default_values(config: Mapping[str, Any]) -> Row:
    """Return the defaults for the benchmark and method of a config; empty if this version does not know them."""
    try:
        return RunConfig(benchmark=config["benchmark"], method=config["method"]).model_dump(mode="json")
    except (ValidationError, KeyError):
        return {}


def non_default_fields(config: Mapping[str, Any]) -> list[str]:
    defaults = default_values(config)
    return [name for name, value in config.items() if name not in defaults or value != defaults[name]]


def format_value(value: Any) -> str:
    """Format the value of a field in words."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {number}" for name, number in value.items())
    if isinstance(value, list | tuple | float):
        return strength(value)
    return MISSING if value is None else str(value)


def spec_of_runs(runs: Sequence[Row]) -> SweepSpec:
    """Return a sweep of exactly these runs, with only the fields that are not the default."""
    names = ("benchmark", "method", "seed")
    configs = [{name: run["config"][name] for name in (*names, *non_default_fields(run["config"]))} for run in runs]
    return SweepSpec(grid=[{name: [value] for name, value in config.items()} for config in configs])


def unrepresentable_fields(spec: SweepSpec, from_form: SweepSpec) -> list[str]:
    """Return the fields of a sweep that the form cannot express; `from_form` is the sweep that the form gives.

    Only the first run that the form does not describe is considered.
    """
    described = dict.fromkeys(from_form.runs())
    for config in spec.runs():
        if config not in described:
            return min((_differing_fields(config, other) for other in described), key=len, default=["all settings"])
    return []


def _differing_fields(one: RunConfig, other: RunConfig) -> list[str]:
    return [name for name in RunConfig.model_fields if getattr(one, name) != getattr(other, name)]
