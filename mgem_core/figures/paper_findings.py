"""What each figure and table of the paper shows with our results, in one sentence that is computed from them."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import pandas as pd

from mgem_core.analysis import aggregate, paired
from mgem_core.analysis.aggregate import View
from mgem_core.analysis.significance import LEAST_SEEDS
from mgem_core.figures import cones, networks
from mgem_core.figures.paper_table import Entry
from mgem_core.figures.published_selection import select_published
from mgem_core.figures.samples import installed_domains
from mgem_core.paper import published
from mgem_core.paper.claims.evidence import listed, span
from mgem_core.paper.claims.frontier import differences, in_words, range_in_words
from mgem_core.paper.tables import FIGURES, Scale
from mgem_core.text import pluralize

COMPARED = {
    "at_equal_x": ("Learning at equal retention per ‖z‖", " %"),
    "best_acc": ("ACC at the best strength", " points"),
}
COSTS = {"seconds_per_step": "time", "peak_memory_mb": "peak memory"}


def figure_finding(name: str) -> str:
    """Return what a figure of the paper shows with our results; an empty text if this version has none."""
    about = FIGURES[name]
    if not about.shown_by:
        return {"figure-1": cones.in_words, "figure-5": _domains}[name]()
    return _published_finding(name, published.version(name)) if len(published.read(name)[0]) else ""


@lru_cache(maxsize=16)
def _published_finding(name: str, version: int) -> str:
    """`version` changes whenever the file is written again."""
    selection = select_published(name, View())
    if not FIGURES[name].has_lines:
        return costs_in_words(networks.by_network(selection.runs()))
    rows = selection.runs_to_compare()
    return lines_in_words(paired.compare(rows, aggregate.default_baseline(rows)))


def lines_in_words(verdicts: Sequence[paired.Verdict]) -> str:
    """Compare lines with their baseline, grouped by what is tested."""
    if not verdicts or len(verdicts[0].seeds) < LEAST_SEEDS:
        return f"Lines cannot be compared: they share {pluralize(len(verdicts[0].seeds) if verdicts else 0, 'seed')}."
    texts = []
    for name, (what, unit) in COMPARED.items():
        tested = [one for one in verdicts if one.primary == name and one.main]
        if tested:
            found = differences(tested, name).assign(significant=[one.significant for one in tested])
            texts.append(f"{what} minus that of {tested[0].baseline} is {in_words(found, unit)}")
            if name == "at_equal_x" and (other := on_other_axes(tested)):
                texts.append(other)
    if not texts:
        return "Lines cannot be compared, because results are missing."
    return f"{'; '.join(texts)}, in {pluralize(len(verdicts[0].seeds), 'seed')}."


def on_other_axes(verdicts: Sequence[paired.Verdict]) -> str:
    """Give the range of the differences on the other axes, and name the lines whose difference has the other sign there."""
    found = differences(verdicts, "at_equal_x_other")
    if found.empty:
        return ""
    pairs = [(one.line, one.at_equal_x, one.at_equal_x_other) for one in verdicts]
    changed = [line for line, one, other in pairs if one and other and one.mean * other.mean < 0]
    axes = "on raw axes" if verdicts[0].other_axes == "raw" else "per ‖z‖"
    signs = f", where the sign of {listed(changed)} changes" if changed else ""
    return f"{axes} it is {range_in_words(found, ' %')}{signs}"


def costs_in_words(rows: pd.DataFrame, baseline: str = "GEM") -> str:
    """Compare the costs of a step with those of the baseline over all networks, and say whether ACC can be compared."""
    by_line = {name: rows.pivot(index="network", columns="line", values=name) for name in [*COSTS, "acc"]}
    others = [line for line in by_line["acc"] if line != baseline]
    if baseline not in by_line["acc"] or not others:
        return f"There is nothing to compare with {baseline}."
    costs = "; ".join(f"{line}, {ratios}" for line in others if (ratios := _cost_ratios(by_line, line, baseline)))
    sentence = f"A step compared with one of {baseline}, over {pluralize(len(by_line['acc']), 'network')}: {costs}."
    if not networks.have_learned(rows):
        return f"{sentence} No ACC is above chance, so accuracies are not compared."
    more = [f"{(by_line['acc'][line] > by_line['acc'][baseline]).sum()} with {line}" for line in others]
    return f"{sentence} Networks with more ACC than with {baseline}: {listed(more)}."


def _cost_ratios(by_line: Mapping[str, pd.DataFrame], line: str, baseline: str) -> str:
    ratios = {what: (by_line[name][line] / by_line[name][baseline]).dropna() for name, what in COSTS.items()}
    return " and ".join(f"{span(found, 2)} times the {what}" for what, found in ratios.items() if len(found))


def _domains() -> str:
    counts = [f"{len(here)} of {len(all_of)} of {title}" for title, here, all_of in installed_domains()]
    return f"Domains whose images are on this computer: {listed(counts)}."


def table_finding(entries: Sequence[Entry], source: str, scale: Scale) -> str:
    """Return in how many rows ACC of this source differs from the paper's, and by how much."""
    found = [entry.differences["acc"] for entry in entries if entry.source == source and "acc" in entry.differences]
    if not found:
        return ""
    values = [one.value for one in found]
    by = f"from {min(values):+.1f} to {max(values):+.1f} points".replace("-", "−")
    if scale == "short":
        return f"ACC minus the paper's is {by}; the short scale trains less, so these differences are not tested."
    significant = sum(one.significant for one in found)
    rows = pluralize(len(found), "row")
    return f"ACC differs significantly from the paper's in {significant} of {rows}; differences are {by}."
