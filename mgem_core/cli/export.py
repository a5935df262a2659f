"""The command `mgem export`: plots, tables and configs of a sweep or a run as files."""

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from mgem_core import UsageError, frames
from mgem_core.cli.runs import find_runs
from mgem_core.figures.data import View, benchmarks
from mgem_core.figures.files import AXES, WHATS, export, filename, name_of
from mgem_core.report import printable
from mgem_core.runner.work import store_path
from mgem_core.store import Store

FORMATS = dict.fromkeys(format for formats in WHATS.values() for format in formats)


def add_commands(commands: Any) -> None:
    parser = commands.add_parser("export", help="plots, tables and configs as files", allow_abbrev=False)
    parser.set_defaults(command=_export)
    parser.add_argument("of", metavar="SWEEP|RUN", help="s3, r12")
    parser.add_argument("--what", required=True, metavar="X", help=", ".join(WHATS))
    parser.add_argument("--format", required=True, metavar="X", help=", ".join(FORMATS))
    parser.add_argument("-o", "--output", metavar="FILE", help="where to, - for stdout [a descriptive name in this folder]")
    parser.add_argument("--axes", default="unit", metavar="X", help=f"of pareto: {', '.join(AXES)} [unit]")
    parser.add_argument("--pair", default="1,2", metavar="S,T", help="of pareto: tasks, counted from 1, or mean [1,2]")
    parser.add_argument("--after", type=int, metavar="K", help="the results after that many tasks [the latest]")
    parser.add_argument("--benchmark", default="", metavar="NAME", help="which one, if the sweep has several [the first]")


def _export(options: argparse.Namespace) -> int:
    store = Store(store_path())
    found = find_runs(store, [options.of])
    sweep, runs = (int(options.of[1:]), None) if options.of[0] == "s" else (None, found)
    names = benchmarks(frames.runs(store, sweep)) if sweep is not None else []
    benchmark = options.benchmark or (names[0] if len(names) > 1 else "")  # then it is part of the file's name
    view = View(benchmark, options.axes, _parse_pair(options.pair), options.after)
    content = export(store, sweep, options.what, options.format, view, runs)
    if options.output == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return 0
    path = Path(options.output or filename(name_of(store, sweep, runs), options.what, options.format, view))
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"output is {str(path)!r}, but it cannot be written: {error.strerror}.") from None
    print(printable(str(path)))
    return 0


def _parse_pair(text: str) -> tuple[int, int] | None:
    """1,2 → (0, 1); mean → None."""
    if text == "mean":
        return None
    if not (tasks := re.fullmatch(r"([0-9]{1,9}),([0-9]{1,9})", text)):
        raise UsageError(f"pair is {text!r}; it must be two tasks S,T, counted from 1, or mean.")
    return int(tasks[1]) - 1, int(tasks[2]) - 1
