"""The panel of widgets that says what to run."""

from typing import Any

import streamlit as st
from form import DEFAULTS, FAMILIES, LABELS, NUMBERS, bar, is_number, layers_to_train, numbers, said
from pydantic import ValidationError

from mgem_core import RunConfig
from mgem_core.config import explain
from mgem_core.networks import NETWORKS
from mgem_core.presets import PRESETS
from mgem_core.streams import BENCHMARKS
from mgem_core.sweeps import SweepSpec

TITLES = {
    "quick-look": "Quick look",
    "modules-against-strength": "Modules against strength",
    "built-in-digits": "The paper's methods on built-in digits",
}
OWN = "Your own"


def key(name: str) -> str:
    return f"run {name}"


def now() -> dict[str, Any]:
    """What the widgets say."""
    said = {name: st.session_state.get(key(name), value) for name, value in DEFAULTS.items()}
    return {**said, "strengths": numbers(said["strengths"], float), "seeds": numbers(said["seeds"], int)}


def fill(spec: SweepSpec) -> None:
    """Set the widgets to a sweep, as well as they can say it."""
    st.session_state.update({key(name): value for name, value in said(spec).items()})


def panel() -> tuple[dict[str, Any], Any]:
    """All widgets, the presets first; what they say, and a place below the presets for what it comes to."""
    for name, value in DEFAULTS.items():
        st.session_state.setdefault(key(name), value)
    wrong: list[str] = []
    for name, kind, what in (("strengths", float, "number"), ("seeds", int, "whole number")):  # typed: still text
        wrong += [f"{text!r} is no {what}." for text in st.session_state[key(name)] if not is_number(text, kind)]
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
    about, summary = st.container(), st.container()  # always there: what follows keeps its place, and stays open
    if st.session_state["preset"] in PRESETS:
        about.caption(PRESETS[st.session_state["preset"]][0])
    if wrong:
        summary.warning(" ".join(wrong))
    own: dict[str, Any] = {"on_change": _own, "persist_state": "session"}
    st.multiselect(
        "Benchmark", list(BENCHMARKS), format_func=_title, key=key("benchmarks"), placeholder="Choose a benchmark", **own
    )
    _several("Methods", list(FAMILIES), "families")
    most = sum(len(layer.tensors) for layer in layers_to_train(_network(), _benchmark()))
    counts = sorted({*range(2, min(most, 9) + 1), *st.session_state[key("modules")]})
    _several("Module counts", counts, "modules", "Parameter modules D of p-mGEM, md-GEM, approx-GEM and A-GEM")
    with st.container():
        _partitions(_network(), _benchmark(), most)
    counts = sorted({2, 3, 4, 6, *st.session_state[key("splits")]})
    _several("Split counts", counts, "splits", "Parts K of each task's memory, for d-mGEM, md-GEM and approx-GEM")
    st.multiselect(
        "Memory strengths",
        sorted({0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, *st.session_state[key("strengths")]}),
        key=key("strengths"),
        accept_new_options=True,
        format_func=lambda q: f"{float(q):g}" if is_number(q, float) else str(q),
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
    return now(), summary


def _several(label: str, options: list[Any], name: str, help: str | None = None) -> None:
    look: dict[str, Any] = {"selection_mode": "multi", "on_change": _own, "persist_state": "session"}
    st.pills(label, options, key=key(name), help=help, **look)


def _preset() -> None:
    st.session_state["preset filled"] = True
    if st.session_state["preset"] in PRESETS:
        fill(PRESETS[st.session_state["preset"]][1])


def _own() -> None:
    st.session_state["preset"] = OWN


def _title(name: str) -> str:
    return BENCHMARKS[name].title


def _benchmark() -> str:
    """The first of those chosen."""
    return str((st.session_state[key("benchmarks")] or DEFAULTS["benchmarks"])[0])


def _network() -> str:
    return str(st.session_state[key("network")] or BENCHMARKS[_benchmark()].defaults["network"])


def _partitions(network: str, benchmark: str, most: int) -> None:
    """The network's layers as a bar of blocks, coloured by module: one bar for each partition."""
    layers = layers_to_train(network, benchmark)
    names = dict.fromkeys(layer.name.partition(".")[0] for layer in layers)
    bars = [bar(layers, count) for count in sorted(st.session_state[key("modules")]) if count <= most]
    st.html('<div style="display:grid;gap:6px">' + "".join(bars) + "</div>")
    st.text_input(
        "Own partition",
        key=key("own"),
        placeholder=",".join(f"{name}={i}" for i, name in enumerate(names)),
        help="A module number for every layer, tensor or beginning of a name, like fc1=0,fc2=1; or: layers, or: tensors",
        on_change=_own,
        persist_state="session",
    )
    if own := st.session_state[key("own")].strip():
        try:
            modules = RunConfig(benchmark=benchmark, network=network, modules=own).modules
            st.html(bar(layers, modules, "*" if isinstance(modules, dict) else ""))
        except ValidationError as error:
            st.error(explain(error))


def _more(own: dict[str, Any]) -> None:
    defaults = dict(RunConfig(benchmark=_benchmark()))
    st.selectbox(
        "Network", ["", *NETWORKS], key=key("network"), format_func=lambda name: name or "the benchmark's own", **own
    )
    columns = st.columns(2)
    for number, name in enumerate(NUMBERS):
        with columns[number % 2]:
            small = {"min_value": 0.0, "step": 0.01, "format": "%g"} if name == "lr" else {"min_value": 0, "step": 1}
            st.number_input(
                LABELS[name],
                value=None,
                key=key(name),
                placeholder=f"{defaults[name]:g}",
                **small,
                **own,
            )
    _several("Trigger", ["violation", "always"], "trigger", RunConfig.model_fields["trigger"].description)
    _several("Memory is split", ["random", "class", "order"], "split_by")
    meaning = RunConfig.model_fields["strength_kind"].description
    _several("Strength means", ["dual-floor", "margin"], "strength_kind", meaning)
    st.selectbox("Device", ["auto", "cpu", "cuda", "mps"], key=key("device"), accept_new_options=True, **own)
