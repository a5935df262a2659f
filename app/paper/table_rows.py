"""A table of the paper with a row per method: the printed numbers, ours or those of the user's runs, and differences."""

import math
from collections.abc import Sequence
from typing import Any

from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures.paper_table import PAPER, Entry, strength_of
from mgem_core.figures.style import family, of_family
from mgem_core.metrics import MEASURES
from mgem_core.paper import selection
from mgem_core.paper.selection import Difference
from mgem_core.paper.tables import PRINTED_MEASURES, Row, Scale, Table
from mgem_core.text import MISSING, mean_and_error, strength

DAGGER = "†"


def columns(source: str) -> list[dict[str, Any]]:
    """Return the columns of the table: of each measure the paper's mean, that of this source, and the difference."""
    of_measures = [
        column
        for name in PRINTED_MEASURES
        for column in (
            {"name": f"{name}_paper", "title": f"{name.upper()} paper", "help": "as printed"},
            {"name": name, "title": source, "help": f"{name.upper()}, mean ± standard error over seeds"},
            {"name": f"{name}_difference", "title": "difference", "help": f"{name.upper()} minus the paper's"},
        )
    ]
    added = f"{source}, mean ± standard error over seeds, in points; not in the paper, not tested"
    lost = {"name": "forgetting", "title": MEASURES["forgetting"], "help": added}
    settings = [
        {"name": "q", "title": "q", "help": "memory strength"},
        {"name": "lr", "title": "lr", "help": "learning rate"},
        {"name": "compared", "title": "chosen from", "help": "settings among which held-out images chose"},
        {"name": "seeds", "title": "seeds", "help": "number of seeds in the means"},
    ]
    numbers = [{**column, "kind": "number"} for column in (*of_measures, lost, *settings)]
    return [{"name": "method", "title": "method", "kind": "text"}, *numbers, {"name": "run", "title": "", "kind": "action"}]


def table_rows(table: Table, scale: Scale, entries: Sequence[Entry], source: str, can_run: bool) -> list[dict[str, Any]]:
    """Return a row per method, with the paper's numbers, those of the source, and a button that runs it."""
    found = {(entry.row.label, entry.source): entry for entry in entries}
    rows = []
    for row in table.rows:
        printed, ours = (found.get((row.label, one), Entry(row, one, {}, {}, None)) for one in (PAPER, source))
        run = {"text": "Run", "label": f"Run {row.label}", "disabled": not can_run}
        color = of_family(family(_config_label(table, scale, row))).color
        rows.append({"key": row.label, "color": color, "cells": {**_cells(printed, ours), "run": run}})
    return rows


def _config_label(table: Table, scale: Scale, row: Row) -> str:
    """Return our label for the method of a row, which decides its colour."""
    fields = {name: [value] for name, value in row.fields.items()}
    return SweepSpec(base=table.scale(scale), grid=fields).runs()[0].label


def _cells(printed: Entry, ours: Entry) -> dict[str, Any]:
    config = ours.result.config if ours.result else None
    q = strength_of(ours)
    is_flagged = bool(printed.row.note) and bool(printed.cells)
    seeds, compared = (len(ours.result.seeds), ours.result.compared) if ours.result else (None, 0)
    cells: dict[str, Any] = {
        "method": {"text": printed.row.label + (f" {DAGGER}" if is_flagged else "")},
        "q": {"text": strength(q), "value": q if isinstance(q, float) else None},
        "lr": {"text": f"{config.lr:g}" if config else MISSING, "value": config.lr if config else None},
        "compared": {"text": str(compared or MISSING), "value": compared or None},
        "seeds": {"text": MISSING if seeds is None else str(seeds), "value": seeds},
    }
    cells |= {name: _mean_cell(ours, name) for name in MEASURES}
    for name in PRINTED_MEASURES:
        cells[f"{name}_paper"] = _mean_cell(printed, name)
        cells[f"{name}_difference"] = _difference_cell(ours.differences.get(name))
    return cells


def _mean_cell(entry: Entry, name: str) -> dict[str, Any]:
    mean, error = entry.cells.get(name, (None, None))
    return {"text": mean_and_error(mean, error), "value": mean}


def _difference_cell(found: Difference | None) -> dict[str, Any]:
    if found is None:
        return {"text": "", "value": None}
    error = "" if math.isnan(found.error) else f" ± {found.error:.2f}"
    return {"text": f"{found.value:+.2f}{error}".replace("-", "−"), "value": found.value, "bold": found.significant}


def choices_in_words(entries: Sequence[Entry]) -> list[str]:
    """Describe for each row with runs which settings were chosen, how, and the seeds of the means."""
    with_runs = [(entry, entry.result) for entry in entries if entry.result]
    return [f"{entry.row.label}, {entry.source}: {selection.in_words(result)}" for entry, result in with_runs]
