"""The `mgem` command. Bad input exits 2 with one sentence; results go to stdout, progress to stderr."""

import argparse
import io
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args, get_origin

from pydantic import ValidationError

from mgem_core import RunConfig, UsageError, __version__, run
from mgem_core.cli_dashboard import add_dashboard
from mgem_core.cli_data import add_data
from mgem_core.cli_export import add_export
from mgem_core.cli_sweeps import add_commands
from mgem_core.config import explain
from mgem_core.events import Event, Finished
from mgem_core.report import Progress, comparison, printable, result, summary

QUICK: list[dict[str, Any]] = [
    {"method": "single"},
    {"method": "ewc"},
    {"modules": 1, "splits": 1},
    {"modules": 4},
    {"splits": 2},
    {"modules": 4, "splits": 2},
    {"modules": 4, "solver": "approx", "strength": 0.0},
]


def main(arguments: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ⟨ or █ still shows the rest
    try:
        options = _parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
        return int(options.command(options))
    except ValidationError as error:
        return _say(explain(error), 2)
    except UsageError as error:
        return _say(str(error), 2)
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _say(f"{error.filename or 'a file'} could not be used: {error.strerror or error}.", 1)
    except KeyboardInterrupt:
        return _say("stopped.", 130)


def _joined(arguments: Sequence[str]) -> list[str]:
    """--lr -1e3 → --lr=-1e3: argparse would take the value for a flag."""
    joined: list[str] = []
    for argument in arguments:
        if re.match(r"-[0-9.]", argument) and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _run(options: argparse.Namespace) -> int:
    config = RunConfig(**{name: getattr(options, name) for name in RunConfig.model_fields})
    if options.output:
        _check_output(options.output, options.checkpoint or options.resume)
    finished = _watched(config, run(config, checkpoint=options.checkpoint, resume=options.resume))
    document = json.dumps(result(config, finished), allow_nan=False, indent=2)
    print(document if options.json else summary(config, finished), flush=True)
    if options.output:
        options.output.write_text(document + "\n")
    return 0 if finished.status == "finished" else _say(f"{finished.message}.", 1)


def _quick(options: argparse.Namespace) -> int:
    """A first look: the paper's methods on built-in digits, one after the other."""
    configs = [RunConfig(seed=options.seed, probe_every=0, **fields) for fields in QUICK]
    print("What does it cost to remember? Five tasks of real digits, 100 steps each; accuracies in percent.\n")
    print(comparison(None))
    for config in configs:
        print(comparison((config, _watched(config, run(config)))), flush=True)
    print(
        "\nACC: on all tasks at the end. FWD: on each task just learned. BWD: what later tasks took away. ACC = FWD + BWD."
    )
    print("One run in full, with its accuracy matrix: mgem run --modules 4 --splits 2")
    return 0


def _watched(config: RunConfig, events: Iterator[Event]) -> Finished:
    """Show progress until the run has finished."""
    with Progress(config, sys.stderr) as progress:
        for event in events:
            progress.show(event)
            if isinstance(event, Finished):
                return event
    raise AssertionError("a run ends with Finished")


def _check_output(path: Path, checkpoint: Path | None) -> None:
    if checkpoint and path.absolute() == checkpoint.absolute():
        raise UsageError(f"output is {str(path)!r}, which is the checkpoint too; give them different files.")
    existed = path.exists()
    try:
        with path.open("a"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        raise UsageError(f"output is {str(path)!r}, but it cannot be written: {error.strerror}.") from None


def _say(sentence: str, code: int) -> int:
    print(f"mgem: {printable(' '.join(sentence.split()))}", file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(_say(f"{message}; see {self.prog} --help.", 2))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="mgem", description="What does it cost to remember? Continual learning with fine-grained GEM.")
    parser.add_argument("--version", action="version", version=f"mgem {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    single = commands.add_parser("run", help="train one configuration", allow_abbrev=False)
    single.set_defaults(command=_run)
    for name, field in RunConfig.model_fields.items():
        choices = f" ({', '.join(get_args(field.annotation))})" if get_origin(field.annotation) is Literal else ""
        default = f" [{field.default:g}]" if isinstance(field.default, float) else f" [{field.default}]"
        known = default if field.default or name.startswith(("snap", "mer", "seed")) else " [the benchmark's]"
        text = f"{field.description}{choices}{known}".replace("%", "%%")
        single.add_argument(f"--{name.replace('_', '-')}", help=text, metavar="X")
    single.add_argument("--json", action="store_true", help="print one JSON document")
    single.add_argument("-o", "--output", type=Path, metavar="FILE", help="also write the JSON document to FILE")
    single.add_argument("--checkpoint", type=Path, metavar="FILE", help="save the state at task ends and every 30 s")
    single.add_argument("--resume", type=Path, metavar="FILE", help="continue from a checkpoint of the same settings")

    add_commands(commands)
    add_export(commands)
    add_data(commands)
    add_dashboard(commands)
    quick = commands.add_parser("quick", help="compare the paper's methods on built-in digits", allow_abbrev=False)
    quick.set_defaults(command=_quick)
    quick.add_argument("--seed", type=int, default=0, metavar="N")
    return parser
