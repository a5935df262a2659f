"""The command `mgem resume`, which queues failed, cancelled and waiting runs again."""

import argparse
import sys
from collections import Counter

from mgem_core.cli.runs import find_runs
from mgem_core.cli.work import add_runner_options, requested_pool, runner_arguments
from mgem_core.home import store_path
from mgem_core.runner.work import ensure_runner, reason_to_wait, wanted_runner
from mgem_core.store import Store
from mgem_core.text import pluralize


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_resume)
    parser.add_argument("ids", nargs="+", metavar="RUN|SWEEP", help="runs like r12 and sweeps like s3")
    add_runner_options(parser)


def _resume(options: argparse.Namespace) -> int:
    runner = runner_arguments(options)
    store = Store(store_path())
    runs = find_runs(store, options.ids)
    requested = store.resume(runs)
    statuses = Counter(status for (status,) in store.run_values(["status"], runs))
    waiting = statuses["queued"] - requested
    phrases = [f"{pluralize(requested, 'run')} queued again"] if requested else []
    phrases += [f"{waiting} already queued"] if waiting else []
    phrases += [f"{statuses[name]} {name}" for name in ("running", "finished", "diverged", "failed") if statuses[name]]
    print(f"{', '.join(phrases)}.")
    if statuses["queued"]:
        wanted = wanted_runner(requested_pool(options))
        if reason := reason_to_wait(wanted):
            print(f"mgem: {reason}", file=sys.stderr)
        ensure_runner(*runner, wanted=wanted)
    return 0
