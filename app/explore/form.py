"""Convert the values of the form into a SweepSpec, and back."""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, get_args

from pydantic import ValidationError

from mgem_core import RunConfig
from mgem_core.config import explain
from mgem_core.config.sweeps import SweepSpec, missing_data
from mgem_core.figures.style import family
from mgem_core.learners import FAMILIES, METHOD_OF_FAMILY, METHODS, method_specific_fields, uses
from mgem_core.networks import NETWORKS
from mgem_core.paper.presets import DIRECTION_ALONE, STRENGTHS
from mgem_core.streams import BENCHMARKS

MEASUREMENTS = ("probe_every", "snap_every", "snap_splits")  # fields that decide what runs measure and record
OPTIONS = {name: kind for method in METHODS.values() for name, (kind, _) in method.options.items()}  # of single methods
NUMBERS = (
    *("tasks", "iterations", "batch_size", "memory", "lr", "validation", *MEASUREMENTS),
    *(name for name, kind in OPTIONS.items() if kind in (int, float)),
)
FRACTIONS = ("lr", "validation", *(name for name, kind in OPTIONS.items() if kind is float))  # need not be whole
DESCRIPTIONS = {name: str(RunConfig.model_fields[name].description) for name in NUMBERS}
MEANINGS = {name: text[:1].upper() + text[1:] for name, text in DESCRIPTIONS.items()}
LABELS = {name: text.partition(";")[0] for name, text in MEANINGS.items()}
KNOBS = {  # a field that matters to some methods → its form value, and its name in sentences
    "strength": ("strengths", "memory strength"),
    "trigger": ("trigger", "trigger"),
    "step_length": ("step_length", "length of a step"),
    "strength_per": ("strength_per", "meaning of the strength per split"),
    "split_by": ("split_by", "way to split the memory"),
    "strength_kind": ("strength_kind", "meaning of the strength"),
    **{name: (name, f"value of {name}") for name in OPTIONS if name not in NUMBERS},
}
CHOICES = tuple(name for name in KNOBS if name != "strength")  # the fields with a few named values
RESTRICTIONS = {  # title of a button → the values that it sets
    "As in the paper": {"trigger": ["always"], "step_length": ["free"]},
    "As in GEM's code": {"trigger": ["violation"], "step_length": ["free"]},
}
DEFAULTS: dict[str, Any] = {
    **{"benchmarks": ["mnist5k-permutations"], "network": "", "families": ["GEM"], "modules": [4], "splits": [2]},
    **{"domains": "", "partition": "", "strengths": STRENGTHS, "seeds": [0, 1, 2, 3], "device": "auto"},
    **{name: [RunConfig.model_fields[name].default] for name in CHOICES},
    **{name: [value] for name, value in DIRECTION_ALONE.items()},  # like the presets
    **dict.fromkeys(NUMBERS),
}


def form_values(spec: SweepSpec) -> dict[str, Any]:
    """Return the form values that come closest to a sweep."""
    runs = spec.runs()
    gem = [run for run in runs if uses(run.method, "strength")] or [RunConfig()]
    modular = [run for run in runs if uses(run.method, "modules")]
    counts = [run.modules for run in modular if isinstance(run.modules, int)]
    partitions = [run.modules for run in modular if isinstance(run.modules, dict)]
    given = {name for part in (spec.base, *spec.grids) for name in part}
    first = runs[0]
    return {
        "benchmarks": _distinct(run.benchmark for run in runs),
        "network": first.network if "network" in given else "",
        "domains": ",".join(_distinct(run.domains for run in runs if run.domains)),
        "families": [name for name in FAMILIES if name in {family(run.label) for run in runs}],
        "modules": sorted(set(counts) - {1}) or DEFAULTS["modules"],
        "splits": sorted({run.splits for run in gem} - {1}) or DEFAULTS["splits"],
        "partition": ",".join(f"{name}={number}" for name, number in partitions[0].items()) if partitions else "",
        "strengths": sorted({run.strength for run in gem if isinstance(run.strength, float)}),
        "seeds": sorted({run.seed for run in runs}),
        **{name: _values_that_matter(runs, name) or DEFAULTS[name] for name in CHOICES},
        **{name: next(iter(_values_that_matter(runs, name)), None) if name in given else None for name in NUMBERS},
        "device": first.device,
    }


