"""Widgets → SweepSpec, and back: what to run."""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import streamlit as st
from pydantic import ValidationError

from mgem_core import RunConfig
from mgem_core.config import explain
from mgem_core.figures.style import MODULES, STYLE, family
from mgem_core.models import NETWORKS, layers
from mgem_core.partition import modules as partition
from mgem_core.presets import PRESETS
from mgem_core.streams import BENCHMARKS
from mgem_core.sweeps import SweepSpec

FAMILIES = list(STYLE)
BASELINES = ("EWC", "MER", "Single", "Independent")
TITLES = {
    "quick-look": "Quick look",
    "modules-against-strength": "Modules against strength",
    "built-in-digits": "Everything on built-in digits",
}
OWN = "Your own"
NUMBERS = ("tasks", "iterations", "batch_size", "memory", "lr", "probe_every")
CHOICES = ("trigger", "split_by", "strength_kind")  # fields with a few named values
DEFAULTS: dict[str, Any] = {
    **{"benchmarks": ["mnist5k-permutations"], "network": "", "families": ["GEM"], "modules": [4], "splits": [2]},
    **{"own": "", "strengths": [0.0, 0.1, 0.5, 1.0], "seeds": [0, 1], "device": "auto"},
    **{"trigger": ["violation"], "split_by": ["random"], "strength_kind": ["dual-floor"]},
    **dict.fromkeys(NUMBERS),
}


def key(name: str) -> str:
    return f"run {name}"


def form() -> dict[str, Any]:
    """What the widgets say."""
    said = {name: st.session_state.get(key(name), value) for name, value in DEFAULTS.items()}
    return {**said, "strengths": numbers(said["strengths"], float), "seeds": numbers(said["seeds"], int)}


def fill(spec: SweepSpec) -> None:
    """Set the widgets to a sweep, as well as they can say it."""
    st.session_state.update({key(name): value for name, value in said(spec).items()})


def said(spec: SweepSpec) -> dict[str, Any]:
    """A sweep as values of the widgets."""
    runs = spec.runs()
    gem = [run for run in runs if run.method == "gem"] or [RunConfig()]
    counts = [run.modules for run in gem if isinstance(run.modules, int)]
    own = [run.modules for run in gem if not isinstance(run.modules, int)]
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
    alone = bool(own) and not {"p-mGEM", "md-GEM", "approx-GEM"} & set(said["families"])  # nobody else would take it
    families = [*said["families"], "p-mGEM"] if alone else said["families"]
    grids: dict[str, dict[str, list[Any]]] = {
        "GEM": {"modules": [1], "splits": [1]},
        "p-mGEM": {"modules": own if alone else [*D, *own], "splits": [1]},
        "d-mGEM": {"modules": [1], "splits": K},
        "md-GEM": {"modules": [*D, *own], "splits": K},
        "approx-GEM": {"solver": ["approx"], "modules": [*said["modules"], *own] or [1], "splits": said["splits"] or [1]},
        **{name: {"method": [name.lower()]} for name in BASELINES},
    }
    common = {"strength": said["strengths"], **{name: said[name] for name in CHOICES}, "seed": said["seeds"]}
    chosen = [
        {"benchmark": said["benchmarks"], **grids[name], **({} if name in BASELINES else common)} for name in families
    ]
    for grid in chosen:
        grid["seed"] = said["seeds"]
    return SweepSpec(base=base, grid=chosen)


def expanded(said: dict[str, Any]) -> tuple[str, list[RunConfig]]:
    """Why these values cannot be launched, in one sentence, or else the runs that they mean."""
    lack = _lack(said)
    return (lack, []) if lack else _runs(json.dumps(said))


@lru_cache(maxsize=32)
def _runs(said: str) -> tuple[str, list[RunConfig]]:
    try:
        return "", spec_of(json.loads(said)).runs()
    except ValidationError as error:
        return explain(error), []


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
    return sorted({kind(text) for text in texts if _is(text, kind)})


