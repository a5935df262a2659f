"""The command `mgem runs`, which lists sweeps and runs; `find_runs` reads ids such as r12 and s3 for all commands."""

import argparse
import json
from typing import Any

from mgem_core import UsageError
from mgem_core.cli._report import printable, stored_run
from mgem_core.home import store_path
from mgem_core.store import OTHER_CODE, STATUSES, Store, describe_waiting
from mgem_core.text import mean_and_error, tasks_in_order


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_list)
    ids = "show these in full, with errors and tracebacks (r12 is a run, s3 a sweep)"
    parser.add_argument("ids", nargs="*", metavar="RUN|SWEEP", help=ids)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def find_runs(store: Store, ids: list[str]) -> list[int]:
    """Return the numbers of the runs that the user names: r12 is a run, s3 all runs of a sweep."""
    numbers: list[int] = []
    for text in ids:
        if text[:1] not in ("r", "s") or not text[1:].isdecimal() or len(text) > 18:
            raise UsageError(f"{text!r} is neither a run like r12 nor a sweep like s3; mgem runs lists them.")
        number = int(text[1:])
        found = store.run_ids(number) if text[0] == "s" else [run for (run,) in store.run_values(["id"], [number])]
        if not found:
            raise UsageError(f"there is no {text!r}; mgem runs lists what there is.")
        numbers += found
    return list(dict.fromkeys(numbers))


def request_again(name: str) -> str:
    """Return the end of a sentence that says what to do about runs that wait for other code."""
    return f"mgem resume {name} requests them again with what is installed here"


def _list(options: argparse.Namespace) -> int:
    store = Store(store_path())
    numbers = find_runs(store, options.ids) if options.ids else None
    others = set(store.requested_with_other_code(numbers))
    runs = [{**run, "waits_for_other_code": run["id"] in others} for run in store.run_records(numbers)]
    sweeps = [] if options.ids else store.sweeps()[::-1]
    if options.json:
        listed = [
            {"sweep": f"s{row['id']}", "name": row["name"], "counts": {status: row[status] for status in STATUSES}}
            for row in sweeps
        ]
        print(json.dumps({"sweeps": listed, "runs": list(map(stored_run, runs))}, indent=2))
        return 0
    for row in sweeps:
        counts = ", ".join(f"{row[status]} {status}" for status in STATUSES if row[status])
        print(f"s{row['id']:<5} {printable(row['name']):<24} {counts}")
    for run in runs:
        acc, seed = mean_and_error(run["acc"]), f"seed {run['config'].get('seed')}"
        note = OTHER_CODE if run["waits_for_other_code"] else run["error"] or ""
        line = f"r{run['id']:<5} {run['label']:<18} {seed:<9} {run['status']:<10} ACC {acc:<7} {note}"
        print(printable(line))
        if options.ids:
            _print_details(run)
    if others:
        sweeps_of_others = " ".join(f"s{sweep}" for sweep in store.sweeps_of(sorted(others)))
        print(f"\n{describe_waiting(len(others))}; {request_again(sweeps_of_others)}.")
    return 0


def _print_details(run: dict[str, Any]) -> None:
    """Print details: notices, where the run was resumed, its tasks and settings, and the traceback of a failure."""
    if run["notice"]:
        print(f"       {printable(run['notice'])}")
    if run["resumed_task"] or run["resumed_step"]:
        print(f"       Resumed from step {run['resumed_step']} of task {run['resumed_task'] + 1}.")
    if run["task_names"]:
        print(printable(f"       {tasks_in_order(run['task_names'])}"))
    print(printable("       " + ", ".join(f"{name} {value}" for name, value in run["config"].items())))
    for line in (run["traceback"] or "").splitlines():
        print(f"       {printable(line)}")
