"""Runs → points: one row per configuration, its means over seeds, and what they show in words. Pure functions on frames."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from mgem_core import text
from mgem_core.analysis.legend import legend_entries
from mgem_core.analysis.paired import within_seed_errors
from mgem_core.learners import shares_network, uses
from mgem_core.metrics import pareto_front

Axes = Literal["unit", "raw", "cosine"]
Gradient = Literal["full", "batch"]
Errors = Literal["within", "between", "seeds", "none"]
Measure = Literal["acc", "fwd", "bwd", "x", "y"]
Cells = Literal["differences", "values"]
Strengths = Literal["all", "validation"]
Difference = Literal["retention", "acc", "fwd", "bwd", "best"]
ERRORS: tuple[Errors, ...] = get_args(Errors)
GRADIENTS: tuple[Gradient, ...] = get_args(Gradient)
AXES: tuple[Axes, ...] = get_args(Axes)
MEASURES: tuple[Measure, ...] = get_args(Measure)
CELLS: tuple[Cells, ...] = get_args(Cells)
DIFFERENCES: tuple[Difference, ...] = get_args(Difference)
STRENGTHS: tuple[Strengths, ...] = get_args(Strengths)
CHOICES: dict[str, tuple[str, ...]] = {  # of the fields of a view
    **{"axes": AXES, "gradient": GRADIENTS, "errors": ERRORS},
    **{"measure": MEASURES, "cells": CELLS, "difference": DIFFERENCES, "strengths": STRENGTHS},
}
STATUS_GROUPS = {"finished": ["finished"], "active": ["running", "queued"], "failed": ["failed", "diverged"]}
NO_RESULT = ("failed", "diverged", "cancelled")  # statuses of runs that ended early
COLUMN = {"raw": 0, "unit": 3, "cosine": 6}  # of x in Measurements.pairs; y follows, full and on the batch


@dataclass(frozen=True)
class View:
    """What to look at, and on which axes."""

    benchmark: str = ""  # of a sweep over several; the first if empty
    axes: Axes = "unit"
    pair: tuple[int, int] | None = (0, 1)  # (s, t), counted from 0, as in the paper's figure; the mean of all if None
    after: int | None = None  # the state after that many tasks; the current one if None
    gradient: Gradient = "full"  # y is ⟨g_t,z⟩ on the whole training set, or ⟨g,z⟩ on the batch
    errors: Errors = "within"  # error bars: standard errors within or between seeds; a faint line per seed; or none
    measure: Measure = "acc"  # against strength and in the map; x and y are those of the frontier
    baseline: str = ""  # the line that others are compared with; `default_baseline` if empty
    cells: Cells = "differences"  # of the map: to the baseline, or the values themselves
    difference: Difference = "retention"  # per seed: of y at equal x; at equal strengths; of ACC at the best strength
    strengths: Strengths = "all"  # in tables: every strength of a line, or the one with the best validation accuracy
    hide_dominated: bool = False  # draw only the points that no other dominates in the frontier


class Measurements(NamedTuple):
    """What one run has measured so far."""

    pairs: dict[tuple[int, int], list[float]]  # (s, t) → means over the probed steps of task t, at COLUMN
    R: np.ndarray  # [tasks learned, T]; a row that is missing is NaN, here and in what follows from it
    mean_accuracy: list[float]  # after each task: mean accuracy on the tasks so far
    new_accuracy: list[float]  # on each task just after it was learned


def run_measures(runs: pd.DataFrame, measured: Mapping[int, Measurements], view: View) -> pd.DataFrame:
    """The runs (a frame of frames.runs) of the view's benchmark with what each has measured.

    key and lines (`legend_entries`) of its configuration, line (the first of them), family, q; x = ⟨g_s,z⟩ and y = ⟨g_t,z⟩
    on the view's axes; acc, fwd, bwd after `learned` tasks; curve: mean accuracy after each task. A run that failed,
    diverged or was cancelled has no measures, except in a view after a task that it did learn. NaN: unknown or not finite.
    """
    runs = runs[runs["benchmark"] == (view.benchmark or benchmarks(runs)[0])] if len(runs) else runs
    runs = _one_per_seed(runs)
    of_runs = [_measures(measured[run], view) for run in runs["id"]]
    measures = np.array([values for values, _ in of_runs], float).reshape(-1, len(MEASURES))
    learned = np.array([len(curve) for _, curve in of_runs], int)
    if view.after is None:  # a run that did not finish has no result
        without_result = runs["status"].isin(NO_RESULT)
        learned[without_result], measures[without_result] = 0, np.nan
    measures[~np.isfinite(measures)] = np.nan  # a diverging run has no place in a plot
    separate = ~runs["method"].map(shares_network).to_numpy(bool)
    measures[np.ix_(separate, [MEASURES.index("fwd"), MEASURES.index("bwd")])] = np.nan  # without sharing, no transfer
    firsts = runs.drop_duplicates("configuration")
    lines = dict(zip(firsts["configuration"], legend_entries(firsts), strict=True))
    columns: dict[str, Any] = {
        "key": [_short_hash(configuration) for configuration in runs["configuration"]],
        "lines": [lines[configuration] for configuration in runs["configuration"]],
        "line": [lines[configuration][0] for configuration in runs["configuration"]],
        "family": [label.partition("(")[0] for label in runs["label"]],
        "q": runs["strength"].where(runs["method"].map(lambda method: uses(method, "strength"))),
        "learned": learned,
        "curve": [curve for _, curve in of_runs],
        **dict(zip(MEASURES, measures.T, strict=True)),
    }
    return runs.assign(**columns)


def _one_per_seed(runs: pd.DataFrame) -> pd.DataFrame:
    """One run per configuration and seed: a finished one if there is one, and of several the newest.

    A sweep that was extended after its code was edited has runs of both versions.
    """
    if not runs.duplicated(["configuration", "seed"]).any():
        return runs
    order = runs.assign(is_finished=runs["status"] == "finished").sort_values(["is_finished", "id"])
    return runs.loc[order.drop_duplicates(["configuration", "seed"], keep="last").index.sort_values()]


def points(runs: pd.DataFrame, measured: Mapping[int, Measurements], view: View) -> pd.DataFrame:
    """One row per configuration among `runs` (a frame of frames.runs), in the order of their first runs.

    key, line, lines, label, family, q and the fields of its config. x, y, acc, fwd, bwd, each with _std and _sem over seeds
    and _within, the standard error within seeds (`paired.within_seed_errors`), and validation_acc: all over the seeds that
    have ended in every configuration with a result (`_of_shared_seeds`). Of acc, or of x if all are answers of the lens,
    which have no acc: seeds, their number; other_seeds, those that ended here but are left out; is_shared, whether the
    means are over shared seeds. learned: the most tasks of a seed.
    validation_by_seed: {seed: validation accuracy} of the runs that have one (`choice.best_by_validation`).
    by_seed: the values in the means, {seed: {measure: value}}, if the view shows every seed. curve: its mean over seeds;
    runs, finished, active, failed, progress, seconds; front: not dominated in (x, y) by any other. A value that needs a
    missing row of R is left out of the means; it is NaN where no seed has it.
    """
    runs = run_measures(runs, measured, view)
    which, configurations = pd.factorize(runs["configuration"])
    furthest = np.zeros(len(configurations), int)
    np.maximum.at(furthest, which, runs["learned"])
    behind = runs["learned"].to_numpy() < furthest[which]
    columns: dict[str, Any] = {
        "runs": np.bincount(which, minlength=len(configurations)),
        "learned": furthest,
        "curve": [_mean_curve(curves) for curves in runs.groupby(which)["curve"].agg(list)],
    }
    for name, statuses in STATUS_GROUPS.items():
        columns[name] = np.bincount(which, runs["status"].isin(statuses), len(configurations)).astype(int)
    has_ended = (runs["status"] == "finished" if view.after is None else runs["learned"] == view.after).to_numpy()
    seeds = runs["seed"].to_numpy()
    counted = "x" if has_ended.all() and runs["acc"].isna().all() else "acc"
    means: dict[str, np.ndarray] = {}
    for name in (*MEASURES, "validation_acc", "progress", "seconds"):
        values = runs[name].to_numpy(float)
        if name in ("acc", "fwd", "bwd"):
            values = np.where(behind, np.nan, values)  # seeds that learned fewer tasks join later
        if name in MEASURES:
            values, is_shared = _of_shared_seeds(values, which, seeds, has_ended)
            means[name] = values
            columns[f"{name}_within"] = _errors_within_seeds(values, which, seeds)
        if name == "validation_acc":
            columns["validation_by_seed"] = [
                {int(seeds[i]): float(values[i]) for i in of} for of in _members(which, ~np.isnan(values))
            ]
            values, _ = _of_shared_seeds(values, which, seeds, has_ended)
        columns[name], columns[f"{name}_std"], columns[f"{name}_sem"] = over_seeds(values, which)
        if name == counted:
            columns["seeds"] = np.bincount(which, ~np.isnan(values), len(configurations)).astype(int)
            left_out = has_ended & np.isnan(values) & runs[name].notna().to_numpy()
            columns["other_seeds"] = [tuple(seeds[i]) for i in _members(which, left_out)]
            columns["is_shared"] = is_shared
    if view.errors == "seeds":
        columns["by_seed"] = [
            {int(seeds[i]): {name: float(means[name][i]) for name in MEASURES} for i in of}
            for of in _members(which, ~np.isnan(np.array(list(means.values()))).all(axis=0))
        ]
    columns["front"] = pareto_front(np.column_stack([columns["x"], columns["y"]]))
    frame = runs.drop_duplicates("configuration").reset_index(drop=True)
    return pd.concat([frame.drop(columns=[name for name in columns if name in frame]), pd.DataFrame(columns)], axis=1)


def runs_to_compare(runs: pd.DataFrame, measured: Mapping[int, Measurements], view: View) -> pd.DataFrame:
    """One row per run and line that it belongs to, as `paired.compare` takes them; a strength per task counts as its mean.

    Configurations of which no run has finished or still can are left out, and those with strengths per task whose mean is
    the strength of another: they have no place of their own on the line.
    """
    frame = run_measures(runs, measured, view).explode("lines")
    has_list = np.array([isinstance(q, list | tuple) for q in frame["q"]], bool)
    frame = frame.assign(line=frame["lines"], q=frame["q"].map(mean_strength), is_finished=frame["status"] == "finished")
    has_results = frame["status"].isin(["finished", "running", "queued"]).groupby(frame["configuration"]).transform("any")
    same_place = frame.groupby(["line", "q"], dropna=False)["configuration"].transform("nunique") > 1
    return frame.loc[has_results & ~(same_place & has_list), ["line", "label", "q", "seed", "is_finished", *MEASURES]]


def mean_strength(q: float | Sequence[float]) -> float:
    """Of strengths per task; rounded, so that 0.1 and 0.2 have the same mean as 0.15."""
    return round(float(np.mean(q)), 9)


def default_baseline(runs: pd.DataFrame) -> str:
    """GEM, if it is among the lines; otherwise the first of them."""
    return str(next(iter([*runs.loc[runs["label"] == "GEM", "line"], *runs["line"]]), ""))


def seeds_in_words(points: pd.DataFrame) -> str:
    """Over how many seeds the means are: 4 shared seeds, 2 more in some configurations."""
    shared = points.loc[points["is_shared"], "seeds"]
    more = len(set().union(*points["other_seeds"]))
    if shared.empty:
        return "no shared seed yet"
    words = text.pluralize(int(shared.max()), "shared seed")
    return f"{words}, {more} more in some configurations" if more else words


@lru_cache(maxsize=20_000)
def _short_hash(configuration: str) -> str:
    """It begins with a letter, so that no reader of a file takes it for a number."""
    return "c" + hashlib.sha256(configuration.encode()).hexdigest()[:8]


def _of_shared_seeds(
    values: np.ndarray, which: np.ndarray, seeds: np.ndarray, has_ended: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The values that count in the means, NaN for others; and which configurations, by number, have means of shared seeds.

    Seeds differ much more than configurations do, so means over different seeds would show differences that are not there.
    A seed is shared if it ended with a value in every configuration in which any seed did. A configuration of which none
    ended is shown as far as it is; without a shared seed, so are all.
    """
    known = ~np.isnan(values)
    ended = pd.DataFrame({"which": which, "seed": seeds})[known & has_ended].drop_duplicates()
    has_all = ended["seed"].value_counts() == ended["which"].nunique()
    is_shared = np.zeros(which.max(initial=-1) + 1, bool)
    if not has_all.any():
        return values, is_shared
    is_shared[ended["which"].unique()] = True
    counts = np.where(is_shared[which], has_ended & np.isin(seeds, has_all[has_all].index), True)
    return np.where(counts, values, np.nan), is_shared


