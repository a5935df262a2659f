"""The options that say which view of a sweep a command is about."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import fields

from mgem_core import UsageError
from mgem_core.analysis.aggregate import AXES, CELLS, CHOICES, DIFFERENCES, ERRORS, MEASURES, STRENGTHS, View


def add_view_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--axes", default="unit", metavar="X", help=f"of the frontier: {', '.join(AXES)} [unit]")
    parser.add_argument(
        "--pair", default="1,2", metavar="S,T", help="of the frontier: past and current task, counted from 1, or mean [1,2]"
    )
    parser.add_argument(
        "--gradient", default="full", metavar="X", help="of the new task: full (its training set) or batch [full]"
    )
    parser.add_argument("--after", type=int, metavar="K", help="the state after that many tasks [the current one]")
    parser.add_argument("--benchmark", default="", metavar="NAME", help="of a sweep over several [the first]")
    parser.add_argument("--baseline", default="", metavar="LINE", help="the line to compare with [GEM, or the first line]")


def add_plot_options(parser: argparse.ArgumentParser) -> None:
    """What only plots show."""
    parser.add_argument("--errors", default="within", metavar="X", help=f"error bars: {', '.join(ERRORS)} [within]")
    measures = f"of strength and map: {', '.join(MEASURES)} (x and y are those of the frontier) [acc]"
    parser.add_argument("--measure", default="acc", metavar="X", help=measures)
    parser.add_argument("--cells", default="differences", metavar="X", help=f"of the map: {', '.join(CELLS)} [differences]")
    kinds = f"of seeds: {', '.join(DIFFERENCES)} [retention]"
    parser.add_argument("--difference", default="retention", metavar="X", help=kinds)
    strengths = f"of the table: {', '.join(STRENGTHS)} (of each line, the best one on held-out data) [all]"
    parser.add_argument("--strengths", default="all", metavar="X", help=strengths)
    help = "draw only the points that no other dominates in the frontier"
    parser.add_argument("--hide-dominated", action="store_true", help=help)


def read_view(options: argparse.Namespace, benchmarks: Sequence[str]) -> View:
    """The view that the options ask for; of several benchmarks, it names the one that is meant."""
    choices = {**CHOICES, "benchmark": ["", *benchmarks]}
    given = {field.name: getattr(options, field.name) for field in fields(View) if hasattr(options, field.name)}
    for name, allowed in choices.items():
        if name in given and given[name] not in allowed:
            raise UsageError(f"{name} is {given[name]!r}; it must be one of {', '.join(filter(None, allowed))}.")
    benchmark = options.benchmark or (benchmarks[0] if len(benchmarks) > 1 else "")
    return View(**{**given, "benchmark": benchmark, "pair": read_pair(options.pair)})


def read_pair(text: str) -> tuple[int, int] | None:
    """1,2 → (0, 1); mean → None."""
    if text == "mean":
        return None
    if not (tasks := re.fullmatch(r"([0-9]{1,9}),([0-9]{1,9})", text)):
        raise UsageError(f"pair is {text!r}; it must be two tasks S,T, counted from 1, or mean.")
    return int(tasks[1]) - 1, int(tasks[2]) - 1
