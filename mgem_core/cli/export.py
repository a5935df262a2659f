"""The command `mgem export`: plots, tables and configs of a sweep or a run as files."""

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from mgem_core import UsageError, frames
from mgem_core.analysis import View, benchmarks
from mgem_core.cli.runs import find_runs
from mgem_core.figures import FIGURES, FORMATS
from mgem_core.figures.files import export, file_name
from mgem_core.figures.selection import AXES, Selection
from mgem_core.report import printable
from mgem_core.runner.work import store_path
from mgem_core.store import Store


def add_commands(commands: Any) -> None:
    parser = commands.add_parser("export", help="plots, tables and configs as files", allow_abbrev=False)
    parser.set_defaults(command=_export)
    parser.add_argument("of", metavar="SWEEP|RUN", help="s3, r12")
    parser.add_argument("--what", required=True, metavar="X", help=", ".join(FIGURES))
    parser.add_argument("--format", required=True, metavar="X", help=", ".join(FORMATS))
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to write it, - for stdout [a name that says what it is, in this folder]",
    )
    parser.add_argument("--axes", default="unit", metavar="X", help=f"of inner products: {', '.join(AXES)} [unit]")
    parser.add_argument(
        "--pair",
        default="1,2",
        metavar="S,T",
        help="of inner products: an old and a new task, counted from 1, or mean [1,2]",
    )
    parser.add_argument("--after", type=int, metavar="K", help="as it was after that many tasks [as it is now]")
    parser.add_argument("--benchmark", default="", metavar="NAME", help="of a sweep over several [the first]")


def _export(options: argparse.Namespace) -> int:
    store = Store(store_path())
    found = find_runs(store, [options.of])
    sweep, runs = (int(options.of[1:]), None) if options.of[0] == "s" else (None, found)
    choices = benchmarks(frames.runs(store, sweep)) if sweep is not None else []
    benchmark = options.benchmark or (choices[0] if len(choices) > 1 else "")  # the file's name then includes it
    view = View(benchmark, options.axes, _pair(options.pair), options.after)
    selection = Selection(store, sweep, runs, view)
    content = export(selection, options.what, options.format)
    if options.output == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return 0
    path = Path(options.output or file_name(selection.name(), FIGURES[options.what], options.format, view))
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"output is {str(path)!r}, but it cannot be written: {error.strerror}.") from None
    print(printable(str(path)))
    return 0


def _pair(text: str) -> tuple[int, int] | None:
    """1,2 → (0, 1); mean → None."""
    if text == "mean":
        return None
    if not (tasks := re.fullmatch(r"([0-9]{1,9}),([0-9]{1,9})", text)):
        raise UsageError(f"pair is {text!r}; it must be two tasks S,T, counted from 1, or mean.")
    return int(tasks[1]) - 1, int(tasks[2]) - 1