def panel() -> tuple[dict[str, Any], Any]:
    """All widgets, the presets first; what they say, and a place below the presets for what it comes to."""
    for name, value in DEFAULTS.items():
        st.session_state.setdefault(key(name), value)
    for name, kind in (("strengths", float), ("seeds", int)):  # what was typed is text until here
        for text in (text for text in st.session_state[key(name)] if not _is(text, kind)):
            st.toast(f"{text!r} is no {'whole ' if kind is int else ''}number.")
        st.session_state[key(name)] = numbers(st.session_state[key(name)], kind)
    st.selectbox(
        "Start from",
        [*TITLES, OWN],
        format_func=lambda name: TITLES.get(name, name),
        key="preset",
        persist_state="session",
        on_change=_preset,
    )
    if "preset filled" not in st.session_state:
        _preset()
    if st.session_state["preset"] in PRESETS:
        st.caption(PRESETS[st.session_state["preset"]][0])
    summary = st.container()
    own: dict[str, Any] = {"on_change": _own, "persist_state": "session"}
    st.multiselect(
        "Benchmark", list(BENCHMARKS), format_func=_title, key=key("benchmarks"), placeholder="Choose a benchmark", **own
    )
    st.pills("Methods", FAMILIES, selection_mode="multi", key=key("families"), **own)
    network = _network()
    most = sum(len(layer.tensors) for layer in layers(network, 10))
    st.pills(
        "Module counts",
        sorted({*range(2, min(most, 9) + 1), *st.session_state[key("modules")]}),
        selection_mode="multi",
        key=key("modules"),
        help="Parameter modules D of p-mGEM, md-GEM and approx-GEM",
        **own,
    )
    _partitions(network)
    st.pills(
        "Split counts",
        sorted({2, 3, 4, 6, *st.session_state[key("splits")]}),
        selection_mode="multi",
        key=key("splits"),
        help="Parts K of each task's memory, for d-mGEM, md-GEM and approx-GEM",
        **own,
    )
    st.multiselect(
        "Memory strengths",
        sorted({0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, *st.session_state[key("strengths")]}),
        key=key("strengths"),
        accept_new_options=True,
        format_func=lambda q: f"{float(q):g}" if _is(q, float) else str(q),
        help="Memory strengths q; type others",
        **own,
    )
    st.multiselect(
        "Seeds",
        sorted({0, 1, 2, 3, 4, *st.session_state[key("seeds")]}),
        key=key("seeds"),
        accept_new_options=True,
        help="One run for each; means and errors are over them",
        **own,
    )
    with st.expander("More"):
        _more(own)
    return form(), summary


def _is(text: Any, kind: type) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def _preset() -> None:
    st.session_state["preset filled"] = True
    if st.session_state["preset"] in PRESETS:
        fill(PRESETS[st.session_state["preset"]][1])


def _own() -> None:
    st.session_state["preset"] = OWN


def _title(name: str) -> str:
    return BENCHMARKS[name].title


def _network() -> str:
    chosen = st.session_state[key("benchmarks")] or DEFAULTS["benchmarks"]
    return str(st.session_state[key("network")] or BENCHMARKS[chosen[0]].defaults["network"])


def _partitions(network: str) -> None:
    """The network's layers as a bar of blocks, coloured by module: one bar for each partition."""
    most = sum(len(layer.tensors) for layer in layers(network, 10))
    bars = [bar(network, count) for count in sorted(st.session_state[key("modules")]) if count <= most]
    st.html('<div style="display:grid;gap:6px">' + "".join(bars) + "</div>")
    st.text_input(
        "Own partition",
        key=key("own"),
        placeholder=",".join(f"{layer.name}={i}" for i, layer in enumerate(layers(network, 10))),
        help="A module number for every layer or tensor",
        on_change=_own,
        persist_state="session",
    )
    if own := st.session_state[key("own")].strip():
        try:
            st.html(bar(network, RunConfig(network=network, modules=own).modules, "*"))
        except ValidationError as error:
            st.error(explain(error))


def bar(network: str, modules: int | dict[str, int], star: str = "") -> str:
    """A partition as HTML: a block per tensor, as wide as the square root of its parameters, so that biases can be seen."""
    tensors = [(name, size) for layer in layers(network, 10) for name, size in layer.tensors.items()]
    module_of = partition(layers(network, 10), modules)
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


def _more(own: dict[str, Any]) -> None:
    chosen = st.session_state[key("benchmarks")] or DEFAULTS["benchmarks"]
    defaults = dict(RunConfig(benchmark=chosen[0]))
    st.selectbox(
        "Network", ["", *NETWORKS], key=key("network"), format_func=lambda name: name or "the benchmark's own", **own
    )
    columns = st.columns(2)
    for number, name in enumerate(NUMBERS):
        with columns[number % 2]:
            small = {"min_value": 0.0, "step": 0.01, "format": "%g"} if name == "lr" else {"min_value": 0, "step": 1}
            st.number_input(
                str(RunConfig.model_fields[name].description).capitalize(),
                key=key(name),
                placeholder=f"{defaults[name]:g}",
                **small,
                **own,
            )
    st.pills(
        "Trigger",
        ["violation", "always"],
        selection_mode="multi",
        key=key("trigger"),
        help=RunConfig.model_fields["trigger"].description,
        **own,
    )
    st.pills("Memory is split", ["random", "class", "order"], selection_mode="multi", key=key("split_by"), **own)
    st.pills(
        "Strength means",
        ["dual-floor", "margin"],
        selection_mode="multi",
        key=key("strength_kind"),
        help=RunConfig.model_fields["strength_kind"].description,
        **own,
    )
    st.selectbox("Device", ["auto", "cpu", "cuda", "mps"], key=key("device"), accept_new_options=True, **own)
