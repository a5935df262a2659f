"""Launch a sweep from the form or from a preset."""

from typing import Any

import runner_process
import session
import streamlit as st
from text import escape_markdown

from explore import form_drawer, form_state, form_widgets
from explore.form_check import Problems
from explore.form_words import VISIBLE, label
from explore.selection import clear_selection
from mgem_core import RunConfig
from mgem_core.analysis.estimate import Estimate, estimate
from mgem_core.config.sweeps import SweepSpec, cautions, missing_data
from mgem_core.paper.presets import PRESETS
from mgem_core.runner.work import default_workers
from mgem_core.store import Store
from mgem_core.text import one_of, pluralize

ESTIMATE_SECONDS = 15.0  # between updates of the estimate; a download that starts during one loses its name


@session.explain_errors
def launch(store: Store, spec: SweepSpec, name: str) -> None:
    """Launch a sweep and show it; if it exists already, show that one and queue its runs without a result again."""
    if store.is_current():  # otherwise the page reports the replaced store
        session.put_source_in_url(f"s{start_sweep(store, spec, name)}")
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


def add_runs(store: Store, sweep: int, spec: SweepSpec) -> None:
    """Change the spec of a sweep, and launch its runs without a result."""
    added = store.extend(sweep, spec)
    runner_process.wake_runner()
    session.queue_toast(f"{pluralize(added, 'run')} added." if added else "All these runs have results or are queued.")


def needs_confirmation(store: Store, configs: list[RunConfig]) -> bool:
    """Return whether the user must be asked before these runs are launched: they take long, or their data is missing."""
    return bool(_estimate(store, configs, 0).to_confirm or missing_data(configs))


def show_launch_panel(store: Store, sweep: int | None) -> None:
    """Show the form, and below it, always in view, a summary of its runs and the button that launches them.

    In a new session, the form has the settings of the sweep on the page.
    """
    name = "" if sweep is None else f"s{sweep}"
    if spec := st.session_state.pop("spec for form", None):
        form_state.fill_from_spec(spec)
        st.session_state[form_state.widget_key("record")] = st.session_state["form edited"] = True
    elif "preset" not in st.session_state:
        form_state.fill_new_form(name, _spec_of(store, sweep))
    problems, configs = form_state.expand()
    with st.container(key="form", gap="xsmall"):
        form_widgets.show_form(problems)
        form_drawer.show_drawer(problems)
    with st.container(key="launch", gap="xsmall"):
        problem = show_pointer(problems) if problems else _show_live_estimate(store, configs, form_state.count_recordings())
        options: dict[str, Any] = {"type": "primary", "shortcut": "Ctrl+Enter", "width": "stretch"}
        st.button("Launch", on_click=_launch_form, args=(store,), disabled=bool(problem), **options)
    form_state.remember_form(name)


def show_pointer(problems: Problems) -> str:
    """Name the settings whose messages are shown in the form."""
    names = " and ".join(f"**{label(name)}**" for name in problems)
    place = "" if problems.keys() <= VISIBLE.keys() else f" under {form_drawer.TITLE}"
    pointer = f"Correct {names}{place} to launch."
    st.markdown(pointer)
    return pointer


def _spec_of(store: Store, sweep: int | None) -> SweepSpec | None:
    found = None if sweep is None else store.sweep(sweep)
    return SweepSpec.model_validate(found["spec"]) if found else None


def _estimate(store: Store, configs: list[RunConfig], recordings: int) -> Estimate:
    found: Estimate = session.read_once(
        "estimate",
        store,
        (recordings, *configs),
        lambda: estimate(store, configs, default_workers(), False, None, recordings),
    )
    return found


def _show_live_estimate(store: Store, configs: list[RunConfig], recordings: int) -> str:
    """Show the estimate, which follows the runs that finish; return what `show_estimate` returns."""
    before = _estimate(store, configs, recordings)

    def show_phrases() -> None:
        session.rerun_if_replaced(store)
        with session.lagging():
            expected = _estimate(store, configs, recordings)
        if _missing_confirmation(expected) != _missing_confirmation(before):
            st.rerun()  # the button, outside this fragment, depends on it
        _show_phrases(expected)

    st.fragment(session.explain_errors(show_phrases), run_every=ESTIMATE_SECONDS)()
    return _show_notes(before, configs)


def show_estimate(store: Store, configs: list[RunConfig]) -> str:
    """Show the number of runs, their duration and what they record, and ask to confirm long or large sweeps.

    Return a sentence that says why they cannot be launched yet; empty if they can.
    """
    expected = _estimate(store, configs, 0)
    _show_phrases(expected)
    return _show_notes(expected, configs)


def _show_phrases(expected: Estimate) -> None:
    runs, *rest = expected.phrases
    st.markdown(" · ".join([f"**{runs}**", *rest]))


def _show_notes(expected: Estimate, configs: list[RunConfig]) -> str:
    """Offer notes about the runs behind a button, so that they do not cover the form, and ask to confirm long sweeps."""
    warnings = cautions(configs)
    notes = [one_of(warnings[-1], len(warnings))] if warnings else []
    notes += [expected.snapshots.sentence] if expected.snapshots else []
    if notes:
        with st.popover(f"{'⚠ ' if warnings else ''}{pluralize(len(notes), 'note')}", type="tertiary"):
            for note in notes:
                st.markdown(escape_markdown(note))
    if expected.to_confirm:
        less = "Fewer seeds, strengths or steps take less time."
        st.checkbox(f"Yes, {expected.to_confirm}", key=_confirmation_key(expected), help=less)
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
    problems, configs = form_state.expand()
    problem = " ".join(problems.values())
    if problem := problem or _missing_confirmation(_estimate(store, configs, form_state.count_recordings())):
        session.queue_toast(escape_markdown(problem))
    else:
        preset = st.session_state["preset"]
        name = PRESETS[preset].title if preset in PRESETS else "Custom sweep"
        launch(store, form_state.form_spec(), name)
