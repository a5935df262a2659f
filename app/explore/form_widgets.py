"""The widgets of the form that describes a sweep."""

from contextlib import suppress
from typing import Any, get_args

import streamlit as st
from pydantic import ValidationError
from streamlit.delta_generator import DeltaGenerator
from text import benchmark_choice, escape_markdown

from explore.form import (
    DEFAULTS,
    FRACTIONS,
    LABELS,
    MEANINGS,
    MEASUREMENTS,
    NUMBERS,
    OPTIONS,
    RESTRICTIONS,
    is_number,
    parse_numbers,
    used_options,
)
from explore.form_state import CUSTOM, fill_from_preset, form_expresses, mark_as_custom, widget_key
from explore.partition_bar import network_layers, partition_bar
from mgem_core import RunConfig
from mgem_core.learners import FAMILIES
from mgem_core.networks import NETWORKS
from mgem_core.paper.presets import PRESETS, STRENGTHS
from mgem_core.streams import BENCHMARKS


def preset_title(name: str) -> str:
    return PRESETS[name].title if name in PRESETS else name


def show_form() -> DeltaGenerator:
    """Show all widgets, beginning with the presets; return a container below the presets for a summary."""
    for name, value in DEFAULTS.items():
        st.session_state.setdefault(widget_key(name), value)
    problems = _remove_typed_words()
    summary = _show_presets()
    if problems:
        summary.warning(" ".join(problems))
    options: dict[str, Any] = {"on_change": mark_as_custom, "persist_state": "session"}
    st.multiselect(
        "Benchmark",
        list(BENCHMARKS),
        format_func=benchmark_choice,
        key=widget_key("benchmarks"),
        placeholder="Choose a benchmark",
        **options,
    )
    _show_domains(options)
    _show_pills("Methods", list(FAMILIES), "families")
    _show_module_counts()
    counts = sorted({2, 3, 4, 6, *st.session_state[widget_key("splits")]})
    _show_pills("Split counts", counts, "splits", "Parts K of each task's memory, for methods such as d-mGEM that split it")
    st.multiselect(
        "Memory strengths",
        sorted({*STRENGTHS, 0.5, 30.0, *st.session_state[widget_key("strengths")]}),
        key=widget_key("strengths"),
        accept_new_options=True,
        format_func=lambda q: f"{float(q):g}" if is_number(q, float) else str(q),
        help="Values of the memory strength q; type to add others",
        **options,
    )
    _show_restriction()
    st.multiselect(
        "Seeds",
        sorted({*range(6), *st.session_state[widget_key("seeds")]}),
        key=widget_key("seeds"),
        accept_new_options=True,
        help="One run per seed; means and errors are computed over the seeds",
        **options,
    )
    with st.expander("More settings"):
        _show_more(options)
    return summary


def _remove_typed_words() -> list[str]:
    """Convert typed texts to numbers; return a sentence about each text that is not a number."""
    problems: list[str] = []
    for name, kind, noun in (("strengths", float, "number"), ("seeds", int, "whole number")):
        texts = st.session_state[widget_key(name)]
        problems += [f"{text!r} is not a {noun}." for text in texts if not is_number(text, kind)]
        st.session_state[widget_key(name)] = parse_numbers(texts, kind)
    return problems


def _show_presets() -> DeltaGenerator:
    st.selectbox(
        "Start from",
        [*PRESETS, CUSTOM],
        format_func=preset_title,
        key="preset",
        persist_state="session",
        on_change=fill_from_preset,
    )
    # Both containers always exist, so that the widgets below keep their positions and an open expander stays open.
    description, summary = st.container(), st.container()
    if st.session_state["preset"] in PRESETS:
        description.caption(PRESETS[st.session_state["preset"]].description + ".")
        if not form_expresses(st.session_state["preset"]):
            description.caption("The settings below show only a part of it. Unchanged, all of it is launched.")
    return summary


def _show_pills(label: str, options: list[Any], name: str, help: str | None = None) -> None:
    arguments: dict[str, Any] = {"selection_mode": "multi", "on_change": mark_as_custom, "persist_state": "session"}
    st.pills(label, options, key=widget_key(name), help=help, **arguments)


def _show_choice(name: str, label: str) -> None:
    """Show a field of RunConfig that has a few named values."""
    field = RunConfig.model_fields[name]
    description = str(field.description)
    _show_pills(label, list(get_args(field.annotation)), name, f"{description[0].upper()}{description[1:]}")


def _show_restriction() -> None:
    """Show when a step is restricted and how long it is, with buttons for the settings of the paper and of GEM's code."""
    _show_choice("trigger", "Trigger")
    _show_choice("step_length", "Length of a step")
    with st.container(horizontal=True):
        for title, values in RESTRICTIONS.items():
            st.button(title, type="tertiary", on_click=_set_restriction, args=(values,))


