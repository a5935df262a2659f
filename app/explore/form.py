"""Convert the values of the form into a SweepSpec, and back."""

from collections.abc import Iterable
from copy import deepcopy
from functools import lru_cache
from typing import Any

from explore.form_words import CHOICES, OPTIONS
from mgem_core import RunConfig
from mgem_core.config.number_lists import parse_seeds, parse_strengths, seeds_text, strengths_text
from mgem_core.config.recorded_runs import distinct, values_that_matter
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures.style import family
from mgem_core.learners import FAMILIES, METHOD_OF_FAMILY, METHODS, method_specific_fields, uses
from mgem_core.paper.presets import STRENGTHS
from mgem_core.restriction.restriction import CONVENTIONS

GEM = METHOD_OF_FAMILY["GEM"]
MAIN_FAMILIES = [*METHODS[GEM].families, "ER"]  # the form shows the others on request
TRAINING = ("tasks", "iterations", "batch_size", "memory", "lr", "validation")
MEASUREMENTS = (
    "probe_every",
    "probe_samples",
    "snap_every",
    "snap_splits",
)  # fields that decide what runs measure and record
NUMBERS = (*TRAINING, *MEASUREMENTS, *(name for name, kind in OPTIONS.items() if kind in (int, float)))
FRACTIONS = ("lr", "validation", *(name for name, kind in OPTIONS.items() if kind is float))  # need not be whole
CUSTOM_CONVENTION = "custom"
DEFAULTS: dict[str, Any] = {
    **{"benchmarks": ["mnist5k-permutations"], "network": "", "families": ["GEM"], "modules": [1, 4], "splits": [1, 2]},
    **{"domains": "", "partition": "", "strengths": strengths_text(STRENGTHS), "seeds": "0-3", "device": "auto"},
    **{name: [RunConfig.model_fields[name].default] for name in CHOICES},
    **dict.fromkeys(NUMBERS),
    "record": True,
}


def convention_of(values: dict[str, Any]) -> str:
    """Return the convention with the chosen values of its fields, or CUSTOM_CONVENTION if there is none."""
    same = (
        name
        for name, convention in CONVENTIONS.items()
        if all(values[field] == [value] for field, value in convention.fields.items())
    )
    return next(same, CUSTOM_CONVENTION)


def form_values(spec: SweepSpec) -> dict[str, Any]:
    """Return the form values that come closest to a sweep; its recordings follow from them."""
    return deepcopy(_form_values(spec.model_dump_json()))  # widgets may change them


@lru_cache(maxsize=64)
def _form_values(spec_as_json: str) -> dict[str, Any]:
    """Expand the sweep once for all sessions: thousands of runs take seconds."""
    spec = SweepSpec.model_validate_json(spec_as_json)
    runs = spec.without_recordings().runs()
    gem = [run for run in runs if uses(run.method, "strength")] or [RunConfig()]
    modular = [run for run in runs if uses(run.method, "modules")]
    partitions = [run.modules for run in modular if isinstance(run.modules, dict)]
    families = {family(run.label) for run in runs}
    given = {name for part in (spec.base, *spec.grids) for name in part}
    first = runs[0]
    return {
        "benchmarks": distinct(run.benchmark for run in runs),
        "network": first.network if "network" in given else "",
        "domains": ",".join(distinct(run.domains for run in runs if run.domains)),
        "families": [name for name in FAMILIES if name in families],
        "modules": _counts(modular, "modules", families),
        "splits": _counts(modular, "splits", families),
        "partition": ",".join(f"{name}={number}" for name, number in partitions[0].items()) if partitions else "",
        "strengths": strengths_text({run.strength for run in gem if isinstance(run.strength, float)}),
        "seeds": seeds_text({run.seed for run in runs}),
        **{name: values_that_matter(runs, name) or DEFAULTS[name] for name in CHOICES},
        **{name: next(iter(values_that_matter(runs, name)), None) if name in given else None for name in NUMBERS},
        "device": first.device,
        "record": spec.record is not None,
    }


