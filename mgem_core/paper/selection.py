"""Which runs are compared with a cell of the paper's tables, and what they say there. Pure functions on frames of runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from pydantic import ValidationError

from mgem_core import text
from mgem_core.analysis.choice import choose_configuration
from mgem_core.config import RunConfig
from mgem_core.paper.tables import MEASURES, SCALES, TABLES, Cell, Row, Scale, Table

COLLAPSE = 30.0  # points of ACC below the median of a configuration's seeds
IN_TABLES = {  # fields that a table and its row decide, that `settings` has anyway, or that do not change what is learned
    *("benchmark", "method", "network", "domains", "tasks", "iterations", "batch_size", "memory"),
    *("modules", "splits", "solver", "strength", "lr", "seed"),
    *("device", "threads", "probe_every", "probe_samples", "snap_every", "snap_splits"),
}


class Mean(NamedTuple):
    """Over seeds; the standard error of fewer than two is NaN."""

    mean: float
    error: float
    seeds: int


@dataclass(frozen=True)
class Result:
    """What the runs of one row say: those of a single configuration."""

    means: dict[str, Mean]  # of ACC, FWD and BWD; a measure without meaning for the method is left out
    by_seed: dict[str, dict[int, float]]  # what the means are over: measure → seed → value
    seeds: tuple[int, ...]  # in the means
    config: RunConfig  # with one of the seeds
    compared: int  # configurations among which this one was chosen on validation images; 0: it was not chosen so
    chosen_on: tuple[int, ...]  # the seed of that choice, if there was one
    others: int  # configurations that could not be compared with it
    without_result: int  # runs of this configuration that diverged or failed

    @property
    def collapsed(self) -> dict[int, float]:
        """The seeds that ended far below the others, with their ACC: there, no mean and no interval says much."""
        acc = self.by_seed["acc"]
        return {seed: value for seed, value in acc.items() if value < np.median([*acc.values()]) - COLLAPSE}


class Difference(NamedTuple):
    """Ours minus the paper's."""

    value: float
    error: float  # both errors combined; NaN: unknown
    is_clear: bool  # does its 95 % interval exclude zero? Otherwise nothing is claimed


def find_result(runs: pd.DataFrame, table: Table, scale: Scale, row: Row) -> Result | None:
    """What the runs of a frame of frames.runs say about a row of a table; None if none of them belongs there.

    Of several configurations, such as several strengths, the one with the highest accuracy on validation images is taken,
    with the first seed that all of them share. The means are over its other seeds if it has any, otherwise over that one.
    """
    mine = runs[belongs(runs, table, scale, row)]
    finished = mine[mine["status"] == "finished"].drop_duplicates(["configuration", "seed"], keep="last")
    if finished.empty:
        return None
    configuration, chosen_on, compared = choose_configuration(_without_broken(finished, mine))
    chosen = finished[finished["configuration"] == configuration]
    others = chosen[~chosen["seed"].isin(chosen_on)]
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


def _without_broken(finished: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Without the configurations of which a run diverged or failed, as long as others are left.

    Of these, only the seeds that went well would count.
    """
    broken = runs.loc[runs["status"].isin(["diverged", "failed"]), "configuration"]
    whole = finished[~finished["configuration"].isin(broken)]
    return finished if whole.empty else whole


def belongs(runs: pd.DataFrame, table: Table, scale: Scale, row: Row) -> np.ndarray:
    """Of each run: does it have the fields of the table at this scale, and those of the row? Others are free."""
    is_candidate = (runs["benchmark"] == table.benchmark) & (runs["method"] == row.fields["method"])
    place = table.rows.index(row)
    found = [
        candidate and _belongs(configuration, table.name, scale, place)
        for candidate, configuration in zip(is_candidate, runs["configuration"], strict=True)
    ]
    return np.array(found, bool)


def belongs_to_table(runs: pd.DataFrame, table: Table) -> np.ndarray:
    """Of each run: does it belong to any row of the table, at any scale?"""
    found = np.zeros(len(runs), bool)
    for scale in SCALES:
        for row in table.rows:
            found |= belongs(runs, table, scale, row)
    return found


@lru_cache(maxsize=100_000)
def _belongs(configuration: str, table: str, scale: Scale, place: int) -> bool:
    """Does a configuration stay the same if it gets the fields of the table and of the row?"""
    fields = {**TABLES[table].scale(scale), **TABLES[table].rows[place].fields}
    try:
        config = RunConfig.model_validate_json(configuration)
        wanted = RunConfig.model_validate({**config.model_dump(), **fields})
    except ValidationError:  # of another version, or with a strength for each of another number of tasks
        return False
    return config.canonical() == wanted.canonical()


def _mean(values: pd.Series) -> Mean:
    known = values.dropna().to_numpy(float)
    n = len(known)
    error = float(known.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return Mean(float(known.mean()) if n else math.nan, error, n)


def difference(ours: Mean | None, printed: Cell | None) -> Difference | None:
    """None if one of the two is not known. The interval is Student's, with the degrees of freedom of our seeds."""
    from scipy.special import stdtrit  # takes a third of a second, which most commands need not wait for

    if ours is None or printed is None:
        return None
    value, error = ours.mean - printed.mean, math.hypot(ours.error, printed.error)
    return Difference(value, error, ours.seeds > 1 and bool(abs(value) > stdtrit(ours.seeds - 1, 0.975) * error))


def in_words(result: Result) -> str:
    """Which configuration it is, how it was chosen, and over which seeds the means are."""
    if result.compared:
        how = f"chosen among {result.compared} configurations by validation on {_seeds(result.chosen_on)}"
        how += f"; means over {'the same seed' if result.seeds == result.chosen_on else _seeds(result.seeds)}"
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
    """What tables do not say of a configuration: its strength, its learning rate, and what else is not the default."""
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
