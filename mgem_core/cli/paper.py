"""The command `mgem paper`: a table of the paper next to the results that come with the tool and the runs of the store.

It also writes the paper's figures as files, drawn from the results that come with the tool.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mgem_core import UsageError
from mgem_core.cli._page import add_page_options, read_page
from mgem_core.errors import check_choice
from mgem_core.figures import paper_differences
from mgem_core.figures.paper_files import FORMATS, as_file, figure_file, figure_formats, figure_has_legend
from mgem_core.figures.paper_table import PAPER, Entry, read_entries
from mgem_core.home import store_path
from mgem_core.metrics import MEASURES
from mgem_core.paper.selection import in_words
from mgem_core.paper.tables import FIGURES, POST_HOC, SCALES, TABLES
from mgem_core.store import Store
from mgem_core.text import MISSING, mean_and_error

AXES = ("unit", "raw")
BINARY = ("png", "pdf", "parquet")
LEGEND = f"""
ACC, FWD, BWD and Forgetting in percent; in parentheses ours minus the paper's. Our ± is the standard error over seeds. The
paper does not say what its ± is; we assume a standard error.
{POST_HOC}
*  the 95 % CI of the difference excludes zero (Student's t over our seeds, not corrected for the number of cells); not
   marked at the short scale"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_paper)
    parser.add_argument("name", metavar="TABLE|FIGURE", help=", ".join([*TABLES, *FIGURES]))
    parser.add_argument("--scale", metavar="X", help="scale of our runs in a table: paper or short [paper]")
    parser.add_argument("--axes", metavar="X", help="axes of figure-2: unit, or raw as in the paper [unit]")
    parser.add_argument(
        "--format", metavar="X", help=f"for a table: {', '.join(FORMATS)}; for a figure: png, svg, pdf, html, …"
    )
    add_page_options(parser)
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE; needs --format")


def _paper(options: argparse.Namespace) -> int:
    format = "json" if options.json else options.format
    check_choice("name", options.name, [*TABLES, *FIGURES])
    has_axes = options.name in FIGURES and FIGURES[options.name].has_axes
    scale = _choice(options, "scale", SCALES, options.name in TABLES)
    axes = _choice(options, "axes", AXES, has_axes)
    formats = FORMATS if options.name in TABLES else figure_formats(options.name)
    if format is not None:
        check_choice("format", format, formats)
    elif options.output or options.name in FIGURES:
        reason = f"output is {str(options.output)!r}" if options.output else f"{options.name} is a picture"
        raise UsageError(f"{reason}, so format must be one of {', '.join(formats)}.")
    if format in BINARY and not options.output:
        raise UsageError(f"{format} is not text, so name a file for it with -o.")
    page = read_page(options, options.name, format, options.name in FIGURES and figure_has_legend(options.name))
    if options.name in FIGURES:
        return _write(options.output, figure_file(options.name, axes, format, page))
    table = TABLES[options.name]
    entries = read_entries(Store(store_path()), table, scale)
    if format:
        return _write(options.output, as_file(table, scale, entries, format))
    notes = [f"†  {row.label}: {row.note}" for row in table.rows if row.note]
    by_source = paper_differences.by_source(entries).items()
    differences = [line for title, sentences in by_source for line in (f"{title}:", *sentences, "")]
    choices = [f"{entry.row.label}, {entry.source}: {in_words(entry.result)}" for entry in entries if entry.result]
    print("\n".join([table.title, "", *map(_line, entries), LEGEND, *notes, "", *differences, *choices]))
    return 0


def _choice(options: argparse.Namespace, name: str, allowed: Sequence[Any], has_effect: bool) -> Any:
    """Return the value of an option, by default the first allowed one; raise a UsageError if it has no effect here."""
    value = getattr(options, name)
    if value is None:
        return allowed[0]
    if not has_effect:
        raise UsageError(f"{name} is {value!r}, but {options.name} has no {name}; leave it out.")
    check_choice(name, value, allowed)
    return value


def _write(file: Path | None, content: bytes) -> int:
    if file:
        file.write_bytes(content)
    else:
        sys.stdout.write(content.decode())
    return 0


def _line(entry: Entry) -> str:
    cells = "".join(f"{_cell(entry, name):<27}" for name in MEASURES)
    dagger = "†" if entry.row.note and entry.source == PAPER else ""
    return f"{entry.row.label + dagger:<16} {entry.source or MISSING:<10} {cells}".rstrip()


def _cell(entry: Entry, measure: str) -> str:
    cell, difference = entry.cells.get(measure), entry.differences.get(measure)
    if cell is None:
        return MISSING
    number = mean_and_error(*cell)
    if difference is None:
        return number
    return f"{number} ({difference.value:+.2f}){'*' if difference.significant else ''}".replace("-", "−")
