"""Runs → points: one row per configuration, its means over seeds, and what they show in words. Pure functions on frames."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import ValidationError

from mgem_core import text
from mgem_core.config import RunConfig
from mgem_core.learners import shares_network, uses
from mgem_core.metrics import hypervolume, pareto_front, share_dominated

Axes = Literal["unit", "raw", "cosine"]
MEASURES = ("acc", "fwd", "bwd", "x", "y")
NO_RESULT = ("failed", "diverged", "cancelled")  # statuses of runs that ended early
COLUMN = {"raw": 0, "unit": 2, "cosine": 4}  # of x in Measurements.pairs; y follows


@dataclass(frozen=True)
class View:
    """What to look at, and on which axes."""

    benchmark: str = ""  # of a sweep over several; the first if empty
    axes: Axes = "unit"
    pair: tuple[int, int] | None = (0, 1)  # (s, t), counted from 0, as in the paper's figure; the mean of all if None
    after: int | None = None  # the state after that many tasks; the current one if None


class Measurements(NamedTuple):
    """What one run has measured so far."""

    pairs: dict[tuple[int, int], list[float]]  # (s, t) → means over the probed steps of task t, at COLUMN
    R: np.ndarray  # [tasks learned, T]; a row that is missing is NaN, here and in what follows from it
    mean_accuracy: list[float]  # after each task: mean accuracy on the tasks so far
    new_accuracy: list[float]  # on each task just after it was learned


def points(runs: pd.DataFrame, measured: Mapping[int, Measurements], view: View) -> pd.DataFrame:
    """One row per configuration among `runs` (a frame of frames.runs), in the order of their first runs.

    key, line (its legend entry), label, family, q; x ± x_sem = ⟨g_s,z⟩ and y ± y_sem = ⟨g_t,z⟩ on the view's axes;
    acc, fwd, bwd, each with _std and _sem over the seeds that learned the most tasks, `learned`; curve: mean accuracy after
    each task; runs, finished, active, failed, progress; front: not dominated in (x, y) by any other. Runs that failed,
    diverged or were cancelled have no measures, except in a view after a task that they did learn. A value that needs a
    missing row of R is left out of the means; it is NaN where no seed has it.
    """
    runs = runs[runs["benchmark"] == (view.benchmark or benchmarks(runs)[0])] if len(runs) else runs
    if runs.empty:
        return pd.DataFrame(columns=["key", "line", "label", "family", "q", "front", *MEASURES])
    of_runs = [_measures(measured[run], view) for run in runs["id"]]
    measures = dict(zip(MEASURES, np.array([values for values, _ in of_runs], float).T, strict=True))
    for values in measures.values():
        values[~np.isfinite(values)] = np.nan  # of a diverging run; it has no place in a plot
    which, texts = pd.factorize(runs["configuration"])
    status = runs["status"].to_numpy()
    learned = np.array([len(curve) for _, curve in of_runs])
    if view.after is None:  # a run that did not finish has no result
        learned[np.isin(status, NO_RESULT)] = 0
        for values in measures.values():
            values[learned == 0] = np.nan
    furthest = np.zeros(len(texts), int)
    np.maximum.at(furthest, which, learned)
    for name in ("acc", "fwd", "bwd"):
        measures[name][learned < furthest[which]] = np.nan  # seeds that learned fewer tasks join later
    for name in ("fwd", "bwd"):
        measures[name][~runs["method"].map(shares_network).to_numpy(bool)] = np.nan  # without sharing, no transfer
    frame = runs.drop_duplicates("configuration").reset_index(drop=True)
    curves: list[list[list[float]]] = [[] for _ in texts]
    for number, (_, curve) in zip(which, of_runs, strict=True):
        curves[number].append(curve)
    columns: dict[str, Any] = {
        "key": [hashlib.sha256(configuration.encode()).hexdigest()[:8] for configuration in texts],
        "line": _lines(frame),
        "family": frame["label"].str.partition("(")[0],
        "q": frame["strength"].where(frame["method"].map(lambda method: uses(method, "strength"))),
        "runs": np.bincount(which),
        "learned": furthest,
        "progress": over_seeds(runs["progress"].to_numpy(float), which)[0],
        "seconds": over_seeds(runs["seconds"].to_numpy(float), which)[0],
        "curve": [_mean_curve(of_seeds) for of_seeds in curves],
    }
    for name, statuses in (
        ("finished", ["finished"]),
        ("active", ["running", "queued"]),
        ("failed", ["failed", "diverged"]),
    ):
        columns[name] = np.bincount(which, np.isin(status, statuses)).astype(int)
    for name in MEASURES:
        columns[name], columns[f"{name}_std"], columns[f"{name}_sem"] = over_seeds(measures[name], which)
    columns["front"] = pareto_front(np.column_stack([columns["x"], columns["y"]]))
    return pd.concat([frame.drop(columns=[name for name in columns if name in frame]), pd.DataFrame(columns)], axis=1)


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
    x, y = (fmean(values[at + i] for values in steps) if steps else np.nan for i in (0, 1))
    return [acc, fwd, acc - fwd, x, y], curve


def _mean_curve(curves: list[list[float]]) -> list[float]:
    """Over the seeds that are known after each task; NaN where none is."""
    after = [[curve[i] for curve in curves if len(curve) > i] for i in range(max(map(len, curves)))]
    known = [[value for value in values if value == value] for values in after]
    return [fmean(values) if values else np.nan for values in known]


def _lines(frame: pd.DataFrame) -> list[str]:
    """A legend entry per configuration: its label, and the fields (but the strength) in which those of one label differ.

    A configuration to which such a field does not matter (the trigger, at strength 0) joins the first line that it fits.
    """
    fields_apart = [name for name in RunConfig.model_fields if name not in ("benchmark", "strength", "seed")]
    rows = frame[["label", *fields_apart]].to_dict("records")
    relevant = [_relevant_fields(text) for text in frame["configuration"]]
    known = [{name: _value(value) for name, value in row.items() if not _is_missing(value)} for row in rows]
    values: dict[str, dict[str, set[str]]] = {row["label"]: {} for row in rows}
    for row, fields in zip(known, relevant, strict=True):
        for name in row.keys() & (fields or row.keys()):
            values[row["label"]].setdefault(name, set()).add(row[name])
    differing = {label: [name for name in rows[0] if len(used.get(name, ())) > 1] for label, used in values.items()}
    lines: list[dict[str, str]] = []
    for row, fields in zip(known, relevant, strict=True):
        names = [name for name in differing[row["label"]] if name in row and (not fields or name in fields)]
        lines.append({"label": row["label"], **{name: row[name] for name in names}})
    for number, line in enumerate(lines):
        fits = [other for other in lines if line.items() < other.items()] if relevant[number] else []
        lines[number] = fits[0] if fits else line
    return [
        " · ".join([line["label"], *(f"{name.replace('_', ' ')} {line[name]}" for name in line if name != "label")])
        for line in lines
    ]


@lru_cache(maxsize=20_000)
def _relevant_fields(configuration: str) -> frozenset[str]:
    """The fields that matter to a configuration; none if this version does not know it."""
    try:
        return frozenset(RunConfig.model_validate_json(configuration).relevant_fields())
    except ValidationError:
        return frozenset()


def _is_missing(value: object) -> bool:
    """A run of an older version may lack a field."""
    return value is None or value != value


def _value(value: object) -> str:
    """A field's value as the command line takes it."""
    return ",".join(f"{name}={number}" for name, number in value.items()) if isinstance(value, dict) else str(value)


