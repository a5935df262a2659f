"""The rows of a table of the paper: printed numbers, results that come with the tool, and the user's runs."""

import math
from collections.abc import Sequence
from typing import Any

from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures.paper_table import PAPER, Entry, strength_of
from mgem_core.figures.style import family, of_family
from mgem_core.paper import selection
from mgem_core.paper.selection import Difference
from mgem_core.paper.tables import MEASURES, Row, Scale, Table
from mgem_core.text import MISSING, mean_and_error, strength

DAGGER = "†"
COLUMNS: list[dict[str, Any]] = [
    {"name": "method", "title": "method", "kind": "text"},
    {"name": "source", "title": "numbers", "kind": "text", "help": "the paper, our results, or your runs"},
    *(
        column
        for name in MEASURES
        for column in (
            {"name": name, "title": name.upper(), "kind": "number", "help": "mean ± standard error over seeds"},
            {
                "name": f"{name}_difference",
                "title": "− paper",
                "kind": "number",
                "help": f"{name.upper()} minus the paper's",
            },
        )
    ),
    {"name": "q", "title": "q", "kind": "number", "help": "memory strength"},
    {"name": "lr", "title": "lr", "kind": "number", "help": "learning rate"},
    {"name": "seeds", "title": "seeds", "kind": "number", "help": "number of seeds in the means"},
    {"name": "run", "title": "", "kind": "action"},
]


def table_rows(table: Table, scale: Scale, entries: Sequence[Entry], can_run: bool) -> list[dict[str, Any]]:
    """Return a row per entry; the first row of each method has the button that runs it."""
    rows, with_button = [], set()
    for entry in entries:
        label = entry.row.label
        cells = {**_cells(entry), "run": {"text": ""}}
        if label not in with_button:
            with_button.add(label)
            cells["run"] = {"text": "Run this", "label": f"Run {label}", "disabled": not can_run}
        color = of_family(family(_config_label(table, scale, entry.row))).color
        rows.append({"key": f"{label}/{entry.source}", "color": color, "cells": cells})
    return rows


def _config_label(table: Table, scale: Scale, row: Row) -> str:
    """Return our label for the method of a row, which decides its colour."""
    fields = {name: [value] for name, value in row.fields.items()}
    return SweepSpec(base=table.scale(scale), grid=fields).runs()[0].label


def _cells(entry: Entry) -> dict[str, Any]:
    config = entry.result.config if entry.result else None
    q = strength_of(entry)
    is_flagged = bool(entry.row.note) and entry.source == PAPER
    cells: dict[str, Any] = {
        "method": {"text": entry.row.label + (f" {DAGGER}" if is_flagged else "")},
        "source": {"text": entry.source or MISSING},
        "q": {"text": strength(q), "value": q if isinstance(q, float) else None},
        "lr": {"text": f"{config.lr:g}" if config else MISSING, "value": config.lr if config else None},
        "seeds": {"text": str(len(entry.result.seeds)), "value": len(entry.result.seeds)}
        if entry.result
        else {"text": MISSING, "value": None},
    }
    for name in MEASURES:
        mean, error = entry.cells.get(name, (None, None))
        cells[name] = {"text": mean_and_error(mean, error), "value": mean}
        cells[f"{name}_difference"] = _difference_cell(entry.differences.get(name))
    return cells


def _difference_cell(found: Difference | None) -> dict[str, Any]:
    if found is None:
        return {"text": "", "value": None}
    error = "" if math.isnan(found.error) else f" ± {found.error:.2f}"
    return {"text": f"{found.value:+.2f}{error}".replace("-", "−"), "value": found.value, "bold": found.significant}


def choices_in_words(entries: Sequence[Entry]) -> list[str]:
    """Describe for each row with runs which settings were chosen, how, and the seeds of the means."""
    with_runs = [(entry, entry.result) for entry in entries if entry.result]
    return [f"{entry.row.label}, {entry.source}: {selection.in_words(result)}" for entry, result in with_runs]
