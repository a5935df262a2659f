"""The widgets of the form that describes a sweep; `form_drawer` has the less usual ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st
from text import benchmark_choice, escape_markdown

from explore.form import CUSTOM_CONVENTION, DEFAULTS, MAIN_FAMILIES, convention_of, used_fields, uses_count
from explore.form_check import Problems
from explore.form_state import CUSTOM, fill_from_preset, form_expresses, mark_as_custom, read_form, widget_key
from explore.form_words import CHOICES, label
from explore.partition_bar import network_layers
from mgem_core.learners import FAMILIES
from mgem_core.networks import Layer
from mgem_core.paper.presets import PRESETS
from mgem_core.restriction.restriction import CONVENTIONS
from mgem_core.streams import BENCHMARKS

MORE = "more…"
OPTIONS: dict[str, Any] = {"on_change": mark_as_custom, "persist_state": "session"}  # of every widget
CONVENTION_HELP = "\n".join(f"- **{title}**: {help}" for title, help, _ in CONVENTIONS.values())


@contextmanager
def field(name: str, problems: Problems) -> Iterator[None]:
    """Show the widget of a form value, and below it what is wrong with the value.

    The container always exists, so that the widgets below keep their positions and an open expander stays open.
    """
    with st.container(gap="xsmall"):
        yield
        if name in problems:
            st.error(escape_markdown(problems[name]))


def show_form(problems: Problems) -> None:
    """Show the widgets that most sweeps need, beginning with the presets."""
    for name, value in DEFAULTS.items():
        st.session_state.setdefault(widget_key(name), value)
    values = read_form()
    _show_presets()
    with field("benchmarks", problems):
        st.multiselect(
            label("benchmarks"),
            list(BENCHMARKS),
            format_func=benchmark_choice,
            key=widget_key("benchmarks"),
            placeholder="Choose a benchmark",
            **OPTIONS,
        )
    with field("domains", problems):
        _show_domains()
    with field("families", problems):
        _show_methods(values["families"])
    most = sum(len(layer.tensors) for layer in chosen_layers())
    with field("modules", problems):
        if uses_count("modules", values["families"]):
            counts = [n for n in range(1, 7) if n <= max(most, 1)]
            show_pills("modules", counts, "Parts D of the parameters that are restricted separately; 1 is GEM")
    with field("splits", problems):
        if uses_count("splits", values["families"]):
            show_pills("splits", [1, 2, 3, 4, 6], "Parts K of each task's memory, with a constraint each; 1 is GEM")
    used = used_fields(values)
    with field("strengths", problems):
        if "strength" in used:
            help = "Memory strengths q, separated by commas: larger values keep more of the old tasks"
            st.text_input(label("strengths"), key=widget_key("strengths"), placeholder="0, 0.1, 1", help=help, **OPTIONS)
    with field("seeds", problems):
        help = "One run per seed, such as 0-9 or 0-3, 7; means and errors are computed over the seeds"
        st.text_input(label("seeds"), key=widget_key("seeds"), placeholder="0-5", help=help, **OPTIONS)
    with st.container():
        if "trigger" in used:
            _show_convention(values)


def _show_presets() -> None:
    preset = st.session_state["preset"]
    title = "What to run"
    help = f"{PRESETS[preset].description}." if preset in PRESETS else "Your own settings; or start from a preset."
    arguments: dict[str, Any] = {"key": "preset", "persist_state": "session", "on_change": fill_from_preset}
    arguments["format_func"] = lambda name: PRESETS[name].title if name in PRESETS else name
    st.selectbox(title, [*PRESETS, CUSTOM], help=escape_markdown(help), **arguments)
    with st.container():
        if preset in PRESETS and not form_expresses(preset):
            st.caption("The settings below show only a part of it. Unchanged, all of it is launched.")


def show_pills(name: str, offered: list[int], help: str) -> None:
    """Show numbers of which several can be chosen; also those chosen that are not among the offered ones."""
    numbers = sorted({*offered, *st.session_state[widget_key(name)]})
    st.pills(label(name), numbers, selection_mode="multi", key=widget_key(name), help=help, **OPTIONS)


def show_choice(name: str) -> None:
    """Show a field of RunConfig that has a few named values."""
    title, help, titles = CHOICES[name]
    arguments: dict[str, Any] = {"selection_mode": "multi", "format_func": lambda value: titles[value]}
    st.pills(title, list(titles), key=widget_key(name), help=help, **arguments, **OPTIONS)


def _show_methods(chosen: list[str]) -> None:
    """Show the usual methods and the chosen ones, or all."""
    shown = list(FAMILIES)
    if not st.session_state.get("all methods"):
        shown = [*(name for name in FAMILIES if name in {*MAIN_FAMILIES, *chosen}), MORE]
    arguments: dict[str, Any] = {"selection_mode": "multi", "persist_state": "session", "on_change": _change_methods}
    st.pills(label("families"), shown, key=widget_key("families"), **arguments)


def _change_methods() -> None:
    chosen = st.session_state[widget_key("families")]
    if MORE in chosen:
        st.session_state["all methods"] = True
        st.session_state[widget_key("families")] = [name for name in chosen if name != MORE]
    else:
        mark_as_custom()


def _show_convention(values: dict[str, Any]) -> None:
    """Show when a step is restricted and how long it is, as one choice."""
    current = convention_of(values)
    st.session_state["convention"] = current
    st.pills(
        "Convention",
        [*CONVENTIONS, *([CUSTOM_CONVENTION] if current == CUSTOM_CONVENTION else [])],
        format_func=lambda name: CONVENTIONS[name].title if name in CONVENTIONS else name,
        key="convention",
        required=True,
        help=CONVENTION_HELP,
        on_change=_set_convention,
    )


def _set_convention() -> None:
    if (chosen := st.session_state["convention"]) in CONVENTIONS:
        fields = CONVENTIONS[chosen].fields
        st.session_state.update({widget_key(name): [value] for name, value in fields.items()})
        mark_as_custom()


def first_benchmark() -> str:
    return str((st.session_state[widget_key("benchmarks")] or DEFAULTS["benchmarks"])[0])


def chosen_network() -> str:
    return str(st.session_state[widget_key("network")] or BENCHMARKS[first_benchmark()].defaults["network"])


def chosen_layers() -> list[Layer]:
    return network_layers(chosen_network(), first_benchmark())


def _show_domains() -> None:
    """Show the choice and order of domains, if the benchmark has domains."""
    benchmark = BENCHMARKS[first_benchmark()]
    if domains := benchmark.domains:
        others = f" So can any other folder in {benchmark.domain_root()}." if benchmark.domain_root else ""
        names = [*domains, *benchmark.other_domains()]
        st.text_input(
            label("domains"),
            key=widget_key("domains"),
            placeholder="drawn with the seed",
            help=f"Which to learn in which order, such as {'+'.join(list(domains)[:2])}; commas separate several choices. "
            + escape_markdown(f"{', '.join(names)} can be named.{others}"),
            **OPTIONS,
        )