def by_strength(points: pd.DataFrame) -> pd.DataFrame:
    """The order in which a line joins its points; a strength per task counts as their mean."""
    return points.iloc[np.argsort([np.mean(q) for q in points["q"]], kind="stable")]


def leaders(points: pd.DataFrame) -> pd.DataFrame:
    """The configurations whose accuracies can be compared: those that learned the most tasks."""
    judged = points.dropna(subset=["acc"])
    return judged[judged["learned"] == judged["learned"].max()]


def in_words(points: pd.DataFrame) -> list[str]:
    """Which frontier dominates whose and by how much, and who is best at the end, in a few sentences."""
    known = points.dropna(subset=["x", "y"])
    lines = {name: line[["x", "y"]].to_numpy() for name, line in known[["line", "x", "y"]].groupby("line", sort=False)}
    sentences = []
    if len(lines) > 1:
        low, high = known[["x", "y"]].min().to_numpy(), known[["x", "y"]].max().to_numpy()
        corner = low - 0.1 * (high - low) - 1e-12  # below all, so that the ends of a frontier count too
        volume = {name: hypervolume(line, corner) for name, line in lines.items()}
        base = next(iter([*known.loc[known["label"] == "GEM", "line"], *lines]))
        others = sorted((name for name in lines if name != base), key=lambda name: -volume[name])
        sentences += [_against(name, base, lines, volume) for name in others[:3]]
    judged = leaders(points)
    if len(judged):
        best = judged.loc[judged["acc"].idxmax()]
        sentences.append(f"Best ACC: {title(best)} with {text.mean_and_error(best['acc'], best['acc_std'])}.")
    return sentences


def _against(name: str, base: str, lines: dict[str, np.ndarray], volume: dict[str, float]) -> str:
    share, back = (100 * share_dominated(lines[one], lines[other]) for one, other in ((base, name), (name, base)))
    gain = round(100 * (volume[name] / volume[base] - 1)) if volume[base] > 0 else None
    larger = f"{abs(gain)} % {'larger' if gain > 0 else 'smaller'}" if gain else "as large"
    volumes = "" if gain is None else f"; the hypervolume of {name} is {larger}"
    if share == back == 0:
        return f"{name} and {base}: neither frontier dominates any of the other{volumes}."
    return f"{name} dominates {share:.0f} % of {base}'s frontier, {base} {back:.0f} % of {name}'s{volumes}."


def title(row: Mapping[str, Any] | pd.Series) -> str:
    """A configuration's line and strength."""
    q = text.strength(row["q"])
    return str(row["line"]) if q == text.MISSING else f"{row['line']} at q = {q}"
