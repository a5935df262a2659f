"""The `mgem` command. Bad input exits with code 2 and one sentence; results go to stdout, progress to stderr.

Each command is a file of this package with a function `add_options(parser)`, which also sets the function to call. The
file is imported when its command is called, so that each command imports only the libraries it needs.
"""

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from pydantic import ValidationError

from mgem_core import UsageError, __version__
from mgem_core.cli._report import print_error
from mgem_core.config import explain

COMMANDS = {  # file → its line in `mgem --help`
    "run": "train one configuration",
    "sweep": "train a grid of configurations",
    "presets": "list the presets",
    "runs": "list sweeps and runs, or show some of them in full",
    "resume": "resume runs or sweeps",
    "cancel": "cancel runs or sweeps",
    "work": "train queued runs until there are none (the runner)",
    "compare": "compare the lines of a sweep with a baseline",
    "lens": "predict what other settings would have done at recorded steps",
    "export": "write plots, tables and configs to files",
    "paper": "compare a table of the paper with our results and yours",
    "publish": "collect finished runs in a file of results",
    "data": "list the benchmarks and their data, or download data",
    "doctor": "check this installation, and compare a GPU with the CPU",
    "dashboard": "show the dashboard in a browser on this computer",
}


def main(arguments: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ⟨ or █ still shows the rest
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
        return int(options.command(options))
    except ValidationError as error:
        return print_error(explain(error), 2)
    except UsageError as error:
        return print_error(str(error), 2)
    except BrokenPipeError:  # the program that reads the output has ended, such as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return print_error(f"{error.filename or 'a file'} could not be used: {error.strerror or error}.", 1)
    except KeyboardInterrupt:
        return print_error("stopped.", 130)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments; in the result, `command` is the function that carries out the command."""
    called = next((argument for argument in arguments if not argument.startswith("-")), "")
    parser = _Parser(prog="mgem", description="Continual learning with GEM and its fine-grained variants.")
    parser.add_argument("--version", action="version", version=f"mgem {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    for name, line in COMMANDS.items():
        options = commands.add_parser(name, help=line, allow_abbrev=False)
        if name == called:
            import_module(f"mgem_core.cli.{name}").add_options(options)
    return parser.parse_args(_join_negative_values(arguments))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(print_error(f"{message}; see {self.prog} --help.", 2))


def _join_negative_values(arguments: Sequence[str]) -> list[str]:
    """Turn --lr -1e3 into --lr=-1e3, because argparse would take the value for an option."""
    joined: list[str] = []
    for argument in arguments:
        if re.match(r"-[0-9.]", argument) and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined
