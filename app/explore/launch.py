"""Launch a sweep from the form or from a preset."""

from typing import Any

import runner_process
import session
import streamlit as st
from text import escape_markdown

from explore import form_state, form_widgets
from explore.selection import clear_selection
from mgem_core import RunConfig
from mgem_core.analysis.estimate import Estimate, estimate
from mgem_core.config.sweeps import SweepSpec, cautions
from mgem_core.paper.presets import PRESETS
from mgem_core.runner.work import default_workers
from mgem_core.store import Store
from mgem_core.text import duration, one_of, pluralize


@session.explain_errors
def launch(store: Store, spec: SweepSpec, name: str) -> None:
    """Launch a sweep and show it; if it exists already, show that one and queue its runs without a result again."""
    if store.is_current():  # otherwise the page reports the replaced store
        session.put_in_url("sweep", [f"s{start_sweep(store, spec, name)}"])
        clear_selection()


def start_sweep(store: Store, spec: SweepSpec, name: str) -> int:
    """Create a sweep, or find the one with exactly these runs; a toast says which. Return its id."""
    known = store.find_sweep(spec)
    sweep = store.submit(spec, name) if known is None else known
    resumed = 0 if known is None else store.resume(store.run_ids(sweep))
    runner_process.wake_runner()
    if known is not None:
        rest = f"{pluralize(resumed, 'run')} without a result queued again" if resumed else "nothing was launched"
        session.queue_toast(f"Sweep s{sweep} has exactly these runs already: {rest}.")
        return sweep
    finished = store.counts(sweep)["finished"]
    reused = f", {finished:,} of them already finished" if finished else ""
    session.queue_toast(f"{name} launched: {pluralize(len(store.run_ids(sweep)), 'run')}{reused}.")
    return sweep


def show_launch_panel(store: Store, sweep: int | None) -> None:
    """Show the form, a summary of its runs, and the button that launches them.

    In a new session, the form has the settings of the sweep on the page.
    """
    st.subheader("What to run")
    if spec := st.session_state.pop("spec for form", None):
        form_state.fill_from_spec(spec)
        st.session_state["form edited"] = True
    elif not form_state.is_filled():
        form_state.fill_new_form(_spec_of(store, sweep))
    with form_widgets.show_form():
        problem, configs = form_state.expand()
        if problem:
            st.error(problem)
        else:
            problem = show_estimate(store, configs)
        options: dict[str, Any] = {"type": "primary", "shortcut": "Ctrl+Enter", "width": "stretch"}
        st.button("Launch", on_click=_launch_form, args=(store,), disabled=bool(problem), **options)
    form_state.remember_form("" if sweep is None else f"s{sweep}")


def _spec_of(store: Store, sweep: int | None) -> SweepSpec | None:
    found = None if sweep is None else store.sweep(sweep)
    return SweepSpec.model_validate(found["spec"]) if found else None


def _estimate(store: Store, configs: list[RunConfig]) -> Estimate:
    found: Estimate = session.read_once(
        "estimate", store, tuple(configs), lambda: estimate(store, configs, default_workers())
    )
    return found


def show_estimate(store: Store, configs: list[RunConfig]) -> str:
    """Show the number of runs, their duration and what they record, and ask to confirm very long or large sweeps.

    Return a sentence that says why they cannot be launched yet; empty if they can.
    """
    expected = _estimate(store, configs)
    runs, *rest = expected.phrases
    st.markdown(" · ".join([f"**{runs}**", *rest]))
    if expected.snapshots:
        st.caption(escape_markdown(expected.snapshots.sentence))
    if sentences := cautions(configs):
        st.warning(escape_markdown(one_of(sentences[-1], len(sentences))))
    if expected.to_confirm:
        st.checkbox(f"Yes, {expected.to_confirm}", key=_confirmation_key(expected))
    elif expected.is_long:
        st.warning(f"This takes about {duration(expected.seconds or 0)}. Fewer seeds, strengths or steps take less.")
    return _missing_confirmation(expected)


def _confirmation_key(expected: Estimate) -> str:
    """Return a key that changes with the duration, so that a changed duration must be confirmed again."""
    return f"confirmed {expected.to_confirm}"


def _missing_confirmation(expected: Estimate) -> str:
    if not expected.to_confirm or st.session_state.get(_confirmation_key(expected)):
        return ""
    return f"{expected.to_confirm.capitalize()}; confirm it above Launch first."


def _launch_form(store: Store) -> None:
    """Launch the current values of the widgets, even if they have changed since the page was last shown."""
    problem, configs = form_state.expand()
    if problem := problem or _missing_confirmation(_estimate(store, configs)):
        session.queue_toast(problem)
    else:
        preset = st.session_state["preset"]
        name = PRESETS[preset].title if preset in PRESETS else "Custom sweep"
        launch(store, form_state.form_spec(), name)
