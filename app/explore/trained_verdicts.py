"""The message with the verdicts about the trained lines of a source."""

from collections.abc import Mapping, Sequence

import pandas as pd

from explore.header import Message
from explore.sources import Source
from mgem_core.analysis import aggregate, frames, paired
from mgem_core.analysis.aggregate import Measurements, View
from mgem_core.analysis.measurements import MeasurementCache
from mgem_core.analysis.paired import Verdict
from mgem_core.analysis.significance import LEAST_SEEDS, SEEDS_NEEDED
from mgem_core.store import Store
from mgem_core.text import pluralize, signed

FEW_SEEDS = 3  # that one click adds if there are too few for a comparison
UNFINISHED = ("queued", "running")
WAITING = "The lines are compared when all runs have ended."
MOST_ADDED = 24  # seeds that one click adds at most


def verdicts_message(store: Store, source: Source, runs: Sequence[int], cache: MeasurementCache) -> Message:
    """Compare each line of these runs with the baseline; `seedsToAdd` is how many more seeds would help, or 0."""
    if source.sweep is None:
        return {"kind": "verdicts", "sentences": [], "summary": "", "seedsToAdd": 0}
    return compare_runs(frames.runs(store, ids=runs), cache.read(store, runs))


def compare_runs(runs: pd.DataFrame, measured: Mapping[int, Measurements]) -> Message:
    """Return the message about runs (a frame of frames.runs) with their measurements."""
    view = View()
    rows = aggregate.runs_to_compare(runs, measured, view)
    sentences, summary, more = _compare(rows, view, not runs["status"].isin(UNFINISHED).any())
    return {"kind": "verdicts", "sentences": sentences, "summary": summary, "seedsToAdd": more}


def _compare(rows: pd.DataFrame, view: View, has_ended: bool) -> tuple[list[str], str, int]:
    if rows["line"].nunique() < 2:
        return [], "", 0
    if not has_ended:  # a verdict that changes as runs finish would be no verdict
        return [WAITING], "", 0
    verdicts = paired.compare(rows, aggregate.default_baseline(rows), aggregate.OTHER_AXES[view.axes])
    seeds = len(verdicts[0].seeds) if verdicts else 0
    if seeds >= LEAST_SEEDS:
        return [paired.in_words(verdict) for verdict in verdicts], summarize(verdicts), seeds_to_add(verdicts)
    missing = FEW_SEEDS if rows["seed"].nunique() < LEAST_SEEDS else 0
    return [too_few(seeds)], "", missing


def too_few(seeds: int) -> str:
    """Say that this many shared seeds are too few for a comparison."""
    finished = f"{pluralize(seeds, 'seed')} {'has' if seeds == 1 else 'have'}" if seeds else "No seed has"
    return f"{finished} finished in every configuration. {SEEDS_NEEDED}"


def summarize(verdicts: Sequence[Verdict]) -> str:
    """Return one sentence about all lines: those that differ significantly from the baseline, or that none does."""
    significant = [verdict for verdict in verdicts if verdict.significant and verdict.main]
    if significant:
        return f"Compared with {verdicts[0].baseline}: {', '.join(map(_in_brief, significant))}: significant."
    found: dict[str, list[float]] = {}  # what these seeds would have found with 80 % probability, by its unit
    for verdict in verdicts:
        if verdict.detectable is not None:
            found.setdefault(_unit(verdict), []).append(verdict.detectable)
    limits = " or ".join(f"{_span(values)} {unit}" for unit, values in found.items())
    power = f"; these seeds would probably show {limits}, depending on the line" if found else ""
    return f"No line differs significantly from {verdicts[0].baseline}{power}."


def _unit(verdict: Verdict) -> str:
    return "% learned at equal retention" if verdict.is_at_equal_x else "points ACC at the best strength"


def _span(values: Sequence[float]) -> str:
    low, high = (f"{value:.0f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _in_brief(verdict: Verdict) -> str:
    assert verdict.main, "a significant difference is known"
    return f"{verdict.line} {signed(verdict.main.mean)} {_unit(verdict)}"


def seeds_to_add(verdicts: Sequence[Verdict]) -> int:
    """Return how many more seeds the difference that is nearest to significance needs; 0 if it needs too many."""
    needed = [verdict.seeds_needed for verdict in verdicts if not verdict.significant and verdict.main]
    more = [number - len(verdicts[0].seeds) for number in needed if number]
    return min([number for number in more if 0 < number <= MOST_ADDED], default=0)
