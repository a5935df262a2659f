"""The command `mgem resume`."""

import argparse

from mgem_core.cli.runs import find_runs
from mgem_core.cli.work import add_runner_options, runner_arguments
from mgem_core.home import store_path
from mgem_core.runner.work import ensure_runner
from mgem_core.store import Store


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_resume)
    parser.add_argument("ids", nargs="+", metavar="RUN|SWEEP", help="r12, s3")
    add_runner_options(parser)


def _resume(options: argparse.Namespace) -> int:
    runner = runner_arguments(options)
    store = Store(store_path())
    print(f"{store.resume(find_runs(store, options.ids))} runs queued again")
    ensure_runner(*runner)
    return 0