def _values_that_matter(runs: list[RunConfig], name: str) -> list[Any]:
    """Return the values of a field in the runs to which it matters; all other runs have its default."""
    return _distinct(getattr(run, name) for run in runs if name in run.relevant_fields())


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def build_spec(values: dict[str, Any]) -> SweepSpec:
    """Return the sweep that the form values describe: a grid per family."""
    options = used_options(values["families"])
    base = {name: values[name] for name in NUMBERS if values[name] is not None and (name not in OPTIONS or name in options)}
    if not base.get("snap_every"):
        base.pop("snap_splits", None)  # the form then disables it, so it must not cause an error
    base |= {"device": values["device"], **({"network": values["network"]} if values["network"] else {})}
    custom = [values["partition"]] if values["partition"].strip() else []
    D, K = [n for n in values["modules"] if n > 1], [n for n in values["splits"] if n > 1]
    others = {family: method for family, method in METHOD_OF_FAMILY.items() if method != METHOD_OF_FAMILY["GEM"]}
    modular = {"p-mGEM", "md-GEM", "approx-GEM", *(name for name, method in others.items() if uses(method, "modules"))}
    only_custom = bool(custom) and not modular & set(values["families"])  # no chosen family uses the partition
    families = [*values["families"], "p-mGEM"] if only_custom else values["families"]
    grids: dict[str, dict[str, list[Any]]] = {
        "GEM": {"modules": [1], "splits": [1]},
        "p-mGEM": {"modules": custom if only_custom else [*D, *custom], "splits": [1]},
        "d-mGEM": {"modules": [1], "splits": K},
        "md-GEM": {"modules": [*D, *custom], "splits": K},
        "approx-GEM": {
            **{"solver": ["approx"], "modules": [*values["modules"], *custom] or [1]},
            "splits": values["splits"] or [1],
        },
        **{name: {"method": [method], "modules": [1, *D, *custom], "splits": [1, *K]} for name, method in others.items()},
    }
    domains = [text for text in values["domains"].split(",") if text.strip()]
    common = {"benchmark": values["benchmarks"], **({"domains": domains} if domains else {}), "seed": values["seeds"]}
    knobs = {name: values[value] for name, (value, _) in KNOBS.items()}
    chosen = [{**common, **grids[name], **knobs} for name in families]
    return SweepSpec(base=base, grid=[_used_fields(grid, name) for grid, name in zip(chosen, families, strict=True)])


def used_options(families: Iterable[str]) -> list[str]:
    """List the options of single methods that matter to one of these families."""
    return [name for name in OPTIONS if any(uses(METHOD_OF_FAMILY[family], name) for family in families)]


def _used_fields(grid: dict[str, list[Any]], family: str) -> dict[str, list[Any]]:
    """Return the grid without the fields that matter only to other methods."""
    others = {name for name in method_specific_fields() if not uses(METHOD_OF_FAMILY[family], name)}
    return {name: values for name, values in grid.items() if name not in others}


def expand_form(values: dict[str, Any], preset: SweepSpec | None = None) -> tuple[str, list[RunConfig]]:
    """Return the problem that prevents the launch of these values (or this preset), or "" and their runs."""
    if preset is None and (problem := _find_missing(values)):
        return problem, []
    problem, runs = _expand(json.dumps(values)) if preset is None else ("", preset.runs())
    problem = problem or missing_data(runs)
    return problem, [] if problem else runs


@lru_cache(maxsize=32)
def _expand(values: str) -> tuple[str, list[RunConfig]]:
    try:
        return "", build_spec(json.loads(values)).runs()
    except ValidationError as error:
        field, space, rest = explain(error).partition(" ")
        return LABELS.get(field, field) + space + rest, []  # the page shows the label of a field


def _find_missing(values: dict[str, Any]) -> str:
    """Return a sentence that names what is still to be chosen; empty if the form is complete."""
    needed = {"benchmarks": "benchmark", "families": "method", "seeds": "seed"}
    has_partition = bool(values["partition"].strip())
    methods = {METHOD_OF_FAMILY[family] for family in (*values["families"], *(["GEM"] if has_partition else []))}
    needed |= dict(KNOBS[name] for name in KNOBS if any(uses(method, name) for method in methods))
    for name, noun in needed.items():
        if not values[name]:
            return f"Choose at least one {noun}."
    for name, families in (("modules", ("p-mGEM", "md-GEM")), ("splits", ("d-mGEM", "md-GEM"))):
        has_parts = any(n > 1 for n in values[name]) or (name == "modules" and has_partition)
        if not has_parts and (affected := [family for family in families if family in values["families"]]):
            return f"{affected[0]} needs a number of {name} greater than 1; add one."
    return ""


def offered_values(text: str) -> dict[str, Any]:
    """Read form values from JSON that a browser stored, without values that this version does not offer."""
    return {name: value for name, value in _stored_values(text).items() if name in DEFAULTS and _is_offered(name, value)}


def remembered_preset(text: str) -> str:
    """Read the preset from JSON that a browser stored; empty if there is none."""
    name = _stored_values(text).get("preset")
    return name if isinstance(name, str) else ""


def _stored_values(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _is_offered(name: str, value: Any) -> bool:
    choices: dict[str, Any] = {name: get_args(RunConfig.model_fields[name].annotation) for name in CHOICES}
    choices |= {"benchmarks": BENCHMARKS, "families": FAMILIES}
    if name in choices:
        return isinstance(value, list) and set(map(str, value)) <= set(choices[name])
    if name in ("modules", "splits", "seeds", "strengths"):
        kinds = (int, float) if name == "strengths" else (int,)
        return isinstance(value, list) and all(type(one) in kinds for one in value)
    if name in NUMBERS:
        return value is None or (type(value) in ((int, float) if name in FRACTIONS else (int,)) and value >= 0)
    return isinstance(value, str) and (name != "network" or value in ("", *NETWORKS))


def parse_numbers(texts: list[Any], kind: type) -> list[Any]:
    """Return the numbers in a list into which users can type, sorted; other texts are left out."""
    return sorted({kind(text) for text in texts if is_number(text, kind)})


def is_number(text: Any, kind: type) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True
