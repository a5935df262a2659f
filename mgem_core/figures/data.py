"""Runs → the numbers behind every plot and table: one row per configuration, for the screen and for every file."""

import hashlib
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import ValidationError

from mgem_core import RunConfig, frames
from mgem_core.learners import shares_network, uses
from mgem_core.metrics import hypervolume, pareto_front, share_dominated
from mgem_core.store import Store

Axes = Literal["unit", "raw", "cosine"]
MEASURES = ("acc", "fwd", "bwd", "x", "y")


@dataclass(frozen=True)
class View:
    """What to look at, and how."""

    benchmark: str = ""  # of a sweep over several; the first if empty
    axes: Axes = "unit"
    pair: tuple[int, int] | None = (0, 1)  # (s, t), counted from 0, as in the paper's figure; the mean of all if None
    after: int | None = None  # as it was after that many tasks; as it is now if None


class Seen(NamedTuple):
    """What one run has shown so far."""

    pairs: dict[tuple[int, int], list[float]]  # (s, t) → means over the probed steps of task t, at COLUMN
    R: np.ndarray  # [tasks learned, T]; a row that is missing is NaN, here and in what follows from it
    mean: list[float]  # after each task: accuracy on the tasks so far
    own: list[float]  # accuracy on each task just after it was learned


class Watch:
    """What runs have shown, of one store or several; only runs that moved are read again.

    Threads may share it. It remembers `most` runs, those of the last look even if they are more; the runs that nobody
    has looked at for the longest time are forgotten first.
    """

    def __init__(self, most: int = 20_000) -> None:
        self.most = most
        self._known: OrderedDict[tuple[int, float], tuple[object, Seen]] = OrderedDict()
        self._lock = threading.Lock()

    def look(self, store: Store, runs: pd.DataFrame) -> dict[int, Seen]:
        wanted = [int(run) for run in runs["id"]]
        states = _states(store, wanted)  # before the events: whatever comes in between is read again by the next look
        with self._lock:
            known = {run: self._known.get(name) for run, (name, _) in states.items()}
        seen = {run: one[1] for run, one in known.items() if one and one[0] == states[run][1]}
        seen |= _read(store, [run for run in wanted if run not in seen])
        with self._lock:
            for run, (name, state) in states.items():
                self._known[name] = state, seen[run]
                self._known.move_to_end(name)
            while len(self._known) > max(self.most, len(states)):
                self._known.popitem(last=False)
        return seen


def _states(store: Store, runs: list[int]) -> dict[int, tuple[tuple[int, float], object]]:
    """Run → what names it for good, in this store and in any other that takes its place, and how far it is."""
    query = (
        "SELECT id, created, key, started, ended, status, attempts, task, step FROM runs "
        "WHERE id IN (SELECT value FROM json_each(?))"
    )
    return {row["id"]: ((row["id"], row["created"]), tuple(row)[2:]) for row in store.rows(query, json.dumps(runs))}


def _read(store: Store, runs: list[int]) -> dict[int, Seen]:
    marks = ",".join(str(int(run)) for run in runs)
    query = f"SELECT run, kind, data FROM events WHERE run IN ({marks}) AND kind != 'Stepped' ORDER BY run, task, step"
    pairs: dict[int, dict[tuple[int, int], list[list[float]]]] = {run: {} for run in runs}
    rows: dict[int, dict[int, list[float]]] = {run: {} for run in runs}
    for run, kind, text in store.rows(query):
        told = json.loads(text)
        if kind == "TaskLearned":
            rows[run][told["task"]] = told["row"]
        else:
            for s, step in enumerate(_probed(told)):
                pairs[run].setdefault((s, told["task"]), []).append(step)
    learned = frames.tasks_learned(store, runs)
    return {run: _seen(pairs[run], frames.stack_rows(rows[run], learned.get(run, 0))) for run in runs}


COLUMN = {"raw": 0, "unit": 2, "cosine": 4}  # of x in Seen.pairs; y follows


def _probed(told: dict[str, Any]) -> list[list[float]]:
    """One step, for each past task: ⟨g_s,z⟩ and ⟨g_t,z⟩, raw, per unit ‖z‖, and as cosines."""
    y, norm_z, norm_gt = told["gt_z"], told["norm_z"] or np.nan, told["norm_gt"] or np.nan
    return [
        [x, y, x / norm_z, y / norm_z, x / norm_z / (norm_gs or np.nan), y / norm_z / norm_gt]
        for x, norm_gs in zip(told["gs_z"], told["norm_gs"], strict=True)
    ]


def _seen(pairs: dict[tuple[int, int], list[list[float]]], R: np.ndarray) -> Seen:
    means = {pair: [fmean(column) for column in zip(*steps, strict=True)] for pair, steps in pairs.items()}
    rows = R.tolist()
    return Seen(means, R, [fmean(row[: i + 1]) for i, row in enumerate(rows)], [row[i] for i, row in enumerate(rows)])


