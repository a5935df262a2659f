"""What the results tell: every line of a sweep against a baseline, in sentences that the data carry."""

import runner_process
import session
import streamlit as st
from text import escape_markdown

from explore.page_selection import PageSelection
from mgem_core import paired
from mgem_core.paired import LEAST_SEEDS
from mgem_core.store import Store
from mgem_core.sweeps import SweepSpec
from mgem_core.text import pluralize

MORE_SEEDS = 3  # added by one click


def show_verdicts(selection: PageSelection) -> None:
    """A sentence per line; as long as there are too few seeds, how many it takes, and a way to get them."""
    store, view, rows = selection.store, selection.view, selection.runs_to_compare()
    if rows["line"].nunique() < 2:
        return
    subject = (*selection.subject, view.baseline)
    verdicts = session.read_once("verdicts", store, subject, lambda: paired.compare(rows, view.baseline))
    seeds = len(verdicts[0].seeds) if verdicts else 0
    if seeds >= LEAST_SEEDS:
        st.markdown("\n".join(f"- {escape_markdown(paired.in_words(verdict))}" for verdict in verdicts))
        return
    finished = f"{pluralize(seeds, 'seed')} {'has' if seeds == 1 else 'have'}" if seeds else "No seed has"
    st.markdown(f"{finished} finished in every configuration; it takes at least {LEAST_SEEDS} to tell a difference.")
    if rows["seed"].nunique() < LEAST_SEEDS:
        st.button(f"Add {MORE_SEEDS} seeds", on_click=add_seeds, args=(store, selection.sweep))


@session.explain_errors
def add_seeds(store: Store, sweep: int) -> None:
    """Launch the runs that the sweep lacks with a few seeds more."""
    found = store.sweep(sweep)
    if store.is_current() and found:
        added = store.extend(sweep, SweepSpec.model_validate(found["spec"]).with_more_seeds(MORE_SEEDS))
        runner_process.wake_runner()
        session.queue_toast(f"{pluralize(added, 'run')} added.")
