"""Select the runs that are compared with a row of the paper's tables, and average them. Pure functions on frames."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from pydantic import ValidationError

from mgem_core import text
from mgem_core.analysis.choice import choose_configuration
from mgem_core.analysis.significance import LEAST_SEEDS, are_significant, from_deviation
from mgem_core.config import RunConfig
from mgem_core.metrics import MEASURES
from mgem_core.paper import published
from mgem_core.paper.tables import SCALES, TABLES, Cell, Row, Scale, Table

CHOOSING_SEEDS = 2  # seeds that choose the settings of a row if they leave it enough others for comparisons; otherwise one
COLLAPSE = 30.0  # a seed has collapsed if its ACC is this many points below the median of the seeds
IN_TABLES = {  # fields that `settings` leaves out or names itself: given by table and row, or without effect on learning
    *("benchmark", "method", "network", "domains", "tasks", "iterations", "batch_size", "memory"),
    *("modules", "splits", "solver", "strength", "lr", "seed"),
    *("device", "threads", "probe_every", "probe_samples", "snap_every", "snap_splits"),
}


class Mean(NamedTuple):
    """A mean over seeds and its standard error, which is NaN for a single seed."""

    mean: float
    error: float
    seeds: int


@dataclass(frozen=True)
class Result:
    """The result of a row: means over the seeds of one configuration."""

    means: dict[str, Mean]  # by measure; Independent has only ACC
    by_seed: dict[str, dict[int, float]]  # measure → seed → value
    seeds: tuple[int, ...]  # the seeds in the means
    config: RunConfig  # with one of the seeds
    compared: int  # number of configurations among which validation chose this one; 0: validation did not choose
    chosen_on: tuple[int, ...]  # the seeds with which it was chosen, if it was
    others: int  # number of configurations that could not be compared with it
    without_result: int  # number of runs of this configuration that diverged or failed

    @property
    def collapsed(self) -> dict[int, float]:
        """Return seed → ACC of the seeds far below the others; with such seeds, means and intervals say little."""
        acc = self.by_seed["acc"]
        return {seed: value for seed, value in acc.items() if value < np.median([*acc.values()]) - COLLAPSE}


class Difference(NamedTuple):
    """A number of ours minus the paper's."""

    value: float
    error: float  # both errors combined; NaN: unknown
    seeds: int  # ours
    significant: bool = False


def find_result(runs: pd.DataFrame, table: Table, scale: Scale, row: Row) -> Result | None:
    """Return the result of a row from a frame of `frames.with_forgetting`; None if no finished run belongs to the row.

    If there are several configurations, such as several strengths, the one with the highest validation accuracy is chosen,
    with the first seeds that all of them share (see CHOOSING_SEEDS). Means are over its other seeds; if it has none, over
    those.
    """
    mine = runs[belongs(runs, table, scale, row)]
    finished = mine[mine["status"] == "finished"].drop_duplicates(["configuration", "seed"], keep="last")
    if finished.empty:
        return None
    for seeds in (CHOOSING_SEEDS, 1):
        configuration, chosen_on, compared = choose_configuration(_without_broken(finished, mine), seeds)
        chosen = finished[finished["configuration"] == configuration]
        others = chosen[~chosen["seed"].isin(chosen_on)]
        if len(others) >= LEAST_SEEDS:
            break
    reported = others if len(others) else chosen
    ended_early = mine[(mine["configuration"] == configuration) & mine["status"].isin(["diverged", "failed"])]
    return Result(
        means={name: found for name in MEASURES if (found := _mean(reported[name])).seeds},
        by_seed={name: reported.set_index("seed")[name].dropna().astype(float).to_dict() for name in MEASURES},
        seeds=tuple(sorted(map(int, reported["seed"]))),
        config=RunConfig.model_validate_json(configuration),
        compared=compared,
        others=finished["configuration"].nunique() - max(1, compared),
        chosen_on=chosen_on,
        without_result=len(ended_early),
    )


def find_results(runs: pd.DataFrame, table: Table, scale: Scale) -> dict[str, Result]:
    """Return the result of each row of a table, by label; rows without finished runs are left out."""
    return {row.label: found for row in table.rows if (found := find_result(runs, table, scale, row))}


def published_results(table: str, scale: Scale, folder: Path | None = None) -> dict[str, Result]:
    """Return `find_results` of published runs. All callers share them and must not change them."""
    folder = folder or published.FOLDER
    return _published_results(folder, table, scale, published.version(table, folder))


