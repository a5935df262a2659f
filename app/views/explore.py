"""Explore: choose, launch, and watch what remembering costs."""

from typing import Any

import controls
import exports
import form
import live
import parts
import state
import streamlit as st
from listing import several

from mgem_core import analysis, text
from mgem_core.analysis import View
from mgem_core.presets import PRESETS
from mgem_core.runner.work import default_workers
from mgem_core.store import Store
from mgem_core.sweeps import SweepSpec, estimate_seconds

AXES: dict[analysis.Axes, str] = {"unit": "per ‖z‖", "raw": "raw", "cosine": "cosine"}


@state.explain_errors
def launch(store: Store, spec: SweepSpec, name: str) -> None:
    if not store.is_current():  # the page is about to say so
        return
    sweep = store.submit(spec, name)
    state.wake_runner()
    state.put_in_url("sweep", [f"s{sweep}"])
    live.pick([])
    live.mark([])
    known = store.counts(sweep)["finished"]
    reused = f", {known:,} of them known already" if known else ""
    state.later(f"{name} launched: {several(len(store.run_ids(sweep)), 'run')}{reused}.")


def what_to_run(store: Store) -> None:
    """The panel of controls, what they come to, and the button that starts it."""
    st.subheader("What to run")
    if spec := st.session_state.pop("more like", None):
        st.session_state["preset"], st.session_state["preset filled"] = controls.OWN, True
        controls.fill(spec)
    said, summary = controls.panel()
    problem, configs = form.expanded(said)
    with summary:
        if problem:
            st.error(problem)
        else:
            seconds = estimate_seconds(configs, state.speeds(store), default_workers())
            about = f"about {text.duration(seconds)}" if seconds else "time known after the first runs"
            st.markdown(f"**{several(len(configs), 'run')}** · {about}")
        look: dict[str, Any] = {"type": "primary", "shortcut": "Ctrl+Enter", "width": "stretch"}
        st.button("Launch", on_click=launch_form, args=(store,), disabled=bool(problem), **look)


def launch_form(store: Store) -> None:
    """Launch what the widgets say now, which may be more than the page has shown yet."""
    said = controls.now()
    if problem := form.expanded(said)[0]:
        state.later(problem)
    else:
        name = {**controls.TITLES, controls.OWN: "Own sweep"}[st.session_state["preset"]]
        launch(store, form.spec_of(said), name)


def nothing_yet(store: Store) -> None:
    """The page of someone who has run nothing."""
    st.title("What does it cost to remember?")
    st.markdown(
        "A network that learns one task after another forgets. **GEM** bends every update so that it does not hurt the "
        "past; **mGEM** does it module by module and split by split. Train a few dozen small networks and watch the "
        "trade-off between keeping the old and learning the new."
    )
    text, spec = PRESETS["quick-look"]
    label = f"Run the quick look: {len(spec.runs())} short runs, less than a minute"
    st.button(label, type="primary", on_click=launch, args=(store, spec, controls.TITLES["quick-look"]))
    st.caption(f"{text}; or choose your own on the left.")
    parts.prepare()


def choose_sweep(store: Store, sweeps: dict[int, dict[str, Any]]) -> int:
    asked = state.ids_in_url("sweep", "s")
    if asked and asked[0] not in sweeps:
        st.warning(f"There is no sweep s{asked[0]} in this store; this is the newest one.")
    sweep = asked[0] if asked and asked[0] in sweeps else next(iter(sweeps))
    if asked != [sweep]:
        state.put_in_url("sweep", [f"s{sweep}"])
    st.session_state["sweep"] = sweep

    def changed() -> None:
        state.put_in_url("sweep", [f"s{st.session_state['sweep']}"])
        live.pick([])
        live.mark([])

    def told(one: int) -> str:
        return f"{sweeps[one]['name']} · s{one} · {several(sweeps[one]['runs'], 'run')}"

    st.selectbox("Sweep", list(sweeps), format_func=told, key="sweep", on_change=changed, label_visibility="collapsed")
    return sweep


@state.explain_errors
def stop(store: Store, sweep: int) -> None:
    if store.is_current():
        store.cancel(store.run_ids(sweep))
        state.later("Stopping; what finished stays.")


@state.explain_errors
def resume(store: Store, sweep: int) -> None:
    if store.is_current():
        store.resume(store.run_ids(sweep))
        state.wake_runner()


def stop_or_resume(store: Store, sweep: int) -> None:
    counts, which = store.counts(sweep), (store, sweep)
    if counts["running"] or counts["queued"]:
        st.button("Stop", on_click=stop, args=which, help="Cancel the runs that have not ended; what finished stays")
    elif left := counts["cancelled"] + counts["failed"]:
        told = f"Go on with the {several(left, 'run')} that were stopped or failed"
        st.button("Resume", on_click=resume, args=which, help=told)
    else:
        st.button("Finished", disabled=True)


def choose_view(tasks_of: dict[str, int]) -> tuple[View, bool]:
    """How to look at it; every choice is in the URL."""
    linked: dict[str, Any] = {"bind": "query-params"}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        benchmark = next(iter(tasks_of))
        if len(tasks_of) > 1:
            benchmark = st.selectbox("Benchmark", list(tasks_of), format_func=state.title, key="on", width=260, **linked)
        told = "Raw products grow with the length of z; per unit ‖z‖ methods can be compared"
        look: dict[str, Any] = {"format_func": AXES.__getitem__, "default": "unit", "required": True, "help": told}
        chosen = st.segmented_control("Axes", list(AXES), key="axes", **look, **linked)
        axes: analysis.Axes = chosen or "unit"  # an empty ?axes= in the URL leaves nothing chosen
        tasks = tasks_of[benchmark]
        pairs = {f"{s + 1} → {t + 1}": (s, t) for t in range(1, tasks) for s in range(t)}
        pair, after = "mean", tasks
        if tasks > 1:
            pair = st.selectbox("Old → new task", [*pairs, "mean"], key="pair", width=130, **linked)
            told = "Go back in training and see how frontiers and table grew"
            after = st.slider("After task", 1, tasks, tasks, key="after", width=220, help=told, **linked)
        hide = st.toggle("Hide dominated", key="front", **linked)
    return View(benchmark, axes, pairs.get(pair), None if after == tasks else after), hide


def watched(store: Store, sweeps: dict[int, dict[str, Any]]) -> None:
    """A sweep, and what it shows."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sweep = choose_sweep(store, sweeps)
        stop_or_resume(store, sweep)
        exported = st.container(width="content")
    view, hide = choose_view(state.scope(store, sweep))
    active = not state.over(store.counts(sweep))

    @state.explain_errors
    def now() -> None:
        state.rerun_if_replaced(store)
        if not store.run_ids(sweep):  # deleted elsewhere
            st.rerun()
        live.results(store, sweep, view, hide)
        if active and state.over(store.counts(sweep)):
            state.later("The sweep has ended.")
            st.rerun()

    st.fragment(now, run_every=1.0 if active else None)()
    with exported:
        exports.offer(store, sweep, view)


@state.explain_errors
def page() -> None:
    """What somebody waits for comes first, then the rest."""
    store = state.store()
    state.say()
    if sweeps := state.sweeps(store):
        watched(store, sweeps)
    else:
        nothing_yet(store)
    with st.sidebar:
        what_to_run(store)
    if "awake" not in st.session_state:
        st.session_state["awake"] = True
        state.wake_runner()


page()
