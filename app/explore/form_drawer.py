"""The drawer of the form: settings that most sweeps leave at their defaults."""

from contextlib import suppress
from typing import Any

import streamlit as st
from pydantic import ValidationError

from explore.form import FRACTIONS, MEASUREMENTS, NUMBERS, TRAINING, used_fields, used_options, uses_count
from explore.form_check import Problems
from explore.form_state import mark_as_edited, read_form, widget_key
from explore.form_widgets import OPTIONS, chosen_layers, chosen_network, field, first_benchmark, show_choice
from explore.form_words import CHOICES, VISIBLE, help_of_number, label
from explore.form_words import OPTIONS as METHOD_OPTIONS
from explore.partition_bar import partition_bar
from mgem_core import RunConfig
from mgem_core.networks import NETWORKS

TITLE = "More settings"
PARTITION_HELP = (
    "The module of every layer or tensor, such as fc1=0,fc2=1. A prefix stands for all names that begin with it and a dot: "
    "fc1 for fc1.weight and fc1.bias, but fc names nothing. Or write layers, or tensors, for one module each."
)
RECORD_HELP = (
    "First trains GEM at strength 0.5 once per seed and records gradients along the way. From them, the page computes the "
    "curves of all partitions and splits at the same steps."
)


def show_drawer(problems: Problems) -> None:
    """Show the drawer, which opens by itself if one of its settings has a problem."""
    if not problems.keys() <= VISIBLE.keys():
        st.session_state["drawer opened"] = True
    values, defaults = read_form(), dict(RunConfig(benchmark=first_benchmark()))
    with st.expander(TITLE, expanded=st.session_state.get("drawer opened", False)):
        st.markdown("**Training**")
        with field("network", problems):
            titles = {"": f"{defaults['network']} (default of the benchmark)"}
            names = ["", *NETWORKS]
            network: dict[str, Any] = {"key": widget_key("network"), "format_func": lambda name: titles.get(name, name)}
            st.selectbox(label("network"), names, **network, **OPTIONS)
        for name in TRAINING:
            _show_number(name, defaults[name], problems)
        with field("order", problems):
            show_choice("order")
        with field("device", problems):
            devices = ["auto", "cpu", "cuda", "mps"]
            st.selectbox(label("device"), devices, key=widget_key("device"), accept_new_options=True, **OPTIONS)
        st.markdown("**Measurement**")
        record: dict[str, Any] = {"persist_state": "session", "on_change": mark_as_edited, "help": RECORD_HELP}
        st.toggle("Record GEM's steps for the curves", key=widget_key("record"), **record)
        for name in MEASUREMENTS:
            _show_number(name, defaults[name], problems)
        with st.container():
            if "trigger" in used_fields(values) or uses_count("modules", values["families"]):
                st.markdown("**Restriction details**")
                _show_restriction(values, problems)
        with st.container():
            if options := used_options(values["families"]):
                st.markdown("**Method options**")
                for name in options:
                    _show_option(name, defaults[name], problems)


def _show_restriction(values: dict[str, Any], problems: Problems) -> None:
    for name in CHOICES:
        if name not in METHOD_OPTIONS and name in used_fields(values):
            with field(name, problems):
                show_choice(name)
    with field("partition", problems):
        names = dict.fromkeys(layer.name.partition(".")[0] for layer in chosen_layers())
        example = ",".join(f"{name}={number}" for number, name in enumerate(names))
        key = widget_key("partition")
        st.text_input(label("partition"), key=key, placeholder=example, help=PARTITION_HELP, **OPTIONS)
    with st.container():
        _show_bars(values)


def _show_bars(values: dict[str, Any]) -> None:
    """Draw the chosen partitions."""
    layers = chosen_layers()
    most = sum(len(layer.tensors) for layer in layers)
    counts = sorted(values["modules"]) if uses_count("modules", values["families"]) else []
    bars = [partition_bar(layers, count) for count in counts if 1 < count <= most]
    if custom := values["partition"].strip():
        with suppress(ValidationError):  # shown at its field
            modules = RunConfig(benchmark=first_benchmark(), network=chosen_network(), modules=custom).modules
            bars.append(partition_bar(layers, modules, "*" if isinstance(modules, dict) else ""))
    if bars:
        st.html('<div style="display:grid;gap:6px">' + "".join(bars) + "</div>")


def _show_option(name: str, default: Any, problems: Problems) -> None:
    if name in NUMBERS:
        return _show_number(name, default, problems)
    with field(name, problems):
        return show_choice(name)


def _show_number(name: str, default: float, problems: Problems) -> None:
    """Show a field of RunConfig that is a number; empty means the default."""
    limits: dict[str, Any] = {"min_value": 0, "step": 1}
    if name in FRACTIONS:
        limits = {"min_value": 0.0, "step": 0.01, "format": "%g"}
    has_no_effect = name == "snap_splits" and not st.session_state[widget_key("snap_every")]
    texts: dict[str, Any] = {"placeholder": f"{default:g}", "help": help_of_number(name), "disabled": has_no_effect}
    with field(name, problems):
        st.number_input(label(name), value=None, key=widget_key(name), **texts, **limits, **OPTIONS)
