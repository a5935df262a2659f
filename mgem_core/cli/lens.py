"""The command `mgem lens`, which predicts what other settings would have done at the steps of recorded runs."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mgem_core import UsageError
from mgem_core.cli._report import printable, table_lines
from mgem_core.cli._view import read_pair
from mgem_core.cli.runs import find_runs
from mgem_core.config.field_values import parse_modules, parse_strength, split_values, whole_number
from mgem_core.events import number
from mgem_core.home import store_path
from mgem_core.lens import recordings
from mgem_core.lens.answers import answers
from mgem_core.lens.recordings import Recording
from mgem_core.lens.steps import snapshots_by_task, steps_of
from mgem_core.restriction.restriction import CHOICES, Restriction
from mgem_core.restriction.surgery import RULES
from mgem_core.store import Store

AXES = ("unit", "raw", "cosine")
KNOBS = {name: words for name, words in CHOICES.items() if name != "ridge_kind"}  # options that all settings share
LEGEND = """\
x, y, batch y  ⟨g_s,z⟩, ⟨g_t,z⟩ and ⟨g,z⟩, mean over {snapshots} recorded steps, {axes}; ± standard error over seeds"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_lens)
    of = "r12, s3, or a file of mgem_core.lens.recorder; seeds are averaged"
    parser.add_argument("of", nargs="+", metavar="RUN|FILE", help=of)
    modules = "as in mgem run, several separated by commas (by ; where a value has commas) [1]"
    parser.add_argument("--modules", default="1", metavar="X,Y", help=modules)
    parser.add_argument("--splits", default="1", metavar="X,Y", help="divisors of the recorded ones [1]")
    strengths = "0,0.1,0.3,1,3,10"
    parser.add_argument("--strengths", default=strengths, metavar="X,Y", help=f"memory strengths [{strengths}]")
    for name, words in KNOBS.items():
        help = f"{', '.join(words)} [as the run had it]"
        parser.add_argument(f"--{name.replace('_', '-')}", choices=words, metavar="X", help=help)
    parser.add_argument("--rules", default="", metavar="X,Y", help=f"gradient surgery as well: {', '.join(RULES)}")
    parser.add_argument("--axes", default="unit", choices=AXES, metavar="X", help="unit (per ‖z‖), raw or cosine [unit]")
    pair = "past and current task, counted from 1, or mean [1 and the first task that was recorded]"
    parser.add_argument("--pair", default="", metavar="S,T", help=pair)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _lens(options: argparse.Namespace) -> int:
    found = _recordings(options.of)
    pairs = _pairs(options.pair, found)
    rows = _rows(options, found, pairs)
    if options.json:
        print(json.dumps(rows, indent=2, allow_nan=False))
    else:
        print(_table(rows))
        snapshots = sum(one.task in {t for _, t in pairs} for recording in found for one in recording.snapshots)
        axes = {"unit": "per unit ‖z‖", "raw": "as they are", "cosine": "as cosines"}[options.axes]
        print("\n" + LEGEND.format(snapshots=snapshots, axes=axes))
    return 0


def _recordings(names: Sequence[str]) -> list[Recording]:
    """Return each recording that the user named once: files, runs, and the runs of sweeps that have snapshots."""
    by_source: dict[Path | int, Recording] = {}
    for name in names:
        if Path(name).is_file() or "." in name or "/" in name:
            by_source[Path(name).resolve()] = recordings.read(Path(name))
            continue
        store = Store(store_path())
        runs = find_runs(store, [name])
        recorded = store.runs_with_snapshots(runs)
        by_source |= {run: recordings.of_run(store, run) for run in recorded or runs[:1] if run not in by_source}
    found = list(by_source.values())
    compared = ("layers", "split_by", "lr", "used", "configuration")
    for other in found[1:]:
        if any(getattr(other, name) != getattr(found[0], name) for name in compared):
            differ = f"{found[0].name} and {other.name} differ in more than their seeds"
            raise UsageError(f"{differ}; give runs of one configuration, whose seeds can be averaged.")
    return found


