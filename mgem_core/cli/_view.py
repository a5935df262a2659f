"""Options that select the view of a sweep."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import fields

from mgem_core import UsageError
from mgem_core.analysis.aggregate import AXES, CELLS, CHOICES, DIFFERENCES, ERRORS, MEASURES, STRENGTHS, View
from mgem_core.errors import check_choice


def add_view_options(parser: argparse.ArgumentParser) -> None:
    _add_choice(parser, "axes", f"axes of the frontier: {', '.join(AXES)}")
    pair = "frontier of past task S and current task T, counted from 1, or mean [1,2]"
    parser.add_argument("--pair", default="1,2", metavar="S,T", help=pair)
    _add_choice(parser, "gradient", "gradient of the new task: full (its training set) or batch")
    parser.add_argument("--after", type=int, metavar="K", help="show the state after K tasks [the current state]")
    benchmark = "benchmark to show, if the sweep has several [the first]"
    parser.add_argument("--benchmark", default="", metavar="NAME", help=benchmark)
    parser.add_argument("--baseline", default="", metavar="LINE", help="line to compare with [GEM, or the first line]")


def add_plot_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that apply to plots only."""
    _add_choice(parser, "errors", f"error bars: {', '.join(ERRORS)}")
    _add_choice(parser, "measure", f"measure of strength and map: {', '.join(MEASURES)} (x, y: those of the frontier)")
    _add_choice(parser, "cells", f"cells of the map: {', '.join(CELLS)}")
    _add_choice(parser, "difference", f"difference shown by seeds: {', '.join(DIFFERENCES)}")
    best = "(only the best of each line on held-out data)"
    _add_choice(parser, "strengths", f"strengths in the table: {', '.join(STRENGTHS)} {best}")
    help = "draw only the Pareto points of the frontier"
    parser.add_argument("--hide-dominated", action="store_true", help=help)


def _add_choice(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    """Add an option for a field of View, with the default of the field."""
    default = getattr(View(), name)
    parser.add_argument(f"--{name.replace('_', '-')}", default=default, metavar="X", help=f"{help} [{default}]")


def read_view(options: argparse.Namespace, benchmarks: Sequence[str]) -> View:
    """Return the view that the options describe; it names a benchmark if there are several."""
    given = {field.name: getattr(options, field.name) for field in fields(View) if hasattr(options, field.name)}
    for name in filter(given.__contains__, CHOICES):
        check_choice(name, given[name], CHOICES[name])
    if options.benchmark:
        check_choice("benchmark", options.benchmark, benchmarks)
    benchmark = options.benchmark or (benchmarks[0] if len(benchmarks) > 1 else "")
    return View(**{**given, "benchmark": benchmark, "pair": read_pair(options.pair)})


def read_pair(text: str) -> tuple[int, int] | None:
    """Convert 1,2 to (0, 1), and mean to None."""
    if text == "mean":
        return None
    if not (tasks := re.fullmatch(r"([0-9]{1,9}),([0-9]{1,9})", text)):
        raise UsageError(f"pair is {text!r}; it must be two tasks S,T, counted from 1, or mean.")
    return int(tasks[1]) - 1, int(tasks[2]) - 1
