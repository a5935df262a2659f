"""The commands about many runs: sweep, runs, resume, cancel, work, presets."""

import argparse
import importlib.util
import json
import math
import sys
import time
from typing import Any

from mgem_core import RunConfig, UsageError, analysis, frames, measurements, text
from mgem_core.analysis import View
from mgem_core.presets import PRESETS
from mgem_core.progress import sweep_progress
from mgem_core.report import printable, stored_run
from mgem_core.runner.status import current_problem
from mgem_core.runner.work import default_workers, ensure_runner, refusal, store_path, work
from mgem_core.store import STATUSES, Store
from mgem_core.streams import BENCHMARKS
from mgem_core.sweeps import SweepSpec, estimate_seconds

PLURALS = {"methods": "method", "strengths": "strength", "seeds": "seed", "solvers": "solver", "triggers": "trigger"}


def add_commands(commands: Any) -> None:
    sweep = commands.add_parser("sweep", help="train a grid of configurations", allow_abbrev=False)
    sweep.set_defaults(command=_sweep)
    sweep.add_argument("--preset", metavar="NAME", help=f"start from one of {', '.join(PRESETS)}")
    sweep.add_argument("--name", default="", help="what to call it")
    for name, field in RunConfig.model_fields.items():
        plural = [f"--{many}" for many, one in PLURALS.items() if one == name]
        text = f"{field.description}: one or several, separated by commas (by ; where a value has commas)"
        sweep.add_argument(f"--{name.replace('_', '-')}", *plural, dest=name, metavar="X,Y", help=text.replace("%", "%%"))
    sweep.add_argument("--again", action="store_true", help="train anew what is known already")
    sweep.add_argument("--detach", action="store_true", help="launch, and do not wait")
    sweep.add_argument("--json", action="store_true", help="print one JSON document when all runs have ended")
    _runner_options(sweep)

    listing = commands.add_parser("runs", help="all sweeps and runs, or some of them in full", allow_abbrev=False)
    listing.set_defaults(command=_runs)
    listing.add_argument("ids", nargs="*", metavar="RUN|SWEEP", help="r12, s3: these in full, with errors and tracebacks")
    listing.add_argument("--json", action="store_true", help="print one JSON document")
    for name, command in (("resume", _resume), ("cancel", _cancel)):
        one = commands.add_parser(name, help=f"{name} runs or sweeps", allow_abbrev=False)
        one.set_defaults(command=command)
        one.add_argument("ids", nargs="+", metavar="RUN|SWEEP", help="r12, s3")
        if name == "resume":
            _runner_options(one)

    runner = commands.add_parser("work", help="be the runner of the store until it is idle", allow_abbrev=False)
    runner.set_defaults(command=_work)
    _runner_options(runner)

    presets = commands.add_parser("presets", help="list the presets", allow_abbrev=False)
    presets.set_defaults(command=_presets)


def _runner_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=int, metavar="N", help=f"worker processes [{default_workers()}]")
    parser.add_argument(
        "--ray", metavar="ADDRESS", help="run on the Ray cluster there instead (auto: the one of this machine)"
    )
    parser.add_argument("--gpus", type=float, default=0.0, metavar="X", help="with --ray: GPUs per run, fractions too [0]")
    parser.add_argument(
        "--idle", type=float, default=60.0, metavar="S", help="seconds without work after which it ends [60]"
    )


def _checked(options: argparse.Namespace) -> list[str]:
    """The options of the runner as its own command line."""
    if options.workers is not None and not 1 <= options.workers <= 256:
        raise UsageError(f"workers is {options.workers}; it must be from 1 to 256.")
    for name in ("idle", "gpus"):
        if not 0 <= (value := getattr(options, name)) < math.inf:
            raise UsageError(f"{name} is {value}; it must be a number of at least 0.")
    if options.ray and importlib.util.find_spec("ray") is None:
        raise UsageError("ray is not installed; install it with: pip install 'mgem-explorer[ray]'.")
    line = ["--idle", str(options.idle), "--gpus", str(options.gpus)]
    line += ["--workers", str(options.workers)] if options.workers else []
    return line + (["--ray", options.ray] if options.ray else [])


def _sweep(options: argparse.Namespace) -> int:
    runner = _checked(options)
    spec = _spec(options)
    configs = spec.runs()
    for name in dict.fromkeys(config.benchmark for config in configs):
        if missing := BENCHMARKS[name].missing():
            raise UsageError(missing)
    store = Store(store_path())
    workers = options.workers or default_workers()
    seconds = estimate_seconds(configs, frames.speeds(store), workers)
    about = f", about {seconds:.0f} s if none is known yet" if seconds else ""
    sweep = store.submit(spec, options.name or options.preset or "", options.again)
    print(f"sweep s{sweep}: {len(configs)} runs{about}", file=sys.stderr)
    if options.detach:
        ensure_runner(*runner)
    else:
        _watch(store, sweep, runner, workers)
    counts = store.counts(sweep)
    if options.json:
        runs = list(map(stored_run, store.run_records(sweep=sweep)))
        print(json.dumps({"sweep": f"s{sweep}", "counts": counts, "runs": runs}, indent=2))
    elif not options.detach:
        print(_table(store, sweep))
    return 0 if options.detach or counts["finished"] == len(configs) else 1


def _spec(options: argparse.Namespace) -> SweepSpec:
    if options.preset and options.preset not in PRESETS:
        raise UsageError(f"preset is {options.preset!r}; it must be one of {', '.join(PRESETS)}.")
    start = PRESETS[options.preset][1] if options.preset else SweepSpec()
    given = {name: _values(text) for name in RunConfig.model_fields if (text := getattr(options, name)) is not None}
    base = {name: value for name, value in start.base.items() if name not in given}
    return SweepSpec(base=base, grid=[{**grid, **given} for grid in start.grids])


def _values(text: str) -> list[str]:
    separator = ";" if ";" in text else "," if "=" not in text else ";"
    return text.split(separator)


def _watch(store: Store, sweep: int, runner: list[str], workers: int) -> None:
    """Progress of the whole sweep until every run has ended; the runs go on if the watcher is stopped."""
    live, printed, problem, process = sys.stderr.isatty(), "", "", None
    while True:
        if not store.is_current():
            reason = f"{store.path} was deleted or replaced while sweep s{sweep} was in it"
            raise UsageError(f"{reason}; launch the sweep again to train it there.")
        progress = sweep_progress(store, sweep)
        counts, seconds = progress.counts, progress.seconds_left(workers)
        left = f" · {text.duration(seconds)} left" if seconds else ""
        failed = counts["failed"] + counts["diverged"]
        line = f"{progress.ended} of {progress.total} runs · {counts['running']} running · {failed} failed{left}"
        if live:
            sys.stderr.write(f"\r\033[K{line}")
            sys.stderr.flush()
        elif line.split(" · ")[0] != printed:
            printed = line.split(" · ")[0]
            print(line, file=sys.stderr, flush=True)
        if progress.ended == progress.total:
            break
        if reason := refusal(process):
            raise UsageError(f"{reason} The sweep waits: mgem resume s{sweep} takes it up.")
        if (current := current_problem()) != problem:
            problem = current
            clear = "\r\033[K" if live else ""
            if problem:
                print(f"{clear}mgem: {printable(problem)}", file=sys.stderr, flush=True)
        if process is None or process.poll() is not None:  # should the runner have died, another one goes on
            process = ensure_runner(*runner)
        time.sleep(0.2)
    if live:
        sys.stderr.write("\r\033[K")


def _table(store: Store, sweep: int) -> str:
    """Means over seeds of every configuration, one table per benchmark."""
    runs = frames.runs(store, sweep)
    benchmarks = analysis.benchmarks(runs)
    lines = []
    for benchmark in benchmarks:
        lines += [BENCHMARKS[benchmark].title] if len(benchmarks) > 1 else []
        lines.append(f"{'method':<18} {'q':>6} {'runs':>6} {'ACC':>14} {'FWD':>14} {'BWD':>14}")
        for row in measurements.points(store, runs, View(benchmark)).to_dict("records"):
            cells = [text.mean_and_error(row[name], row[f"{name}_std"]) for name in ("acc", "fwd", "bwd")]
            start = f"{printable(row['line']):<18} {text.strength(row['q']):>6} {row['finished']:>3}/{row['runs']:<2} "
            lines.append(start + " ".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines)


def _runs(options: argparse.Namespace) -> int:
    store = Store(store_path())
    chosen = _chosen(store, options.ids) if options.ids else None
    runs = store.run_records(chosen)
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
        acc, seed = text.mean_and_error(run["acc"]), f"seed {run['config'].get('seed')}"
        line = f"r{run['id']:<5} {run['label']:<18} {seed:<9} {run['status']:<10} ACC {acc:<7} {run['error'] or ''}"
        print(printable(line))
        if options.ids:
            _print_details(run)
    return 0


def _print_details(run: dict[str, Any]) -> None:
    """What the list leaves out: notices, where it was resumed, its settings, the traceback of a failure."""
    if run["notice"]:
        print(f"       {printable(run['notice'])}")
    if run["resumed_task"] or run["resumed_step"]:
        print(f"       It went on from step {run['resumed_step']} of task {run['resumed_task'] + 1}.")
    print(printable("       " + ", ".join(f"{name} {value}" for name, value in run["config"].items())))
    for line in (run["traceback"] or "").splitlines():
        print(f"       {printable(line)}")


def _chosen(store: Store, ids: list[str]) -> list[int]:
    """r12 is a run, s3 all runs of a sweep."""
    chosen: list[int] = []
    for name in ids:
        if name[:1] not in ("r", "s") or not name[1:].isdecimal() or len(name) > 18:
            raise UsageError(f"{name!r} is neither a run like r12 nor a sweep like s3; mgem runs lists them.")
        number = int(name[1:])
        found = store.run_ids(number) if name[0] == "s" else [run for (run,) in store.run_values(["id"], [number])]
        if not found:
            raise UsageError(f"there is no {name!r}; mgem runs lists what there is.")
        chosen += found
    return list(dict.fromkeys(chosen))


def _resume(options: argparse.Namespace) -> int:
    runner = _checked(options)
    store = Store(store_path())
    print(f"{store.resume(_chosen(store, options.ids))} runs queued again")
    ensure_runner(*runner)
    return 0


def _cancel(options: argparse.Namespace) -> int:
    store = Store(store_path())
    store.cancel(_chosen(store, options.ids))
    return 0


def _work(options: argparse.Namespace) -> int:
    _checked(options)
    if options.ray:
        from mgem_core.runner.ray import RayPool

        work(lambda: RayPool(options.ray, options.gpus), options.idle)
    else:
        from mgem_core.runner.local import LocalPool

        work(lambda: LocalPool(options.workers or default_workers()), options.idle)
    return 0


def _presets(options: argparse.Namespace) -> int:
    for name, (description, spec) in PRESETS.items():
        print(f"{name:<26} {len(spec.runs()):>4} runs  {description}")
    return 0
