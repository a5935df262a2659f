"""Read exported files."""

import io
from collections.abc import Sequence
from csv import DictReader

import pandas as pd

from mgem_core.analysis.aggregate import View
from mgem_core.figures.files import export
from mgem_core.figures.selection import Selection
from mgem_core.store import Store


def exported(
    store: Store, name: str, format: str, view: View | None = None, sweep: int | None = 1, runs: Sequence[int] | None = None
) -> bytes:
    return export(Selection(store, sweep, runs, view or View()), name, format)


def exported_csv(store: Store, name: str, *view: View, **selection) -> pd.DataFrame:
    """Return the csv file as a frame; Python parses the numbers, to the last digit."""
    rows = DictReader(io.StringIO(exported(store, name, "csv", *view, **selection).decode()))
    return pd.DataFrame([{column: _value(cell) for column, cell in row.items()} for row in rows])


def _value(cell: str) -> float | bool | str:
    try:
        return float(cell or "nan")
    except ValueError:
        return {"True": True, "False": False}.get(cell, cell)