@lru_cache(maxsize=64)
def _published_results(folder: Path, table: str, scale: Scale, version: int) -> dict[str, Result]:
    """`version` changes whenever the file is written again."""
    return find_results(published.read(table, folder)[0], TABLES[table], scale)


def _without_broken(finished: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Leave out configurations with a run that diverged or failed, if others remain.

    Their means would be over the seeds that went well only.
    """
    broken = runs.loc[runs["status"].isin(["diverged", "failed"]), "configuration"]
    whole = finished[~finished["configuration"].isin(broken)]
    return finished if whole.empty else whole


def belongs(runs: pd.DataFrame, table: Table, scale: Scale, row: Row) -> np.ndarray:
    """Mark the runs that have the fields of the table at this scale and of the row; all other fields may differ."""
    is_candidate = (runs["benchmark"] == table.benchmark) & (runs["method"] == row.fields["method"])
    place = table.rows.index(row)
    found = [
        candidate and _belongs(configuration, table.name, scale, place)
        for candidate, configuration in zip(is_candidate, runs["configuration"], strict=True)
    ]
    return np.array(found, bool)


def belongs_to_table(runs: pd.DataFrame, table: Table) -> np.ndarray:
    """Mark the runs that belong to any row of the table at any scale."""
    found = np.zeros(len(runs), bool)
    for scale in SCALES:
        for row in table.rows:
            found |= belongs(runs, table, scale, row)
    return found


@lru_cache(maxsize=100_000)
def _belongs(configuration: str, table: str, scale: Scale, place: int) -> bool:
    """Test whether a configuration has all fields of the table and of the row already."""
    fields = {**TABLES[table].scale(scale), **TABLES[table].rows[place].fields}
    try:
        config = RunConfig.model_validate_json(configuration)
        wanted = RunConfig.model_validate({**config.model_dump(), **fields})
    except ValidationError:  # written by another version, or with one strength per task for another number of tasks
        return False
    return config.canonical() == wanted.canonical()


def _mean(values: pd.Series) -> Mean:
    known = values.dropna().to_numpy(float)
    n = len(known)
    error = float(known.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return Mean(float(known.mean()) if n else math.nan, error, n)


def difference(ours: Mean | None, printed: Cell | None) -> Difference | None:
    """Subtract the paper's number from ours; None if one is unknown."""
    if ours is None or printed is None:
        return None
    return Difference(ours.mean - printed.mean, math.hypot(ours.error, printed.error), ours.seeds)


def judge(differences: Sequence[Difference]) -> list[Difference]:
    """Test differences of one measure from the paper in all rows of a table together."""
    estimates = [from_deviation(one.value, one.error * math.sqrt(one.seeds), one.seeds) for one in differences]
    return [one._replace(significant=is_one) for one, is_one in zip(differences, are_significant(estimates), strict=True)]


def in_words(result: Result) -> str:
    """Describe the configuration, how it was chosen, and the seeds of its means."""
    if result.compared:
        how = f"chosen among {result.compared} configurations by validation on {_seeds(result.chosen_on)}"
        how += f"; means over {'the same ' if result.seeds == result.chosen_on else ''}{_seeds(result.seeds)}"
    else:
        how = "" if not result.others else "has the most seeds, was not chosen on validation data; "
        how += f"means over {_seeds(result.seeds)}"
    for seed, acc in result.collapsed.items():
        how += f"; seed {seed} collapsed, with an ACC of {acc:.1f}"
    if result.others:
        how += f"; {text.pluralize(result.others, 'other configuration')} could not be compared"
    if result.without_result:
        how += f"; {text.pluralize(result.without_result, 'run')} failed or diverged"
    return f"{', '.join(settings(result.config))}: {how}."


def settings(config: RunConfig) -> list[str]:
    """List strength, learning rate, and the other settings that are not the default; tables do not show these."""
    relevant = config.relevant_fields()
    defaults = RunConfig(benchmark=config.benchmark, method=config.method)
    found = [f"strength {text.strength(config.strength)}"] if "strength" in relevant else []
    others = [name for name in relevant if name not in IN_TABLES and getattr(config, name) != getattr(defaults, name)]
    return [
        *found,
        f"learning rate {config.lr:g}",
        *(f"{name.replace('_', ' ')} {getattr(config, name)}" for name in others),
    ]


def _seeds(seeds: Sequence[int]) -> str:
    return ("seed " if len(seeds) == 1 else "seeds ") + ", ".join(map(str, seeds))