def _members(which: np.ndarray, chosen: np.ndarray) -> list[np.ndarray]:
    """The rows of each group, by number, that are chosen."""
    rows, count = np.flatnonzero(chosen), which.max(initial=-1) + 1
    rows = rows[np.argsort(which[rows], kind="stable")]
    return np.split(rows, np.searchsorted(which[rows], np.arange(1, count + 1)))[:count]


def _errors_within_seeds(values: np.ndarray, which: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Of each configuration, by number, over the seeds that all configurations with a value share; NaN if they are few."""
    errors = np.full(which.max(initial=-1) + 1, np.nan)
    known = ~np.isnan(values)
    table = pd.DataFrame({"seed": seeds[known], "which": which[known], "value": values[known]})
    table = table.drop_duplicates(["seed", "which"]).pivot(index="seed", columns="which", values="value").dropna()
    if len(table) > 1:
        errors[table.columns] = within_seed_errors(table.to_numpy())
    return errors


def over_seeds(v: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard deviation and standard error of the known values of each group, by number; NaN where undefined."""
    known = ~np.isnan(v)
    n = np.bincount(which, known)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(which, np.where(known, v, 0.0)) / n
        square = np.bincount(which, np.where(known, v - mean[which], 0.0) ** 2)
        std = np.where(n > 1, np.sqrt(square / (n - 1)), np.nan)
        return mean, std, std / np.sqrt(n)


def benchmarks(runs: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(runs["benchmark"]))


def _measures(run: Measurements, view: View) -> tuple[list[float], list[float]]:
    """acc, fwd, bwd, x, y, and the curve of mean accuracies."""
    curve, new_accuracy = run.mean_accuracy[: view.after], run.new_accuracy[: view.after]
    is_known = len(curve) > 0 if view.after is None else len(curve) == view.after
    acc, fwd = (curve[-1], fmean(new_accuracy)) if is_known else (np.nan, np.nan)
    pairs = run.pairs if view.pair is None else {view.pair: run.pairs[view.pair]} if view.pair in run.pairs else {}
    steps = [values for (_, t), values in pairs.items() if view.after is None or t < view.after]
    at = COLUMN[view.axes]
    offset = 1 if view.gradient == "full" else 2
    x, y = (fmean(values[at + i] for values in steps) if steps else np.nan for i in (0, offset))
    return [acc, fwd, acc - fwd, x, y], curve


def _mean_curve(curves: list[list[float]]) -> list[float]:
    """Over the seeds that are known after each task; NaN where none is."""
    after = [[curve[i] for curve in curves if len(curve) > i] for i in range(max(map(len, curves)))]
    known = [[value for value in values if value == value] for values in after]
    return [fmean(values) if values else np.nan for values in known]


def by_strength(points: pd.DataFrame) -> pd.DataFrame:
    """The order in which a line joins its points; a strength per task counts as their mean."""
    return points.iloc[np.argsort([np.mean(q) for q in points["q"]], kind="stable")]


def leaders(points: pd.DataFrame) -> pd.DataFrame:
    """The configurations whose accuracies can be compared: those that learned the most tasks."""
    judged = points.dropna(subset=["acc"])
    return judged[judged["learned"] == judged["learned"].max()]


def title(row: Mapping[str, Any] | pd.Series) -> str:
    """A configuration's line and strength."""
    q = text.strength(row["q"])
    return str(row["line"]) if q == text.MISSING else f"{row['line']} at q = {q}"
