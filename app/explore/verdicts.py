"""Compare each line of a sweep with the baseline."""

import runner_process
import session
import streamlit as st
from text import escape_markdown

from explore.page_selection import PageSelection
from mgem_core.analysis import aggregate, paired
from mgem_core.analysis.paired import LEAST_SEEDS, Estimate, Verdict
from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store
from mgem_core.text import pluralize

MORE_SEEDS = 3  # that one click adds
COLUMNS = {  # estimates of a verdict → titles of the table's columns
    "at_equal_x": "learned at equal retention, %",
    "fwd_at_equal_bwd": "FWD at equal BWD",
    "acc": "ACC at equal q",
    "best_acc": "ACC at the best q",
}
EXPLANATION = (
    "Differences from {baseline} with 95 % confidence intervals, accuracies in points. Bold: significant after Holm's "
    "correction over the lines. The best q is chosen on the other seeds. Equal q is not equal strength: a floor on each "
    "of K splits restricts a step about K times as much."
)


def show_verdicts(selection: PageSelection) -> None:
    """Show a sentence per line; if there are too few seeds, show how many are needed and a button that adds them."""
    store, view, rows = selection.store, selection.view, selection.runs_to_compare()
    if rows["line"].nunique() < 2:
        return
    has_baseline = view.baseline in set(rows["line"])  # false if all of its runs have failed since it was chosen
    baseline = view.baseline if has_baseline else aggregate.default_baseline(rows)
    subject = (*selection.subject, baseline)
    verdicts = session.read_once("verdicts", store, subject, lambda: paired.compare(rows, baseline))
    seeds = len(verdicts[0].seeds) if verdicts else 0
    if seeds >= LEAST_SEEDS:
        st.markdown("\n".join(f"- {escape_markdown(paired.in_words(verdict))}" for verdict in verdicts))
        st.expander("All differences").markdown(differences_table(verdicts))
        return
    finished = f"{pluralize(seeds, 'seed')} {'has' if seeds == 1 else 'have'}" if seeds else "No seed has"
    st.markdown(f"{finished} finished in every configuration. {paired.SEEDS_NEEDED}")
    if rows["seed"].nunique() < LEAST_SEEDS:
        st.button(f"Add {MORE_SEEDS} seeds", on_click=add_seeds, args=(store, selection.sweep))


def differences_table(verdicts: list[Verdict]) -> str:
    """Return a Markdown table of all differences with 95 % confidence intervals; significant ones are bold."""
    rows = ["| line | " + " | ".join(COLUMNS.values()) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for verdict in verdicts:
        cells = [_cell(verdict.estimate(name), name in verdict.distinct) for name in COLUMNS]
        rows.append(" | ".join([f"| {escape_markdown(verdict.line)}", *cells]) + " |")
    return "\n".join([*rows, "", EXPLANATION.format(baseline=escape_markdown(verdicts[0].baseline))])


def _cell(found: Estimate | None, is_significant: bool) -> str:
    if found is None:
        return "—"
    text = f"{found.mean:+.2f} ({found.low:+.2f} to {found.high:+.2f})".replace("-", "−")
    return f"**{text}**" if is_significant else text


@session.explain_errors
def add_seeds(store: Store, sweep: int) -> None:
    """Add a few seeds to the sweep, and launch their runs."""
    found = store.sweep(sweep)
    if store.is_current() and found:
        added = store.extend(sweep, SweepSpec.model_validate(found["spec"]).with_more_seeds(MORE_SEEDS))
        runner_process.wake_runner()
        session.queue_toast(f"{pluralize(added, 'run')} added.")