def _counts(runs: list[RunConfig], name: str, families: set[str]) -> list[int]:
    """Return the numbers of modules or splits that the form needs for these runs; 1 only for methods that it adds."""
    counts = {count for run in runs if uses(run.method, name) and isinstance(count := getattr(run, name), int)}
    adds_one = {"GEM", "approx-GEM"} & families or any(run.method != GEM for run in runs)
    wanted = sorted(counts if adds_one else counts - {1})
    return wanted if max(wanted, default=1) > 1 or "approx-GEM" in families else DEFAULTS[name]


def build_spec(values: dict[str, Any]) -> SweepSpec:
    """Return the sweep that the form values describe, without recordings: a grid per family."""
    options = used_options(values["families"])
    base = {name: values[name] for name in NUMBERS if values[name] is not None and (name not in OPTIONS or name in options)}
    if not base.get("snap_every"):
        base.pop("snap_splits", None)  # the form then disables it, so it must not cause an error
    base |= {"device": values["device"], **({"network": values["network"]} if values["network"] else {})}
    grids = _grids(values)
    domains = [text for text in values["domains"].split(",") if text.strip()]
    common = {"benchmark": values["benchmarks"], **({"domains": domains} if domains else {})}
    common |= {"seed": parse_seeds(values["seeds"]), "strength": parse_strengths(values["strengths"])}
    common |= {name: values[name] for name in CHOICES}
    return SweepSpec(base=base, grid=[_used_fields({**common, **grid}, name) for name, grid in grids.items()])


def _grids(values: dict[str, Any]) -> dict[str, dict[str, list[Any]]]:
    """Return the grid over modules, splits and solver of each chosen family; one module and one split are GEM."""
    custom = [values["partition"].strip()] if values["partition"].strip() else []
    modules, splits = [*values["modules"], *custom], values["splits"]
    several, parts = [n for n in modules if n != 1], [n for n in splits if n > 1]
    only_custom = bool(custom) and not uses_count("modules", values["families"])  # no chosen family uses the partition
    grids: dict[str, dict[str, list[Any]]] = {
        "GEM": {"modules": [1], "splits": [1]},
        "p-mGEM": {"modules": custom if only_custom else modules, "splits": [1]},
        "d-mGEM": {"modules": [1], "splits": splits},
        "md-GEM": {"modules": several, "splits": parts},
        "approx-GEM": {"solver": ["approx"], "modules": modules or [1], "splits": splits or [1]},
    }
    for name, method in METHOD_OF_FAMILY.items():
        grids.setdefault(name, {"method": [method], "modules": modules or [1], "splits": splits or [1]})
    return {name: grids[name] for name in (*values["families"], *(["p-mGEM"] if only_custom else []))}


def uses_count(name: str, families: Iterable[str]) -> bool:
    """Return whether one of these families has a number of modules or splits that the user chooses."""
    of_gem = {"modules": {"p-mGEM", "md-GEM", "approx-GEM"}, "splits": {"d-mGEM", "md-GEM", "approx-GEM"}}[name]
    methods = {METHOD_OF_FAMILY[family] for family in families} - {GEM}
    return bool(of_gem & set(families)) or any(uses(method, name) for method in methods)


def used_fields(values: dict[str, Any]) -> set[str]:
    """Return the fields that matter to one of the chosen families, of those that only some methods use."""
    families = [*values["families"], *(["GEM"] if values["partition"].strip() else [])]
    return {name for name in method_specific_fields() for family in families if uses(METHOD_OF_FAMILY[family], name)}


def used_options(families: Iterable[str]) -> list[str]:
    """List the options of single methods that matter to one of these families."""
    return [name for name in OPTIONS if any(uses(METHOD_OF_FAMILY[family], name) for family in families)]


def _used_fields(grid: dict[str, list[Any]], family: str) -> dict[str, list[Any]]:
    """Return the grid without the fields that matter only to other methods."""
    others = {name for name in method_specific_fields() if not uses(METHOD_OF_FAMILY[family], name)}
    return {name: values for name, values in grid.items() if name not in others}
