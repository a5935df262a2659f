"""What a form says → SweepSpec, and back; nothing here draws."""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from mgem_core import RunConfig
from mgem_core.config import explain
from mgem_core.figures.style import MODULES, family
from mgem_core.learners import FAMILIES, METHOD_OF_FAMILY, uses
from mgem_core.networks import NETWORKS, Layer, layers
from mgem_core.partition import Each
from mgem_core.partition import modules as partition
from mgem_core.streams import BENCHMARKS
from mgem_core.sweeps import SweepSpec

BASELINES = {family: method for family, method in METHOD_OF_FAMILY.items() if not uses(method, "strength")}
NUMBERS = ("tasks", "iterations", "batch_size", "memory", "lr", "probe_every")
LABELS = {name: str(RunConfig.model_fields[name].description).capitalize() for name in NUMBERS}
CHOICES = ("trigger", "split_by", "strength_kind")  # fields with a few named values
DEFAULTS: dict[str, Any] = {
    **{"benchmarks": ["mnist5k-permutations"], "network": "", "families": ["GEM"], "modules": [4], "splits": [2]},
    **{"own": "", "strengths": [0.0, 0.1, 0.5, 1.0], "seeds": [0, 1], "device": "auto"},
    **{"trigger": ["violation"], "split_by": ["random"], "strength_kind": ["dual-floor"]},
    **dict.fromkeys(NUMBERS),
}


def said(spec: SweepSpec) -> dict[str, Any]:
    """A sweep as values of the widgets."""
    runs = spec.runs()
    gem = [run for run in runs if uses(run.method, "strength")] or [RunConfig()]
    modular = [run for run in runs if uses(run.method, "modules")]
    counts = [run.modules for run in modular if isinstance(run.modules, int)]
    own = [run.modules for run in modular if isinstance(run.modules, dict)]
    asked = {name for part in (spec.base, *spec.grids) for name in part}
    first = runs[0]
    return {
        "benchmarks": _different(run.benchmark for run in runs),
        "network": first.network if "network" in asked else "",
        "families": [name for name in FAMILIES if name in {family(run.label) for run in runs}],
        "modules": sorted(set(counts) - {1}) or DEFAULTS["modules"],
        "splits": sorted({run.splits for run in gem} - {1}) or DEFAULTS["splits"],
        "own": ",".join(f"{name}={number}" for name, number in own[0].items()) if own else "",
        "strengths": sorted({run.strength for run in gem if isinstance(run.strength, float)}),
        "seeds": sorted({run.seed for run in runs}),
        **{name: _different(getattr(run, name) for run in gem) for name in CHOICES},
        **{name: getattr(first, name) if name in asked else None for name in NUMBERS},
        "device": first.device,
    }


def _different(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def spec_of(said: dict[str, Any]) -> SweepSpec:
    """The sweep that values of the widgets mean: a grid per family."""
    base = {name: said[name] for name in NUMBERS if said[name] is not None}
    base |= {"device": said["device"], **({"network": said["network"]} if said["network"] else {})}
    own = [said["own"]] if said["own"].strip() else []
    D, K = [n for n in said["modules"] if n > 1], [n for n in said["splits"] if n > 1]
    modular = {"p-mGEM", "md-GEM", "approx-GEM", *(name for name, method in BASELINES.items() if uses(method, "modules"))}
    alone = bool(own) and not modular & set(said["families"])  # nobody else would take it
    families = [*said["families"], "p-mGEM"] if alone else said["families"]
    grids: dict[str, dict[str, list[Any]]] = {
        "GEM": {"modules": [1], "splits": [1]},
        "p-mGEM": {"modules": own if alone else [*D, *own], "splits": [1]},
        "d-mGEM": {"modules": [1], "splits": K},
        "md-GEM": {"modules": [*D, *own], "splits": K},
        "approx-GEM": {"solver": ["approx"], "modules": [*said["modules"], *own] or [1], "splits": said["splits"] or [1]},
        **{
            name: {"method": [method], **({"modules": [1, *D, *own]} if name in modular else {})}
            for name, method in BASELINES.items()
        },
    }
    of_gem = {"strength": said["strengths"], **{name: said[name] for name in CHOICES}}
    chosen = [{**grids[name], **({} if name in BASELINES else of_gem)} for name in families]
    common = {"benchmark": said["benchmarks"], "seed": said["seeds"]}
    return SweepSpec(base=base, grid=[{**common, **grid} for grid in chosen])


def expanded(said: dict[str, Any]) -> tuple[str, list[RunConfig]]:
    """Why these values cannot be launched, in one sentence, or else the runs that they mean."""
    lack = _lack(said)
    return (lack, []) if lack else _runs(json.dumps(said))


@lru_cache(maxsize=32)
def _runs(said: str) -> tuple[str, list[RunConfig]]:
    try:
        return "", spec_of(json.loads(said)).runs()
    except ValidationError as error:
        field, sep, rest = explain(error).partition(" ")
        return LABELS.get(field, field) + sep + rest, []  # the field as it is called on the page


def _lack(said: dict[str, Any]) -> str:
    needed = {"benchmarks": "a benchmark", "families": "a method", "seeds": "a seed"}
    if said["own"].strip() or set(said["families"]) - set(BASELINES):
        needed |= {"strengths": "a memory strength", "trigger": "a trigger"}
        needed |= {"split_by": "a way to split the memory", "strength_kind": "a meaning of the strength"}
    for name, what in needed.items():
        if not said[name]:
            return f"Choose at least {what}."
    for name, families in (("modules", ("p-mGEM", "md-GEM")), ("splits", ("d-mGEM", "md-GEM"))):
        several = [n for n in said[name] if n > 1] or (name == "modules" and said["own"].strip())
        if not several and (needy := [family for family in families if family in said["families"]]):
            return f"{needy[0]} needs a number of {name} greater than 1; add one."
    for name in said["benchmarks"]:
        if sentence := BENCHMARKS[name].missing():
            return sentence
    return ""


def numbers(texts: list[Any], kind: type) -> list[Any]:
    """What people typed into a list of numbers; what is none is left out."""
    return sorted({kind(text) for text in texts if is_number(text, kind)})


def is_number(text: Any, kind: type) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def layers_to_train(network: str, benchmark: str) -> list[Layer]:
    """The layers of the network as it will be trained on a benchmark; none if it cannot take the benchmark's images."""
    about = BENCHMARKS[benchmark]
    return layers(network, about.shape, about.classes) if NETWORKS[network].fits(about.shape) else []


def bar(parts: list[Layer], modules: int | Each | dict[str, int], star: str = "") -> str:
    """A partition as HTML: a block per tensor, as wide as the square root of its parameters, so that biases can be seen."""
    tensors = [(name, size) for layer in parts for name, size in layer.tensors.items()]
    module_of = partition(parts, modules)
    count = max(module_of) + 1
    blocks = "".join(
        f'<span title="{name}: {size:,} parameters, module {module + 1}" style="flex:{size**0.5:.0f} 0 3px;height:16px;'
        f'background:{MODULES[module % len(MODULES)]};border-radius:2px"></span>'
        for (name, size), module in zip(tensors, module_of, strict=True)
    )
    about = f"{count} modules: " + ", ".join(f"{name} in {m + 1}" for (name, _), m in zip(tensors, module_of, strict=True))
    return (
        '<div style="display:flex;align-items:center;gap:8px">'
        f'<span style="width:2.2em;font-size:0.8rem">{count}{star}</span>'
        f'<div role="img" aria-label="{about}" style="display:flex;gap:2px;flex:1">{blocks}</div></div>'
    )