def points(store: Store, runs: pd.DataFrame, view: View, watch: Watch | None = None) -> pd.DataFrame:
    """One row per configuration among `runs` (a frame of frames.runs), in the order of their first runs.

    key, line (its legend entry), label, family, q; x ± x_sem = ⟨g_s,z⟩ and y ± y_sem = ⟨g_t,z⟩ on the view's axes;
    acc, fwd, bwd, each with _std and _sem over the seeds that learned the most tasks, `learned`; curve: mean accuracy after
    each task; runs, finished, active, failed, progress; front: not dominated in (x, y) by any other. Runs that broke off
    (failed, diverged, cancelled) are not measured, but as of a task that they did learn. What needs a row of R that is
    missing is left out of the means; it is NaN where no seed has it.
    """
    runs = runs[runs["benchmark"] == (view.benchmark or benchmarks(runs)[0])] if len(runs) else runs
    if runs.empty:
        return pd.DataFrame(columns=["key", "line", "label", "family", "q", "front", *MEASURES])
    seen = (watch or Watch()).look(store, runs)
    told = [_of_run(seen[run], view) for run in runs["id"]]
    shown = dict(zip(MEASURES, np.array([values for values, _ in told], float).T, strict=True))
    for values in shown.values():
        values[~np.isfinite(values)] = np.nan  # of a run that went astray, there is no place for it in a plot
    which, texts = pd.factorize(runs["configuration"])
    status = runs["status"].to_numpy()
    learned = np.array([len(curve) for _, curve in told])
    if view.after is None:  # what broke off is no result
        learned[np.isin(status, ["failed", "diverged", "cancelled"])] = 0
        for values in shown.values():
            values[learned == 0] = np.nan
    furthest = np.zeros(len(texts), int)
    np.maximum.at(furthest, which, learned)
    for name in ("acc", "fwd", "bwd"):
        shown[name][learned < furthest[which]] = np.nan  # seeds that are behind join when they are there
    for name in ("fwd", "bwd"):
        shown[name][~runs["method"].map(shares_network).to_numpy(bool)] = np.nan  # nothing shared, nothing transferred
    frame = runs.drop_duplicates("configuration").reset_index(drop=True)
    curves: list[list[list[float]]] = [[] for _ in texts]
    for number, (_, curve) in zip(which, told, strict=True):
        curves[number].append(curve)
    made: dict[str, Any] = {
        "key": [hashlib.sha256(text.encode()).hexdigest()[:8] for text in texts],
        "line": _lines(frame),
        "family": frame["label"].str.partition("(")[0],
        "q": frame["strength"].where(frame["method"].map(lambda method: uses(method, "strength"))),
        "runs": np.bincount(which),
        "learned": furthest,
        "progress": _over_seeds(runs["progress"].to_numpy(float), which)[0],
        "curve": [_mean_curve(own) for own in curves],
    }
    for name, ones in (("finished", ["finished"]), ("active", ["running", "queued"]), ("failed", ["failed", "diverged"])):
        made[name] = np.bincount(which, np.isin(status, ones)).astype(int)
    for name in MEASURES:
        made[name], made[f"{name}_std"], made[f"{name}_sem"] = _over_seeds(shown[name], which)
    made["front"] = pareto_front(np.column_stack([made["x"], made["y"]]))
    return pd.concat([frame.drop(columns=[name for name in made if name in frame]), pd.DataFrame(made)], axis=1)


