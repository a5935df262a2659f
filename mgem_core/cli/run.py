"""The command `mgem run`, which trains one configuration."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from mgem_core import RunConfig, UsageError, run
from mgem_core.cli._report import Progress, print_error, result, summary
from mgem_core.config.snapshot_cost import count_snapshots
from mgem_core.config.sweeps import domains_without_effect
from mgem_core.events import Event, Finished, Started


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_run)
    for name, field in RunConfig.model_fields.items():
        choices = f" ({', '.join(get_args(field.annotation))})" if get_origin(field.annotation) is Literal else ""
        text = f"{field.description}{choices} [{_default(field.default)}]".replace("%", "%%")
        parser.add_argument(f"--{name.replace('_', '-')}", help=text, metavar="X")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="also write the JSON document to FILE")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="save the state after each task and every 30 s")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="continue from a checkpoint with the same settings")


def _default(value: Any) -> str:
    if value is None:
        return "the benchmark's"
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def _run(options: argparse.Namespace) -> int:
    config = RunConfig(**{name: getattr(options, name) for name in RunConfig.model_fields})
    if problem := domains_without_effect(config.domains, [config]):
        raise UsageError(problem)
    if options.output:
        _check_output(options.output, options.checkpoint or options.resume)
    notices = ["mgem run does not store snapshots; use mgem sweep to store them."] if count_snapshots(config) else []
    for sentence in filter(None, [config.caution, *notices]):
        print(f"mgem: {sentence}", file=sys.stderr)
    task_names, finished = _show_progress(config, run(config, checkpoint=options.checkpoint, resume=options.resume))
    document = json.dumps(result(config, task_names, finished), allow_nan=False, indent=2)
    print(document if options.json else summary(config, task_names, finished), flush=True)
    if options.output:
        options.output.write_text(document + "\n")
    return 0 if finished.status == "finished" else print_error(f"{finished.message}.", 1)


def _show_progress(config: RunConfig, events: Iterator[Event]) -> tuple[tuple[str, ...], Finished]:
    """Show the progress of a run on stderr; return the names of its tasks and its last event."""
    task_names: tuple[str, ...] = ()
    with Progress(config, sys.stderr) as progress:
        for event in events:
            progress.show(event)
            if isinstance(event, Started):
                task_names = event.tasks
            elif isinstance(event, Finished):
                return task_names, event
    raise AssertionError("a run ends with Finished")


def _check_output(path: Path, checkpoint: Path | None) -> None:
    """Raise UsageError if the output file cannot be written, before the run starts."""
    if checkpoint and path.absolute() == checkpoint.absolute():
        raise UsageError(f"output is {str(path)!r}, which is also the checkpoint; give different files.")
    existed = path.exists()
    try:
        with path.open("a"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        raise UsageError(f"output is {str(path)!r}, but it cannot be written: {error.strerror}.") from None
