"""The command `mgem sweep`, which trains a grid of configurations."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from mgem_core import RunConfig, UsageError
from mgem_core.analysis import frames
from mgem_core.analysis.estimate import MANY_RUNS, estimate
from mgem_core.analysis.progress import sweep_progress
from mgem_core.cli._launch import confirm, show_progress
from mgem_core.cli._report import printable, stored_run
from mgem_core.cli._sweep_table import sweep_table
from mgem_core.cli.runs import request_again
from mgem_core.cli.work import add_runner_options, requested_pool, runner_arguments
from mgem_core.config.field_values import split_values
from mgem_core.config.keys import keys_to_request, version_on_disk
from mgem_core.config.number_lists import parse_seeds
from mgem_core.config.recorded_runs import why_not_recorded
from mgem_core.config.sweeps import SweepSpec, cautions, domains_without_effect, missing_data
from mgem_core.errors import check_choice
from mgem_core.home import store_path
from mgem_core.paper.presets import PRESETS
from mgem_core.runner.status import current_problem
from mgem_core.runner.work import WantedRunner, default_workers, ensure_runner, reason_to_wait, refusal, wanted_runner
from mgem_core.store import Store, describe_waiting
from mgem_core.text import pluralize

CHECK_SECONDS = 1.0  # between two checks of the runner and the code
PLURALS = {"methods": "method", "strengths": "strength", "seeds": "seed", "solvers": "solver", "triggers": "trigger"}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_sweep)
    parser.add_argument("--preset", metavar="NAME", help=f"start from a preset: {', '.join(PRESETS)}")
    parser.add_argument("--name", default="", help="name of the sweep")
    for name, field in RunConfig.model_fields.items():
        plural = [f"--{many}" for many, one in PLURALS.items() if one == name]
        several = ", as in 0-3,7" if name == "seed" else " (or by ; if a value contains commas)"
        text = f"{field.description}: one or several, separated by commas{several}"
        parser.add_argument(f"--{name.replace('_', '-')}", *plural, dest=name, metavar="X,Y", help=text.replace("%", "%%"))
    recordings = "also train GEM at strength 0.5 with snapshots, for curves in the dashboard; presets that the dashboard"
    parser.add_argument(
        "--record", action=argparse.BooleanOptionalAction, help=f"{recordings} launches have this on by default"
    )
    parser.add_argument("--again", action="store_true", help="train all runs again, even if they have results")
    parser.add_argument("--detach", action="store_true", help="launch and do not wait")
    parser.add_argument(
        "--yes", action="store_true", help=f"do not ask for confirmation of {MANY_RUNS:,} runs or of more than an hour"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document when all runs have ended")
    add_runner_options(parser)


def _sweep(options: argparse.Namespace) -> int:
    runner, wanted = runner_arguments(options), wanted_runner(requested_pool(options))
    spec = _spec(options)
    if (count := spec.count_combinations()) >= MANY_RUNS:  # before expanding them, which takes time
        confirm(f"this is a sweep of up to {pluralize(count, 'run')}", options.yes)
    if options.record or (options.record is None and spec.record is not None):
        spec = _with_recordings(spec, must_record=bool(options.record))
    configs = spec.runs(lambda runs: show_progress("checking settings", runs, count))
    if problem := domains_without_effect(options.domains, configs) or missing_data(configs, thorough=True):
        raise UsageError(problem)
    keyed = list(zip(configs, keys_to_request(show_progress("computing keys", configs, len(configs))), strict=True))
    keys = [key.key for _, key in keyed]
    store = Store(store_path())
    workers = options.workers or default_workers()
    recorded = set(keys[: len(spec.recordings())])
    expected = estimate(store, configs, workers, options.again, keys, len(recorded))
    if expected.to_confirm and count < MANY_RUNS:
        confirm(expected.to_confirm, options.yes)
    known = None if options.again else store.find_sweep(spec, keys)
    if known is None:
        name = options.name or options.preset or ""
        sweep = store.submit(spec, name, options.again, keyed, lambda runs: show_progress("writing", runs, len(keyed)))
    else:
        sweep = known
        store.resume(store.run_ids(sweep))  # those that were cancelled or failed
    already = "" if known is None else " has exactly these runs already"
    print(f"sweep s{sweep}{already}: {', '.join(expected.phrases)}", file=sys.stderr)
    if expected.snapshots:
        print(expected.snapshots.sentence, file=sys.stderr)
    for sentence in cautions(configs):
        print(f"mgem: {sentence}", file=sys.stderr)
    if options.detach:
        if reason := reason_to_wait(wanted):
            print(f"mgem: {reason}", file=sys.stderr)
        ensure_runner(*runner, wanted=wanted)
    else:
        _wait(store, sweep, runner, wanted)
    counts = store.counts(sweep)
    if options.json:
        records = store.run_records(sweep=sweep)
        recordings = [f"r{record['id']}" for record in records if record["key"] in recorded]
        document = {"sweep": f"s{sweep}", "counts": counts, "recordings": recordings}
        print(json.dumps({**document, "runs": list(map(stored_run, records))}, indent=2))
    elif not options.detach:
        print(sweep_table(store, frames.runs(store, sweep)))
        print(f"\nmgem runs s{sweep} lists the runs; mgem export s{sweep} writes plots and tables.")
    return 0 if options.detach or counts["finished"] == len(configs) else 1


def _spec(options: argparse.Namespace) -> SweepSpec:
    """Return the sweep that the options describe; given fields override those of the preset."""
    if options.preset:
        check_choice("preset", options.preset, PRESETS)
    start = PRESETS[options.preset].spec if options.preset else SweepSpec()
    given = {name: _values(name, text) for name in RunConfig.model_fields if (text := getattr(options, name)) is not None}
    base = {name: value for name, value in start.base.items() if name not in given}
    record = None if options.record is False else start.record
    return SweepSpec(base=base, grid=[{**grid, **given} for grid in start.grids], record=record)


def _values(name: str, text: str) -> Sequence[object]:
    """Return the values that a user gives for a field."""
    if name != "seed":
        return split_values(text)
    try:
        seeds = parse_seeds(text)
    except ValueError as error:
        raise UsageError(f"seeds are {text!r}, but {error}.") from error
    if not seeds:
        raise UsageError("seeds are empty; give some, such as 0-5.")
    return seeds


def _with_recordings(spec: SweepSpec, must_record: bool) -> SweepSpec:
    """Return the sweep with recordings that suit its settings, which may differ from those of the preset."""
    found = spec.with_default_record()
    if found.record is None:
        problem = f"nothing can be recorded: {why_not_recorded(found.runs())}."
        if must_record:
            raise UsageError(problem)
        print(f"mgem: {problem}", file=sys.stderr)
    return found


def _wait(store: Store, sweep: int, runner: list[str], wanted: WantedRunner) -> None:
    """Show the progress of the sweep until every run has ended. If this is interrupted, the runs continue."""
    live, printed, problem, process, next_check = sys.stderr.isatty(), "", "", None, 0.0
    while True:
        if not store.is_current():
            reason = f"{store.path} was deleted or replaced, and sweep s{sweep} with it"
            raise UsageError(f"{reason}; launch the sweep again to train it in the new store.")
        began = time.monotonic()
        progress = sweep_progress(store, sweep)
        pause = max(0.2, 10 * (time.monotonic() - began))  # large sweeps: leave the cores to the runs
        counts, failed = progress.counts, progress.counts["failed"] + progress.counts["diverged"]
        state = [f"{progress.ended} of {progress.total} runs", f"{counts['running']} running", f"{failed} failed"]
        line = " · ".join([*state, *progress.speed])
        if live:
            sys.stderr.write(f"\r\033[K{line}")
            sys.stderr.flush()
        elif line.split(" · ")[0] != printed:
            printed = line.split(" · ")[0]
            print(line, file=sys.stderr, flush=True)
        if progress.ended == progress.total:
            break
        if reason := refusal(process):
            raise UsageError(f"{reason} The sweep is queued; mgem resume s{sweep} continues it.")
        if time.monotonic() >= next_check:
            next_check = time.monotonic() + CHECK_SECONDS
            _check_code(store, sweep, counts)
            wanted = replace(wanted, version=version_on_disk())
            if process is not None and process.poll() == 0:  # another pool has been requested and does the work
                wanted = replace(wanted, pool="")
            if process is None or process.poll() is not None:  # if the runner has died, another one continues
                process = ensure_runner(*runner, wanted=wanted) or process
            shown, problem = problem, f"{reason_to_wait(wanted)} {current_problem()}".strip()
            if problem not in ("", shown):
                clear = "\r\033[K" if live else ""
                print(f"{clear}mgem: {printable(problem)}", file=sys.stderr, flush=True)
        time.sleep(pause)
    if live:
        sys.stderr.write("\r\033[K")


def _check_code(store: Store, sweep: int, counts: dict[str, int]) -> None:
    """Raise UsageError if all remaining runs of the sweep wait for code that is no longer there."""
    if counts["queued"] and not counts["running"]:
        others = len(store.requested_with_other_code(sweep=sweep))
        if others == counts["queued"]:
            raise UsageError(f"in sweep s{sweep}, {describe_waiting(others)}; {request_again(f's{sweep}')}.")
