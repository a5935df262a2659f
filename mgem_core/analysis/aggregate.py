"""Aggregate runs into points: one row per configuration with its means over seeds. Pure functions on frames."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from mgem_core import metrics, text
from mgem_core.analysis.legend import legend_entries
from mgem_core.analysis.paired import within_seed_errors
from mgem_core.learners import shares_network, uses

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
RESULTS = (*metrics.MEASURES, "x", "y")  # of a run; a view shows one of MEASURES, which are compared with a baseline
TRANSFER = ["fwd", "bwd", "forgetting"]  # unknown if the tasks do not share a network
CELLS: tuple[Cells, ...] = get_args(Cells)
DIFFERENCES: tuple[Difference, ...] = get_args(Difference)
STRENGTHS: tuple[Strengths, ...] = get_args(Strengths)
CHOICES: dict[str, tuple[str, ...]] = {  # the allowed values of the fields of a view
    **{"axes": AXES, "gradient": GRADIENTS, "errors": ERRORS},
    **{"measure": MEASURES, "cells": CELLS, "difference": DIFFERENCES, "strengths": STRENGTHS},
}
STATUS_GROUPS = {"finished": ["finished"], "active": ["running", "queued"], "failed": ["failed", "diverged"]}
NO_RESULT = ("failed", "diverged", "cancelled")  # statuses of runs that ended without a result
OTHER_AXES: dict[Axes, Axes] = {"unit": "raw", "raw": "unit", "cosine": "raw"}  # on which comparisons are made as well
COLUMN = {"raw": 0, "unit": 3, "cosine": 6}  # index of x in Measurements.pairs; y on the full set and on the batch follow


@dataclass(frozen=True)
class View:
    """The choices that decide what a figure or table shows."""

    benchmark: str = ""  # which one, if a sweep has several; empty: the first
    axes: Axes = "unit"
    pair: tuple[int, int] | None = (0, 1)  # (s, t), counted from 0, as in the paper's figure; None: mean of all pairs
    after: int | None = None  # show the state after this many tasks; None: the current state
    gradient: Gradient = "full"  # y is ⟨g_t,z⟩ on the full training set, or ⟨g,z⟩ on the batch
    errors: Errors = "between"  # error bars (standard errors over seeds or within seeds), a faint line per seed, or none
    measure: Measure = "acc"  # of the strength plot and the map; x and y are the axes of the frontier
    baseline: str = ""  # the line that the others are compared with; empty: `default_baseline`
    cells: Cells = "differences"  # of the map: differences to the baseline, or the values themselves
    difference: Difference = "retention"  # per seed: in y at equal x, in a measure at equal strengths, or in the best ACC
    strengths: Strengths = "all"  # in tables: all strengths of a line, or the one with the best validation accuracy
    hide_dominated: bool = False  # draw only Pareto-optimal points of the frontier


class Measurements(NamedTuple):
    """The measurements of one run so far."""

    pairs: dict[tuple[int, int], list[float]]  # (s, t) → means over the probed steps of task t; COLUMN has the order
    R: np.ndarray  # [tasks learned, T]; a missing row is NaN, and so are values computed from it
    mean_accuracy: list[float]  # mean accuracy on the tasks so far, after each task
    new_accuracy: list[float]  # accuracy on each task just after it was learned


def run_measures(runs: pd.DataFrame, measured: Mapping[int, Measurements], view: View) -> pd.DataFrame:
    """Add the measurements to the runs (a frame of frames.runs) of the view's benchmark.

    New columns: key and lines (`legend_entries`) of the configuration, line (the first of them), family, q; x = ⟨g_s,z⟩ and
    y = ⟨g_t,z⟩ on the view's axes; acc, fwd, bwd, forgetting after `learned` tasks; curve, the mean accuracy after each
    task. A run that failed, diverged or was cancelled has no measures, except in a view after a task that it did learn. NaN
    means unknown or not finite.
    """
    runs = runs[runs["benchmark"] == (view.benchmark or benchmarks(runs)[0])] if len(runs) else runs
    runs = one_per_seed(runs)
    run_values = [_measures(measured[run], view) for run in runs["id"]]
    measures = np.array([values for values, _ in run_values], float).reshape(-1, len(RESULTS))
    learned = np.array([len(curve) for _, curve in run_values], int)
    if view.after is None:  # a run that ended early has no result
        without_result = runs["status"].isin(NO_RESULT)
        learned[without_result], measures[without_result] = 0, np.nan
    measures[~np.isfinite(measures)] = np.nan  # a diverging run cannot be drawn
    separate = ~runs["method"].map(shares_network).to_numpy(bool)
    measures[np.ix_(separate, [RESULTS.index(name) for name in TRANSFER])] = np.nan
    firsts = runs.drop_duplicates("configuration")
    lines = dict(zip(firsts["configuration"], legend_entries(firsts), strict=True))
    columns: dict[str, Any] = {
        "key": [configuration_key(configuration) for configuration in runs["configuration"]],
        "lines": [lines[configuration] for configuration in runs["configuration"]],
        "line": [lines[configuration][0] for configuration in runs["configuration"]],
        "family": [label.partition("(")[0] for label in runs["label"]],
        "q": runs["strength"].where(runs["method"].map(lambda method: uses(method, "strength"))),
        "learned": learned,
        "curve": [curve for _, curve in run_values],
        **dict(zip(RESULTS, measures.T, strict=True)),
    }
    return runs.assign(**columns)


def one_per_seed(runs: pd.DataFrame) -> pd.DataFrame:
    """Keep one run per configuration and seed: the newest finished run, or the newest run if none has finished.

    A sweep that was extended after an edit of the code has runs of both versions.
    """
    if not runs.duplicated(["configuration", "seed"]).any():
        return runs
    order = runs.assign(is_finished=runs["status"] == "finished").sort_values(["is_finished", "id"])
    return runs.loc[order.drop_duplicates(["configuration", "seed"], keep="last").index.sort_values()]


def points(runs: pd.DataFrame, measured: Mapping[int, Measurements], view: View) -> pd.DataFrame:
    """Return one row per configuration of `runs` (a frame of frames.runs), in the order of their first runs.

    The columns are
    - key, line, lines, label, family, q and the fields of the config;
    - x, y, acc, fwd, bwd, forgetting, each with its _std and _sem over seeds and its standard error within seeds, _within
      (`paired.within_seed_errors`), and validation_acc; all are means over shared seeds (`_select_shared_seeds`);
    - seeds, the number of seeds in the mean of acc (in the mean of x for answers of the lens, which have no acc);
      other_seeds, the seeds that have ended but are not shared; is_shared, whether the means are over shared seeds;
    - validation_by_seed, {seed: validation accuracy} of the runs that have one (`choice.best_by_validation`);
    - by_seed, {seed: {measure: value}}, if the view shows every seed;
    - learned, the largest number of tasks that a seed has learned; curve, the mean of the seeds' curves;
    - runs, finished, active, failed, progress, seconds; front, whether no other point dominates (x, y).

    A value that needs a missing row of R is left out of the mean; the mean is NaN if no seed has a value.
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
    in_pool = _of_main_method(runs, which)
    counted = "x" if has_ended.all() and runs["acc"].isna().all() else "acc"
    means: dict[str, np.ndarray] = {}
    for name in (*RESULTS, "validation_acc", "progress", "seconds"):
        values = runs[name].to_numpy(float)
        if name in metrics.MEASURES:
            values = np.where(behind, np.nan, values)  # seeds that have learned fewer tasks do not count yet
        if name in RESULTS:
            values, is_shared = _select_shared_seeds(values, which, seeds, has_ended)
            means[name] = values
            columns[f"{name}_within"] = _errors_within_seeds(values, which, seeds, in_pool)
        if name == "validation_acc":
            columns["validation_by_seed"] = [
                {int(seeds[i]): float(values[i]) for i in members} for members in _members(which, ~np.isnan(values))
            ]
            values, _ = _select_shared_seeds(values, which, seeds, has_ended)
        columns[name], columns[f"{name}_std"], columns[f"{name}_sem"] = over_seeds(values, which)
        if name == counted:
            columns["seeds"] = np.bincount(which, ~np.isnan(values), len(configurations)).astype(int)
            left_out = has_ended & np.isnan(values) & runs[name].notna().to_numpy()
            columns["other_seeds"] = [tuple(seeds[i]) for i in _members(which, left_out)]
            columns["is_shared"] = is_shared
    if view.errors == "seeds":
        columns["by_seed"] = [
            {int(seeds[i]): {name: float(means[name][i]) for name in RESULTS} for i in members}
            for members in _members(which, ~np.isnan(np.array(list(means.values()))).all(axis=0))
        ]
    columns["front"] = metrics.pareto_front(np.column_stack([columns["x"], columns["y"]]))
    frame = runs.drop_duplicates("configuration").reset_index(drop=True)
    return pd.concat([frame.drop(columns=[name for name in columns if name in frame]), pd.DataFrame(columns)], axis=1)