def _pairs(text: str, found: Sequence[Recording]) -> list[tuple[int, int]]:
    """Return the pairs of past and current task over which means are taken, counted from 0."""
    tasks = set.intersection(*(set(recording.tasks) for recording in found))
    if not tasks:
        raise UsageError("these recordings have no task in common; give recordings of one kind.")
    snapshots = snapshots_by_task(found[0])
    past = {t: len(snapshots[t][0].sizes) for t in sorted(tasks)}
    if text == "mean":
        return [(s, t) for t in past for s in range(past[t])]
    pair = read_pair(text) if text else (0, min(tasks))
    if pair is None or pair[1] not in past or pair[0] not in range(past[pair[1]]):
        known = ", ".join(f"{s + 1},{t + 1}" for t in past for s in range(past[t]))
        raise UsageError(f"pair is {text!r}; recorded are {known}, or mean for all of them.")
    return [pair]


def _settings(options: argparse.Namespace, used: dict[str, Any]) -> list[Restriction]:
    """Return each combination of modules, splits, strengths and rules; options that are not given are those of the run."""
    given = {name: value for name in KNOBS if (value := getattr(options, name)) is not None}
    base = Restriction.of({**used, **given})
    rules = [rule for rule in options.rules.split(",") if rule]
    strengths = _read("strengths", options.strengths, parse_strength)
    settings = []
    for modules in _read("modules", options.modules, parse_modules):
        for splits in _read("splits", options.splits, whole_number):
            one = replace(base, modules=modules, splits=splits)
            settings += [replace(one, strength=strength) for strength in strengths]
            for rule in rules:
                has_curve = rule not in RULES or RULES[rule].parameter
                settings += [replace(one, rule=rule, strength=q) for q in (strengths if has_curve else [0.0])]
    return settings


def _read(name: str, text: str, parse: Any) -> list[Any]:
    values = []
    for part in split_values(text):
        try:
            value = parse(part)
        except ValueError as error:
            raise UsageError(f"{name} is {part!r}; {error}.") from None
        if value is None:
            raise UsageError(f"{name} is {part!r}; it must be a whole number.")
        values.append(value)
    return values


def _rows(
    options: argparse.Namespace, found: Sequence[Recording], pairs: Sequence[tuple[int, int]]
) -> list[dict[str, Any]]:
    """Return a row per setting: means over the steps and pairs of each recording, then over recordings."""
    values = []  # [recordings, 4, settings]
    for recording in found:
        settings = _settings(options, recording.used)
        by_task = {t: answers(steps_of(recording, t), settings) for t in {t for _, t in pairs}}
        per_pair = [np.stack([*by_task[t].on_axes(options.axes, s), by_task[t].norm_z]).mean(axis=2) for s, t in pairs]
        values.append(np.mean(per_pair, axis=0))
    means, errors = np.mean(values, axis=0), np.full((4, len(settings)), np.nan)
    if len(found) > 1:
        errors = np.std(values, axis=0, ddof=1) / len(found) ** 0.5
    rows = []
    for setting, (x, y, batch_y, norm_z), error in zip(settings, means.T, errors.T, strict=True):
        has_strength = not setting.rule or RULES[setting.rule].parameter
        row: dict[str, Any] = {"rule": setting.rule or "gem", "modules": setting.modules, "splits": setting.splits}
        row |= {"strength": setting.strength if has_strength else None, "x": number(x), "y": number(y)}
        row |= {"batch_y": number(batch_y), "norm_z": number(norm_z)}
        if len(found) > 1:
            row |= {"seeds": [one.seed for one in found], "x_error": number(error[0]), "y_error": number(error[1])}
        rows.append(row)
    return rows


def _table(rows: Sequence[dict[str, Any]]) -> str:
    names = ("rule", "modules", "splits", "strength", "x", "y", "batch_y", "norm_z")
    header = [{"batch_y": "batch y", "norm_z": "‖z‖"}.get(name, name) for name in names]
    return "\n".join(table_lines([header, *([_cell(row, name) for name in names] for row in rows)]))


def _cell(row: dict[str, Any], name: str) -> str:
    value = row[name]
    if name == "strength":
        return "—" if value is None else ", ".join(f"{one:g}" for one in np.atleast_1d(value))
    if name == "modules" and isinstance(value, dict):
        return printable(",".join(f"{part}={module}" for part, module in value.items()))
    if isinstance(value, float) or value is None:
        error = row.get(f"{name}_error")
        text = "—" if value is None else f"{value:.4f}" + (f" ± {error:.4f}" if error is not None else "")
        return text.replace("-", "−")
    return printable(str(value))
