"""The form values of this session: read them, or set them from a preset, a sweep or the browser's storage."""

import json
from contextlib import suppress
from functools import cache
from typing import Any

import streamlit as st
from pydantic import ValidationError

from explore.form import DEFAULTS, build_spec, expand_form, form_values, offered_values, parse_numbers, remembered_preset
from explore.form_memory import keep_form
from mgem_core import RunConfig
from mgem_core.config.sweeps import SweepSpec
from mgem_core.paper.presets import PRESETS

CUSTOM = "Custom"
FIRST_PRESET = next(iter(PRESETS))


def widget_key(name: str) -> str:
    return f"run {name}"


def read_form() -> dict[str, Any]:
    """Return the current values of the widgets."""
    values = {name: st.session_state.get(widget_key(name), value) for name, value in DEFAULTS.items()}
    numbers = {"strengths": parse_numbers(values["strengths"], float), "seeds": parse_numbers(values["seeds"], int)}
    return {**values, **numbers}


def form_spec() -> SweepSpec:
    """Return the chosen preset, which the widgets may show only in part, or otherwise the values of the widgets."""
    return _unchanged_preset() or build_spec(read_form())


def _unchanged_preset() -> SweepSpec | None:
    """Return the chosen preset, unless a widget has changed since the page was last shown."""
    preset = st.session_state["preset"]
    return PRESETS[preset].spec if preset in PRESETS and preset_values(preset) == read_form() else None


def expand() -> tuple[str, list[RunConfig]]:
    """Return the problem that prevents the launch of the form, or "" and its runs."""
    return expand_form(read_form(), _unchanged_preset())


def fill_form(values: dict[str, Any], preset: str = "") -> None:
    """Set the widgets to these values, and the choice of a preset to this one or to one with the same runs."""
    st.session_state.update({widget_key(name): value for name, value in values.items()})
    current = read_form()
    same = (name for name in PRESETS if form_expresses(name) and preset_values(name) == current)
    is_unchanged = preset in PRESETS and preset_values(preset) == current
    st.session_state["preset"] = preset if is_unchanged else next(same, CUSTOM)


@cache
def preset_values(name: str) -> dict[str, Any]:
    return form_values(PRESETS[name].spec)


@cache
def form_expresses(preset: str) -> bool:
    """Test whether the widgets can describe the whole preset."""
    try:
        return set(build_spec(preset_values(preset)).runs()) == set(PRESETS[preset].spec.runs())
    except ValidationError:  # for example, a partition that fits only one of its networks
        return False


def fill_from_spec(spec: SweepSpec) -> None:
    fill_form(form_values(spec), next((name for name, preset in PRESETS.items() if preset.spec == spec), ""))


def fill_new_form(spec: SweepSpec | None) -> None:
    """Show the settings of this sweep, or of the first preset if there is no sweep or this version cannot read it."""
    with suppress(ValueError, LookupError):  # stored by another version
        if spec:
            return fill_from_spec(spec)
    return fill_form(preset_values(FIRST_PRESET), FIRST_PRESET)


def is_filled() -> bool:
    return "preset" in st.session_state


def remember_form(sweep: str) -> None:
    """Store the edited form in the browser, so that a reload of this sweep's page restores it."""
    values = json.dumps({**read_form(), "preset": st.session_state["preset"]})
    keep_form(sweep, values, st.session_state.get("form edited", False), _restore_form)


def _restore_form(values: str) -> None:
    fill_form(offered_values(values), remembered_preset(values))
    st.session_state["form edited"] = True


def fill_from_preset() -> None:
    st.session_state["form edited"] = True
    if st.session_state["preset"] in PRESETS:
        fill_form(preset_values(st.session_state["preset"]), st.session_state["preset"])


def mark_as_custom() -> None:
    st.session_state["preset"], st.session_state["form edited"] = CUSTOM, True