def runs_to_compare(runs: pd.DataFrame, measured: Mapping[int, Measurements], view: View) -> pd.DataFrame:
    """Return one row per run and line for `paired.compare`; strengths per task are replaced by their mean.

    Two kinds of configurations are left out: those whose runs have all failed, diverged or been cancelled, and those with
    strengths per task whose mean is the strength of another configuration on the same line.
    """
    frame = run_measures(runs, measured, view)
    others = run_measures(runs, measured, replace(view, axes=OTHER_AXES[view.axes]))
    frame = frame.assign(x_other=others["x"], y_other=others["y"]).explode("lines")
    has_list = np.array([isinstance(q, list | tuple) for q in frame["q"]], bool)
    frame = frame.assign(line=frame["lines"], q=frame["q"].map(mean_strength), is_finished=frame["status"] == "finished")
    has_results = frame["status"].isin(["finished", "running", "queued"]).groupby(frame["configuration"]).transform("any")
    is_repeated = frame.groupby(["line", "q"], dropna=False)["configuration"].transform("nunique") > 1
    columns = ["line", "label", "q", "seed", "is_finished", *MEASURES, "x_other", "y_other", "validation_acc"]
    return frame.loc[has_results & ~(is_repeated & has_list), columns]


def mean_strength(q: float | Sequence[float]) -> float:
    """Return the mean of strengths per task, rounded so that the mean of 0.1 and 0.2 equals 0.15."""
    return round(float(np.mean(q)), 9)


