"""Compare each line of a sweep with the baseline."""

import runner_process
import session
import streamlit as st
from text import escape_markdown

from explore.page_selection import PageSelection
from explore.trained_verdicts import FEW_SEEDS, UNFINISHED, WAITING, seeds_to_add, too_few
from mgem_core.analysis import aggregate, paired
from mgem_core.analysis.aggregate import Axes
from mgem_core.analysis.paired import Verdict
from mgem_core.analysis.significance import LEAST_SEEDS, Estimate
from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store
from mgem_core.text import pluralize

LEARNED: dict[Axes, str] = {"unit": "learned at equal retention, per ‖z‖, %", "raw": "learned at equal retention, raw, %"}
LEARNED["cosine"] = "learned at equal retention, cosines, %"
COLUMNS = {  # estimates of a verdict → titles of the table's columns, after the two of `LEARNED`
    "fwd_at_equal_bwd": "FWD at equal BWD",
    "acc": "ACC at equal q",
    "best_acc": "ACC at the best q",
}
ENOUGH = (
    "Enough to find a difference as large as the seen one with 80 % probability, if it is real. Looking at the results "
    "and then adding seeds finds a few more differences by chance than 5 %: see docs/significance.md."
)
EXPLANATION = (
    "Differences from {baseline} with 95 % confidence intervals, accuracies in points. Bold: significant after Holm's "
    "correction over the lines. One difference per line is tested: the first column or, if the curves have less than "
    "half of their range in common, the last. The best q of a seed is chosen on the previous seed. Equal q is not equal "
    "strength: a floor on each of K splits "
    "restricts a step about K times as much."
)


def show_verdicts(selection: PageSelection) -> None:
    """Show a sentence per line, and a button that adds the seeds that a comparison needs."""
    store, view, rows = selection.store, selection.view, selection.runs_to_compare()
    if rows["line"].nunique() < 2:
        return
    if selection.all_runs()["status"].isin(UNFINISHED).any():
        st.markdown(WAITING)
        return
    has_baseline = view.baseline in set(rows["line"])  # false if all of its runs have failed since it was chosen
    baseline = view.baseline if has_baseline else aggregate.default_baseline(rows)
    subject = (*selection.subject, baseline)
    other_axes = aggregate.OTHER_AXES[view.axes]
    verdicts = session.read_once("verdicts", store, subject, lambda: paired.compare(rows, baseline, other_axes))
    seeds = len(verdicts[0].seeds) if verdicts else 0
    if seeds >= LEAST_SEEDS:
        st.markdown("\n".join(f"- {escape_markdown(paired.in_words(verdict))}" for verdict in verdicts))
        if branches := paired.about_branches(verdicts):
            st.caption(branches)
        st.expander("All differences").markdown(differences_table(verdicts, view.axes))
        if more := seeds_to_add(verdicts):
            _show_add_button(store, selection.sweep, more, ENOUGH)
        return
    st.markdown(too_few(seeds))
    if rows["seed"].nunique() < LEAST_SEEDS:
        _show_add_button(store, selection.sweep, FEW_SEEDS)


def _show_add_button(store: Store, sweep: int | None, count: int, help: str | None = None) -> None:
    st.button(f"Add {pluralize(count, 'seed')}", help=help, on_click=add_seeds, args=(store, sweep, count))


def differences_table(verdicts: list[Verdict], axes: Axes = "unit") -> str:
    """Return a Markdown table of all differences with 95 % confidence intervals; the significant ones are bold."""
    columns = {"at_equal_x": LEARNED[axes], "at_equal_x_other": LEARNED[aggregate.OTHER_AXES[axes]], **COLUMNS}
    rows = ["| line | " + " | ".join(columns.values()) + " |", "|---" * (len(columns) + 1) + "|"]
    for verdict in verdicts:
        cells = [_cell(verdict.estimate(name), verdict.significant and name == verdict.primary) for name in columns]
        rows.append(" | ".join([f"| {escape_markdown(verdict.line)}", *cells]) + " |")
    return "\n".join([*rows, "", EXPLANATION.format(baseline=escape_markdown(verdicts[0].baseline))])


def _cell(found: Estimate | None, is_significant: bool) -> str:
    if found is None:
        return "—"
    text = f"{found.mean:+.2f} ({found.low:+.2f} to {found.high:+.2f})".replace("-", "−")
    return f"**{text}**" if is_significant else text


@session.explain_errors
def add_seeds(store: Store, sweep: int, count: int) -> None:
    """Add seeds to the sweep, and launch their runs."""
    found = store.sweep(sweep)
    if store.is_current() and found:
        added = store.extend(sweep, SweepSpec.model_validate(found["spec"]).with_more_seeds(count))
        runner_process.wake_runner()
        session.queue_toast(f"{pluralize(added, 'run')} added.")