def _set_restriction(values: dict[str, list[str]]) -> None:
    st.session_state.update({widget_key(name): value for name, value in values.items()})
    mark_as_custom()


def _first_benchmark() -> str:
    return str((st.session_state[widget_key("benchmarks")] or DEFAULTS["benchmarks"])[0])


def _network() -> str:
    return str(st.session_state[widget_key("network")] or BENCHMARKS[_first_benchmark()].defaults["network"])


def _show_module_counts() -> None:
    """Show the numbers of modules, a picture of each partition, and a text input for a custom partition."""
    benchmark, network = _first_benchmark(), _network()
    layers = network_layers(network, benchmark)
    most = sum(len(layer.tensors) for layer in layers)
    chosen = st.session_state[widget_key("modules")]
    counts = sorted({*range(2, min(most, 9) + 1), *chosen})
    meaning = "Parameter modules D, for methods such as p-mGEM that restrict each module separately"
    _show_pills("Module counts", counts, "modules", meaning)
    with st.container():
        bars = [partition_bar(layers, count) for count in sorted(chosen) if count <= most]
        st.html('<div style="display:grid;gap:6px">' + "".join(bars) + "</div>")
        names = dict.fromkeys(layer.name.partition(".")[0] for layer in layers)
        st.text_input(
            "Custom partition",
            key=widget_key("partition"),
            placeholder=",".join(f"{name}={i}" for i, name in enumerate(names)),
            help="The module of every layer or tensor, such as fc1=0,fc2=1; a prefix stands for all names with it. "
            "Or write layers, or tensors, for one module each.",
            on_change=mark_as_custom,
            persist_state="session",
        )
        if custom := st.session_state[widget_key("partition")].strip():
            with suppress(ValidationError):  # the summary shows the error
                modules = RunConfig(benchmark=benchmark, network=network, modules=custom).modules
                st.html(partition_bar(layers, modules, "*" if isinstance(modules, dict) else ""))


def _show_domains(options: dict[str, Any]) -> None:
    """Show the choice and order of domains, if the benchmark has domains."""
    benchmark = BENCHMARKS[_first_benchmark()]
    if domains := benchmark.domains:
        others = f" So can any other folder in {benchmark.domain_root()}." if benchmark.domain_root else ""
        names = [*domains, *benchmark.other_domains()]
        st.text_input(
            "Domains",
            key=widget_key("domains"),
            placeholder="drawn with the seed",
            help=f"Which to learn in which order, such as {'+'.join(list(domains)[:2])}; commas separate several choices. "
            + escape_markdown(f"{', '.join(names)} can be named.{others}"),
            **options,
        )


def _show_more(options: dict[str, Any]) -> None:
    defaults = dict(RunConfig(benchmark=_first_benchmark()))
    titles = {"": "default of the benchmark"}
    networks = ["", *NETWORKS]
    st.selectbox("Network", networks, key=widget_key("network"), format_func=lambda name: titles.get(name, name), **options)
    columns = st.columns(2)
    for number, name in enumerate(name for name in NUMBERS if name not in (*MEASUREMENTS, *OPTIONS)):
        with columns[number % 2]:
            _show_number(name, defaults[name], options)
    for name in MEASUREMENTS:
        _show_number(name, defaults[name], options)
    for name in used_options(st.session_state[widget_key("families")]):
        if name in NUMBERS:
            _show_number(name, defaults[name], options)
        else:
            _show_choice(name, name.replace("_", " "))
    _show_choice("strength_per", "Strength of each")
    _show_choice("split_by", "Memory is split by")
    _show_choice("strength_kind", "Meaning of the strength")
    st.selectbox("Device", ["auto", "cpu", "cuda", "mps"], key=widget_key("device"), accept_new_options=True, **options)


def _show_number(name: str, default: float, options: dict[str, Any]) -> None:
    """Show a field of RunConfig that is a number; empty means the default."""
    limits: dict[str, Any] = {"min_value": 0, "step": 1}
    if name in FRACTIONS:
        limits = {"min_value": 0.0, "step": 0.01, "format": "%g"}
    help = MEANINGS[name] if MEANINGS[name] != LABELS[name] else None
    has_no_effect = name == "snap_splits" and not st.session_state[widget_key("snap_every")]
    texts: dict[str, Any] = {"placeholder": f"{default:g}", "help": help, "disabled": has_no_effect}
    st.number_input(LABELS[name], value=None, key=widget_key(name), **texts, **limits, **options)