def default_baseline(runs: pd.DataFrame) -> str:
    """Return GEM's line if there is one, otherwise the first line."""
    return str(next(iter([*runs.loc[runs["label"] == "GEM", "line"], *runs["line"]]), ""))


def seeds_in_words(points: pd.DataFrame) -> str:
    """Describe the seeds of the means, such as "4 shared seeds, 2 more in some configurations"."""
    shared = points.loc[points["is_shared"], "seeds"]
    more = len(set().union(*points["other_seeds"]))
    if shared.empty:
        return "no shared seed yet"
    words = text.pluralize(int(shared.max()), "shared seed")
    return f"{words}, {more} more in some configurations" if more else words


@lru_cache(maxsize=20_000)
def configuration_key(configuration: str) -> str:
    """Return a short hash that begins with a letter, so that programs that read files do not take it for a number."""
    return "c" + hashlib.sha256(configuration.encode()).hexdigest()[:8]


def _select_shared_seeds(
    values: np.ndarray, which: np.ndarray, seeds: np.ndarray, has_ended: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values with NaN for seeds that are not shared, and whether each configuration has shared seeds.

    Seeds often differ more than configurations do, so means over different seeds would show differences that do not exist.
    A seed is shared if it has ended with a value in every configuration in which any seed has. A configuration in which no
    seed has ended keeps all its values. If there is no shared seed, all configurations keep theirs.
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
    """Return the indices of the chosen rows of each group; `which` holds the group number of each row."""
    rows, count = np.flatnonzero(chosen), which.max(initial=-1) + 1
    rows = rows[np.argsort(which[rows], kind="stable")]
    return np.split(rows, np.searchsorted(which[rows], np.arange(1, count + 1)))[:count]


def _of_main_method(runs: pd.DataFrame, which: np.ndarray) -> np.ndarray:
    """Return for each configuration whether it belongs to the method that has the most of them."""
    methods = runs["method"].groupby(which).first()
    return (methods == methods.value_counts().idxmax()).to_numpy() if len(methods) else np.empty(0, bool)


def _errors_within_seeds(values: np.ndarray, which: np.ndarray, seeds: np.ndarray, in_pool: np.ndarray) -> np.ndarray:
    """Standard error per configuration over the seeds that all configurations with a value share; NaN below two seeds."""
    errors = np.full(which.max(initial=-1) + 1, np.nan)
    known = ~np.isnan(values)
    table = pd.DataFrame({"seed": seeds[known], "which": which[known], "value": values[known]})
    table = table.drop_duplicates(["seed", "which"]).pivot(index="seed", columns="which", values="value").dropna()
    if len(table) > 1:
        errors[table.columns] = within_seed_errors(table.to_numpy(), in_pool[table.columns])
    return errors


def over_seeds(v: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard deviation and standard error per group, without unknown (NaN) values; NaN where undefined."""
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
    """Return the RESULTS and the mean accuracies after each task."""
    curve, new_accuracy = run.mean_accuracy[: view.after], run.new_accuracy[: view.after]
    is_known = len(curve) > 0 if view.after is None else len(curve) == view.after
    acc, fwd, lost = (np.nan,) * 3
    if is_known:
        acc, fwd, lost = curve[-1], fmean(new_accuracy), metrics.forgetting(run.R[: len(curve), : len(curve)])
    pairs = run.pairs if view.pair is None else {view.pair: run.pairs[view.pair]} if view.pair in run.pairs else {}
    steps = [values for (_, t), values in pairs.items() if view.after is None or t < view.after]
    at = COLUMN[view.axes]
    offset = 1 if view.gradient == "full" else 2
    x, y = (fmean(values[at + i] for values in steps) if steps else np.nan for i in (0, offset))
    return [acc, fwd, acc - fwd, lost, x, y], curve


def _mean_curve(curves: list[list[float]]) -> list[float]:
    """Average the curves of the seeds after each task; NaN where no seed has a value."""
    after = [[curve[i] for curve in curves if len(curve) > i] for i in range(max(map(len, curves)))]
    known = [[value for value in values if value == value] for values in after]
    return [fmean(values) if values else np.nan for values in known]


def by_strength(points: pd.DataFrame) -> pd.DataFrame:
    """Sort the points by strength, the order in which a line joins them; strengths per task count as their mean."""
    return points.iloc[np.argsort([np.mean(q) for q in points["q"]], kind="stable")]


def by_line(points: pd.DataFrame) -> pd.DataFrame:
    """Sort the points by line, in the order of their first points, and then by strength: the order of tables."""
    order = {line: number for number, line in enumerate(dict.fromkeys(points["line"]))}
    return by_strength(points).sort_values("line", key=lambda line: line.map(order), kind="stable")


def title(row: Mapping[str, Any] | pd.Series) -> str:
    """Name a configuration by its line and strength, such as "GEM at q = 0.5"."""
    q = text.strength(row["q"])
    return str(row["line"]) if q == text.MISSING else f"{row['line']} at q = {q}"
