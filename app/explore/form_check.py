"""Check the values of the form: find what prevents a launch and at which value, or return the runs."""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, get_args

from pydantic import ValidationError

from explore.form import CHOICES, DEFAULTS, FRACTIONS, NUMBERS, build_spec, used_fields
from explore.form_words import explain_on_page, label
from mgem_core import RunConfig
from mgem_core.config import explain
from mgem_core.config.number_lists import parse_seeds, parse_strengths
from mgem_core.config.sweeps import SweepSpec, missing_data
from mgem_core.learners import FAMILIES
from mgem_core.networks import NETWORKS
from mgem_core.streams import BENCHMARKS

Problems = dict[str, str]  # form value → a message that begins with its label
PARSERS: dict[str, Callable[[str], list[Any]]] = {"strengths": parse_strengths, "seeds": parse_seeds}
EXAMPLES = {"strengths": "0, 0.1, 1", "seeds": "0-5"}


def expand_form(values: dict[str, Any], preset: SweepSpec | None = None) -> tuple[Problems, list[RunConfig]]:
    """Return the problems that prevent the launch of these values (or this preset), and if there are none, the runs."""
    if preset is None and (problems := find_incomplete(values)):
        return problems, []
    problems, runs = _expand(json.dumps(values), preset and preset.model_dump_json())
    if not problems and (missing := missing_data(runs)):
        problems = {"benchmarks": f"{label('benchmarks')}: {missing}"}
    return problems, [] if problems else runs


@lru_cache(maxsize=32)
def _expand(values_text: str, preset: str | None) -> tuple[Problems, list[RunConfig]]:
    values = json.loads(values_text)
    try:
        return {}, launched_spec(values, SweepSpec.model_validate_json(preset) if preset else None).runs()
    except ValidationError as error:
        return dict([explain_on_page(explain(error), values)]), []


def launched_spec(values: dict[str, Any], preset: SweepSpec | None = None) -> SweepSpec:
    """Return the sweep of these values, or this preset, with the default recordings if they are wanted."""
    spec = preset or build_spec(values)
    if not values["record"]:
        return spec.model_copy(update={"record": None})
    return spec if spec.record else spec.with_default_record()


def find_incomplete(values: dict[str, Any]) -> Problems:
    """Find values that are missing or cannot be read."""
    used = used_fields(values)
    problems = {name: "choose at least one" for name in ("benchmarks", "families") if not values[name]}
    for name, parse in PARSERS.items():
        if name == "seeds" or "strength" in used:
            try:
                is_empty = not parse(values[name])
            except ValueError as error:
                problems[name] = f"{error}"
            else:
                problems |= {name: f"give at least one, for example {EXAMPLES[name]}"} if is_empty else {}
    problems |= {name: "choose at least one" for name in CHOICES if name in used and not values[name]}
    for name, families in (("modules", ("p-mGEM", "md-GEM")), ("splits", ("d-mGEM", "md-GEM"))):
        has_parts = any(n > 1 for n in values[name]) or (name == "modules" and values["partition"].strip())
        if not has_parts and (affected := [family for family in families if family in values["families"]]):
            problems[name] = f"{affected[0]} needs a number above 1"
    return {name: f"{label(name)}: {message}." for name, message in problems.items()}


# Values that a browser stored


def offered_values(text: str) -> dict[str, Any]:
    """Read form values from JSON that a browser stored, without values that this version does not offer."""
    return {name: value for name, value in _stored_values(text).items() if name in DEFAULTS and _is_offered(name, value)}


def remembered_text(text: str, name: str) -> str:
    """Read a text such as the preset from JSON that a browser stored; empty if there is none."""
    value = _stored_values(text).get(name)
    return value if isinstance(value, str) else ""


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
    if name in ("modules", "splits"):
        return isinstance(value, list) and all(type(one) is int and one > 0 for one in value)
    if name in NUMBERS:
        return value is None or (type(value) in ((int, float) if name in FRACTIONS else (int,)) and value >= 0)
    if name == "record":
        return type(value) is bool
    return isinstance(value, str) and (name != "network" or value in ("", *NETWORKS))
