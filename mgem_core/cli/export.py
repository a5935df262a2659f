"""The command `mgem export`, which writes plots, tables and configs of a sweep or a run to files."""

import argparse
import sys
from pathlib import Path

from mgem_core import UsageError
from mgem_core.analysis import frames
from mgem_core.analysis.aggregate import benchmarks
from mgem_core.cli._page import add_page_options, read_page
from mgem_core.cli._report import printable
from mgem_core.cli._view import add_plot_options, add_view_options, read_view
from mgem_core.cli.runs import find_runs
from mgem_core.errors import check_choice
from mgem_core.figures import FIGURES, FORMATS
from mgem_core.figures.files import export, file_name
from mgem_core.figures.selection import Selection
from mgem_core.home import store_path
from mgem_core.store import Store


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_export)
    parser.add_argument("of", metavar="SWEEP|RUN", help="a sweep like s3, or a run like r12")
    parser.add_argument("--what", required=True, metavar="X", help=f"what to export: {', '.join(FIGURES)}")
    parser.add_argument("--format", required=True, metavar="X", help=f"file format: {', '.join(FORMATS)}")
    output = "file to write, - for stdout [a descriptive name in this folder]"
    parser.add_argument("-o", "--output", metavar="FILE", help=output)
    add_view_options(parser)
    add_plot_options(parser)
    add_page_options(parser)


def _export(options: argparse.Namespace) -> int:
    store = Store(store_path())
    found = find_runs(store, [options.of])
    sweep, runs = (int(options.of[1:]), None) if options.of[0] == "s" else (None, found)
    view = read_view(options, benchmarks(frames.runs(store, sweep, runs)))
    selection = Selection(store, sweep, runs, view)
    check_choice("what", options.what, FIGURES)
    figure = FIGURES[options.what]
    check_choice(f"format of {figure.name}", options.format, figure.formats)
    page = read_page(options, figure.name, options.format, figure.has_legend)
    content = export(selection, figure.name, options.format, page)
    if options.output == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return 0
    path = Path(options.output or file_name(selection.name(), figure, options.format, view, page))
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"output is {str(path)!r}, but it cannot be written: {error.strerror}.") from None
    print(printable(str(path)))
    return 0
