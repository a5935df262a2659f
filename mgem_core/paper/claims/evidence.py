"""Published results as claims need them, and the rule that turns checks into a verdict."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import pandas as pd

from mgem_core.analysis import aggregate, paired
from mgem_core.analysis.aggregate import View
from mgem_core.analysis.significance import Estimate, estimate
from mgem_core.learners import METHOD_OF_FAMILY
from mgem_core.paper import published
from mgem_core.paper.selection import Result, belongs, published_results
from mgem_core.paper.tables import TABLES, Scale
from mgem_core.text import signed

Verdict = Literal["reproduced", "partly reproduced", "not reproduced", "not tested"]
FOLDER = published.FOLDER
MNIST = {
    "table-1-permutations": "MNIST Permutations",
    "table-1-rotations-shuffled": "MNIST Rotations, shuffled",
    "table-1-rotations": "MNIST Rotations, rising",
}
OTHER_ORDER = "Rising rotations are probably not in the paper's order, so they do not count for the verdict."
BUILT_IN = {
    "mnist5k-permutations": "built-in permutations",
    "mnist5k-rotations": "built-in rotations",
    "mnist5k-split": "split digits",
}


class Deciding(NamedTuple):
    """The one number that decides a claim: if the claim is not reproduced, the best case for it."""

    value: str  # with its interval, if it has one: "+0.37 (95 % CI +0.03 to +0.71)"
    about: str  # what the number is
    shown_in: str = ""  # the table or figure of the paper that it belongs to, such as "table-1-rotations"


class Finding(NamedTuple):
    """The answer to a claim."""

    verdict: Verdict
    deciding: Deciding
    numbers: dict[str, float]  # that the verdict rests on, by what they are
    sentences: tuple[str, ...]  # the answer first


def judge(checks: Iterable[bool | None]) -> Verdict:
    """Combine the checks of a claim: each holds, does not hold, or could not be tested (None)."""
    found = [*checks]
    if found and all(found):
        return "reproduced"
    if any(found):
        return "partly reproduced"
    return "not reproduced" if False in found else "not tested"


def results(table: str, scale: Scale = "paper") -> dict[str, Result]:
    """Return the published result of each row of a table, by label. Rows without runs are left out."""
    return published_results(table, scale, FOLDER)


def compared_settings(table: str, label: str) -> pd.DataFrame:
    """Return a run of each configuration among which validation chose that of a row at the paper's scale."""
    of, found, runs = TABLES[table], results(table)[label], published.read(table, FOLDER)[0]
    [row] = [row for row in of.rows if row.label == label]
    mine = runs[belongs(runs, of, "paper", row) & runs["seed"].isin(found.chosen_on) & runs["validation_acc"].notna()]
    count = mine.groupby("configuration")["seed"].transform("nunique")
    return mine[count == len(found.chosen_on)].drop_duplicates("configuration")


def compare_lines(figure: str) -> list[paired.Verdict]:
    """Compare every line of a published figure with GEM."""
    return paired.compare(aggregate.runs_to_compare(*published.read(figure, FOLDER), View()), "GEM")


def runs_of_choice(table: str) -> pd.DataFrame:
    """Return the runs of the GEM family at the paper's scale with seed 0, on which settings were chosen.

    `total` is the sum of the strengths of all memory rows in the last task.
    """
    runs = published.read(table, FOLDER)[0]
    scale = TABLES[table].paper
    is_chosen = (runs["method"] == METHOD_OF_FAMILY["GEM"]) & (runs["seed"] == 0) & (runs["tasks"] == scale["tasks"])
    chosen = runs[is_chosen & (runs["iterations"] == scale["iterations"])]
    return chosen.assign(total=chosen["strength"].astype(float) * chosen["splits"] * (chosen["tasks"] - 1))


def strength_effect(table: str, measure: str = "acc") -> tuple[float, Estimate | None]:
    """Return the strength chosen for GEM, and a measure there minus that at 0, within the seeds that chose neither."""
    found = results(table)["GEM"]
    runs, q = published.read(table, FOLDER)[0], aggregate.mean_strength(found.config.strength)
    runs = runs[(runs["label"] == "GEM") & (runs["lr"] == found.config.lr) & ~runs["seed"].isin(found.chosen_on)]
    by_seed = runs.pivot(index="seed", columns="strength", values=measure).reindex(columns=[0.0, q]).dropna()
    return q, estimate((by_seed[q] - by_seed[0.0]).to_numpy(float))


def interval(found: Estimate, decimals: int = 2) -> str:
    """Write an estimate: −0.76 (95 % CI −1.20 to −0.33)."""
    mean, low, high = (signed(value, decimals) for value in (found.mean, found.low, found.high))
    return f"{mean} (95 % CI {low} to {high})"


def span(values: Iterable[float], decimals: int = 1, unit: str = "") -> str:
    """Write the range of some numbers: 1.5 to 2.3 %; one number if both ends are written alike."""
    found = [*values]
    low, high = (f"{value:.{decimals}f}".replace("-", "−") for value in (min(found), max(found)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def listed(words: Sequence[str]) -> str:
    """Join words as in a sentence: a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
