"""The command `mgem cancel`, which stops runs that have not ended."""

import argparse

from mgem_core.cli.runs import find_runs
from mgem_core.home import store_path
from mgem_core.store import Store


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_cancel)
    parser.add_argument("ids", nargs="+", metavar="RUN|SWEEP", help="runs like r12 and sweeps like s3")


def _cancel(options: argparse.Namespace) -> int:
    store = Store(store_path())
    store.cancel(find_runs(store, options.ids))
    return 0
