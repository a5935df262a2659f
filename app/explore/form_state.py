"""The form values of this session: read them, or set them from a preset, a sweep or the browser's storage."""

import json
from contextlib import suppress
from functools import cache
from typing import Any

import streamlit as st
from pydantic import ValidationError

from explore.form import DEFAULTS, build_spec, form_values
from explore.form_check import Problems, expand_form, launched_spec, offered_values, remembered_text
from explore.form_memory import keep_form, kept_form, this_server
from mgem_core import RunConfig
from mgem_core.config.sweeps import SweepSpec
from mgem_core.paper.presets import PRESETS

CUSTOM = "Custom"
FIRST_PRESET = next(iter(PRESETS))


def widget_key(name: str) -> str:
    return f"run {name}"


def read_form() -> dict[str, Any]:
    """Return the current values of the widgets."""
    return {name: st.session_state.get(widget_key(name), value) for name, value in DEFAULTS.items()}


def form_spec() -> SweepSpec:
    """Return the chosen preset, which the widgets may show only in part, or otherwise the values of the widgets."""
    return launched_spec(read_form(), _unchanged_preset())


def _unchanged_preset() -> SweepSpec | None:
    """Return the chosen preset, unless a widget has changed since the page was last shown."""
    preset = st.session_state["preset"]
    return PRESETS[preset].spec if preset in PRESETS and _shows(preset, read_form()) else None


def _shows(preset: str, values: dict[str, Any]) -> bool:
    """Return whether these are the values of a preset, recorded or not."""
    return preset_values(preset) == {**values, "record": True}


def expand() -> tuple[Problems, list[RunConfig]]:
    """Return the problems that prevent the launch of the form, or none and its runs."""
    return expand_form(read_form(), _unchanged_preset())


def count_recordings() -> int:
    """Return how many of the runs of a form without problems are recordings."""
    return len(form_spec().recordings())


def fill_form(values: dict[str, Any], preset: str = "") -> None:
    """Set the widgets to these values, and the choice of a preset to this one or to one with the same runs."""
    st.session_state.update({widget_key(name): value for name, value in values.items()})
    current = read_form()
    same = (name for name in PRESETS if form_expresses(name) and _shows(name, current))
    is_unchanged = preset in PRESETS and _shows(preset, current)
    st.session_state["preset"] = preset if is_unchanged else next(same, CUSTOM)


@cache
def preset_values(name: str) -> dict[str, Any]:
    return {**form_values(PRESETS[name].spec), "record": True}


@cache
def form_expresses(preset: str) -> bool:
    """Test whether the widgets can describe the whole preset."""
    spec = PRESETS[preset].spec.without_recordings()
    try:
        return set(build_spec(preset_values(preset)).runs()) == set(spec.runs())
    except ValidationError:  # for example, a partition that fits only one of its networks
        return False


def fill_from_spec(spec: SweepSpec) -> None:
    same = (name for name, preset in PRESETS.items() if (preset.spec.base, preset.spec.grid) == (spec.base, spec.grid))
    fill_form(form_values(spec), next(same, ""))


def fill_new_form(sweep: str, spec: SweepSpec | None) -> None:
    """Show the form that was edited in this tab with this sweep, or the settings of the sweep, or of the first preset.

    The preset is shown if there is no sweep or this version cannot read it.
    """
    kept = kept_form()
    if kept and (remembered_text(kept, "sweep"), remembered_text(kept, "server")) == (sweep, this_server()):
        mark_as_edited()
        return fill_form({**DEFAULTS, **offered_values(kept)}, remembered_text(kept, "preset"))
    with suppress(ValueError, LookupError):  # stored by another version
        if spec:
            return fill_from_spec(spec)
    return fill_form(preset_values(FIRST_PRESET), FIRST_PRESET)


def remember_form(sweep: str) -> None:
    """Store the edited form in the browser, so that a reload of this sweep's page restores it."""
    changed = {name: value for name, value in read_form().items() if value != DEFAULTS[name]}
    place = {"sweep": sweep, "server": this_server(), "preset": st.session_state["preset"]}
    keep_form(
        json.dumps({**place, **changed, "seeds": read_form()["seeds"]}) if st.session_state.get("form edited") else ""
    )


def fill_from_preset() -> None:
    mark_as_edited()
    if st.session_state["preset"] in PRESETS:
        fill_form(preset_values(st.session_state["preset"]), st.session_state["preset"])


def mark_as_edited() -> None:
    st.session_state["form edited"] = True


def mark_as_custom() -> None:
    mark_as_edited()
    st.session_state["preset"] = CUSTOM
