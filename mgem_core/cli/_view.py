"""The options that say which view of a sweep a command is about."""

import argparse
import re
from collections.abc import Sequence

from mgem_core import UsageError
from mgem_core.analysis import AXES, GRADIENTS, View


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


def read_view(options: argparse.Namespace, benchmarks: Sequence[str]) -> View:
    """The view that the options ask for; of several benchmarks, it names the one that is meant."""
    choices = {"axes": AXES, "gradient": GRADIENTS, "benchmark": ["", *benchmarks]}
    for name, allowed in choices.items():
        if (value := getattr(options, name)) not in allowed:
            raise UsageError(f"{name} is {value!r}; it must be one of {', '.join(filter(None, allowed))}.")
    benchmark = options.benchmark or (benchmarks[0] if len(benchmarks) > 1 else "")
    return View(benchmark, options.axes, _pair(options.pair), options.after, options.gradient)


def _pair(text: str) -> tuple[int, int] | None:
    """1,2 → (0, 1); mean → None."""
    if text == "mean":
        return None
    if not (tasks := re.fullmatch(r"([0-9]{1,9}),([0-9]{1,9})", text)):
        raise UsageError(f"pair is {text!r}; it must be two tasks S,T, counted from 1, or mean.")
    return int(tasks[1]) - 1, int(tasks[2]) - 1
