"""What the results tell: every line of a sweep against a baseline, in sentences that the data carry."""

import pandas as pd
import runner_process
import session
import streamlit as st
from text import escape_markdown

from mgem_core import analysis, paired
from mgem_core.analysis import View
from mgem_core.paired import LEAST_SEEDS
from mgem_core.store import Store
from mgem_core.sweeps import SweepSpec
from mgem_core.text import pluralize

MORE_SEEDS = 3  # added by one click


def show_verdicts(store: Store, sweep: int, runs: pd.DataFrame, view: View) -> None:
    """A sentence per line; as long as there are too few seeds, how many it takes, and a way to get them."""
    rows = session.read_once("runs to compare", store, (sweep, view), lambda: _read_rows(store, runs, view))
    lines = list(dict.fromkeys(rows["line"]))
    if len(lines) < 2:
        return
    default = lines.index(analysis.default_baseline(rows))
    help = "The line that the others are compared with. Runs are compared with runs of the same seed only."
    baseline = st.selectbox("Compare with", lines, default, key="baseline", width=260, help=help)
    verdicts = session.read_once("verdicts", store, (sweep, view, baseline), lambda: paired.compare(rows, baseline))
    seeds = len(verdicts[0].seeds) if verdicts else 0
    if seeds >= LEAST_SEEDS:
        st.markdown("\n".join(f"- {escape_markdown(paired.in_words(verdict))}" for verdict in verdicts))
        return
    finished = f"{pluralize(seeds, 'seed')} {'has' if seeds == 1 else 'have'}" if seeds else "No seed has"
    st.markdown(f"{finished} finished in every configuration; it takes at least {LEAST_SEEDS} to tell a difference.")
    if rows["seed"].nunique() < LEAST_SEEDS:
        st.button(f"Add {MORE_SEEDS} seeds", on_click=add_seeds, args=(store, sweep))


def _read_rows(store: Store, runs: pd.DataFrame, view: View) -> pd.DataFrame:
    measured = session.measurement_cache().read(store, runs["id"].tolist())
    return analysis.runs_to_compare(runs, measured, view)


@session.explain_errors
def add_seeds(store: Store, sweep: int) -> None:
    """Launch the runs that the sweep lacks with a few seeds more."""
    found = store.sweep(sweep)
    if store.is_current() and found:
        added = store.extend(sweep, SweepSpec.model_validate(found["spec"]).with_more_seeds(MORE_SEEDS))
        runner_process.wake_runner()
        session.queue_toast(f"{pluralize(added, 'run')} added.")
