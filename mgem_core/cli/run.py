"""The command `mgem run`, which trains one configuration, and `mgem quick`."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from mgem_core import RunConfig, UsageError, run
from mgem_core.cli._errors import print_error
from mgem_core.events import Event, Finished
from mgem_core.report import Progress, comparison, result, summary

QUICK: list[dict[str, Any]] = [
    {"method": "single"},
    {"method": "ewc"},
    {"modules": 1, "splits": 1},
    {"modules": 4},
    {"splits": 2},
    {"modules": 4, "splits": 2},
    {"modules": 4, "solver": "approx", "strength": 0.0},
]


def add_commands(commands: Any) -> None:
    parser = commands.add_parser("run", help="train one configuration", allow_abbrev=False)
    parser.set_defaults(command=_run)
    for name, field in RunConfig.model_fields.items():
        choices = f" ({', '.join(get_args(field.annotation))})" if get_origin(field.annotation) is Literal else ""
        default = f" [{field.default:g}]" if isinstance(field.default, float) else f" [{field.default}]"
        known = default if field.default or name.startswith(("snap", "mer", "seed")) else " [the benchmark's]"
        text = f"{field.description}{choices}{known}".replace("%", "%%")
        parser.add_argument(f"--{name.replace('_', '-')}", help=text, metavar="X")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="also write the JSON document to FILE")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="save the state at task ends and every 30 s")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="continue from a checkpoint of the same settings")

    quick = commands.add_parser("quick", help="compare the paper's methods on built-in digits", allow_abbrev=False)
    quick.set_defaults(command=_quick)
    quick.add_argument("--seed", type=int, default=0, metavar="N")


def _run(options: argparse.Namespace) -> int:
    config = RunConfig(**{name: getattr(options, name) for name in RunConfig.model_fields})
    if options.output:
        _check_output(options.output, options.checkpoint or options.resume)
    finished = _show_progress(config, run(config, checkpoint=options.checkpoint, resume=options.resume))
    document = json.dumps(result(config, finished), allow_nan=False, indent=2)
    print(document if options.json else summary(config, finished), flush=True)
    if options.output:
        options.output.write_text(document + "\n")
    return 0 if finished.status == "finished" else print_error(f"{finished.message}.", 1)


def _quick(options: argparse.Namespace) -> int:
    """A first look: the paper's methods on built-in digits, one after the other."""
    configs = [RunConfig(seed=options.seed, probe_every=0, **fields) for fields in QUICK]
    print("What does it cost to remember? Five tasks of real digits, 100 steps each; accuracies in percent.\n")
    print(comparison(None))
    for config in configs:
        print(comparison((config, _show_progress(config, run(config)))), flush=True)
    print(
        "\nACC: on all tasks at the end. FWD: on each task just learned. BWD: what later tasks took away. ACC = FWD + BWD."
    )
    print("One run in full, with its accuracy matrix: mgem run --modules 4 --splits 2")
    return 0


def _show_progress(config: RunConfig, events: Iterator[Event]) -> Finished:
    """Consume the events of a run and show its progress on stderr; return its last event."""
    with Progress(config, sys.stderr) as progress:
        for event in events:
            progress.show(event)
            if isinstance(event, Finished):
                return event
    raise AssertionError("a run ends with Finished")


def _check_output(path: Path, checkpoint: Path | None) -> None:
    """Raise UsageError if the output file could not be written when the run has ended."""
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