def _over_seeds(v: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard deviation and standard error of the known values of each group; NaN where there are too few."""
    known = ~np.isnan(v)
    n = np.bincount(which, known)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(which, np.where(known, v, 0.0)) / n
        square = np.bincount(which, np.where(known, v - mean[which], 0.0) ** 2)
        std = np.where(n > 1, np.sqrt(square / (n - 1)), np.nan)
        return mean, std, std / np.sqrt(n)


def benchmarks(runs: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(runs["benchmark"]))


def _of_run(seen: Seen, view: View) -> tuple[list[float], list[float]]:
    """acc, fwd, bwd, x, y, and the curve of mean accuracies."""
    mean, own = seen.mean[: view.after], seen.own[: view.after]
    there = len(mean) > 0 if view.after is None else len(mean) == view.after
    acc, fwd = (mean[-1], fmean(own)) if there else (np.nan, np.nan)
    pairs = seen.pairs if view.pair is None else {view.pair: seen.pairs[view.pair]} if view.pair in seen.pairs else {}
    steps = [values for (_, t), values in pairs.items() if view.after is None or t < view.after]
    at = COLUMN[view.axes]
    x, y = (fmean(values[at + i] for values in steps) if steps else np.nan for i in (0, 1))
    return [acc, fwd, acc - fwd, x, y], mean


def _mean_curve(curves: list[list[float]]) -> list[float]:
    """Over the seeds that are known after each task; NaN where none is."""
    after = [[curve[i] for curve in curves if len(curve) > i] for i in range(max(map(len, curves)))]
    known = [[value for value in values if value == value] for values in after]
    return [fmean(values) if values else np.nan for values in known]


def _lines(frame: pd.DataFrame) -> list[str]:
    """A legend entry per configuration: its label, and whatever else but the strength tells it from its namesakes.

    A configuration to which such a field means nothing (the trigger, at strength 0) joins the first line that it fits.
    """
    skip = {*frames.COLUMNS, "configuration", "benchmark", "strength", "seed", "progress"}
    rows = frame[["label", *(name for name in frame.columns if name not in skip)]].to_dict("records")
    meant = [_relevant_fields(text) for text in frame["configuration"]]
    known = [{name: _value(value) for name, value in row.items() if _known(value)} for row in rows]
    values: dict[str, dict[str, set[str]]] = {row["label"]: {} for row in rows}
    for row, fields in zip(known, meant, strict=True):
        for name in row.keys() & (fields or row.keys()):
            values[row["label"]].setdefault(name, set()).add(row[name])
    apart = {label: [name for name in rows[0] if len(own.get(name, ())) > 1] for label, own in values.items()}
    lines: list[dict[str, str]] = []
    for row, fields in zip(known, meant, strict=True):
        told = [name for name in apart[row["label"]] if name in row]
        lines.append({"label": row["label"], **{name: row[name] for name in told if not fields or name in fields}})
    for number, line in enumerate(lines):
        fits = [other for other in lines if line.items() < other.items()] if meant[number] else []
        lines[number] = fits[0] if fits else line
    return [
        " · ".join([line["label"], *(f"{name.replace('_', ' ')} {line[name]}" for name in line if name != "label")])
        for line in lines
    ]


@lru_cache(maxsize=20_000)
def _relevant_fields(configuration: str) -> frozenset[str]:
    """The fields that decide what a configuration does; none if this version does not know it."""
    try:
        return frozenset(RunConfig.model_validate_json(configuration).relevant_fields())
    except ValidationError:
        return frozenset()


def _known(value: object) -> bool:
    """A run of an older version may lack a field."""
    return value is not None and value == value


def _value(value: object) -> str:
    """A field's value as the command line takes it."""
    return ",".join(f"{name}={number}" for name, number in value.items()) if isinstance(value, dict) else str(value)


def by_strength(points: pd.DataFrame) -> pd.DataFrame:
    """The order in which a line joins its points; a strength per task counts as their mean."""
    return points.iloc[np.argsort([np.mean(q) for q in points["q"]], kind="stable")]


def leaders(points: pd.DataFrame) -> pd.DataFrame:
    """The configurations that can be compared at the end of the day: those that learned the most tasks."""
    judged = points.dropna(subset=["acc"])
    return judged[judged["learned"] == judged["learned"].max()]


def in_words(points: pd.DataFrame) -> list[str]:
    """Which frontier dominates whose and by how much, and who is best at the end, in a few sentences."""
    known = points.dropna(subset=["x", "y"])
    lines = {name: own[["x", "y"]].to_numpy() for name, own in known[["line", "x", "y"]].groupby("line", sort=False)}
    sentences = []
    if len(lines) > 1:
        low, high = known[["x", "y"]].min().to_numpy(), known[["x", "y"]].max().to_numpy()
        corner = low - 0.1 * (high - low) - 1e-12  # below all, so that the ends of a frontier count too
        volume = {name: hypervolume(own, corner) for name, own in lines.items()}
        base = next(iter([*known.loc[known["label"] == "GEM", "line"], *lines]))
        others = sorted((name for name in lines if name != base), key=lambda name: -volume[name])
        sentences += [_against(name, base, lines, volume) for name in others[:3]]
    judged = leaders(points)
    if len(judged):
        best = judged.loc[judged["acc"].idxmax()]
        sentences.append(f"Best ACC: {titled(best)} with {mean_std(best['acc'], best['acc_std'])}.")
    return sentences


def _against(name: str, base: str, lines: dict[str, np.ndarray], volume: dict[str, float]) -> str:
    share, back = (100 * share_dominated(lines[one], lines[other]) for one, other in ((base, name), (name, base)))
    gain = round(100 * (volume[name] / volume[base] - 1)) if volume[base] > 0 else None
    larger = f"{abs(gain)} % {'larger' if gain > 0 else 'smaller'}" if gain else "as large"
    told = "" if gain is None else f"; the hypervolume of {name} is {larger}"
    if share == back == 0:
        return f"{name} and {base}: neither frontier dominates any of the other{told}."
    return f"{name} dominates {share:.0f} % of {base}'s frontier, {base} {back:.0f} % of {name}'s{told}."


def titled(row: pd.Series) -> str:
    q = strength(row["q"])
    return str(row["line"]) if q == "—" else f"{row['line']} at q = {q}"


def strength(q: object) -> str:
    """A strength as people write it; a list is one per past task."""
    if isinstance(q, list | tuple):
        return ", ".join(f"{one:g}" for one in q)
    return "—" if pd.isna(q) else f"{q:g}"


def mean_std(mean: float, std: float) -> str:
    if pd.isna(mean):
        return "—"
    told = f"{mean:.2f}" if pd.isna(std) else f"{mean:.2f} ± {std:.2f}"
    return told.replace("-", "−")
