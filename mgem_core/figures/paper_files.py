"""A table of the paper beside our runs, as a file."""

from collections.abc import Sequence

from mgem_core.figures.files import table_file
from mgem_core.figures.paper_table import Entry, latex, tidy
from mgem_core.paper import Scale, Table

FORMATS = ("csv", "latex", "json")


def as_file(table: Table, scale: Scale, found: Sequence[Entry], format: str) -> bytes:
    """The content of a file in one of these formats."""
    if format == "latex":
        return latex(table, scale, found).encode()
    return table_file(tidy(table, scale, found), format)


def file_name(table: Table, scale: Scale, format: str) -> str:
    return f"{table.name}_{scale}.{'tex' if format == 'latex' else format}"
