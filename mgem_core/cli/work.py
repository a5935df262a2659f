"""The command `mgem work`, which is the runner, and the options that `sweep` and `resume` pass on to it."""

import argparse
import importlib.util
import math

from mgem_core import UsageError
from mgem_core.config.keys import version_of_this_process
from mgem_core.runner import Pool
from mgem_core.runner.work import WantedRunner, default_workers, work
from mgem_core.text import pluralize


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_work)
    add_runner_options(parser)


def add_runner_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=int, metavar="N", help=f"number of worker processes [{default_workers()}]")
    parser.add_argument(
        "--ray", metavar="ADDRESS", help="use the Ray cluster at this address instead (auto: that of this machine)"
    )
    parser.add_argument(
        "--gpus", type=float, default=0.0, metavar="X", help="with --ray: GPUs per run, which can be a fraction [0]"
    )
    parser.add_argument(
        "--idle", type=float, default=60.0, metavar="S", help="seconds without work after which the runner ends [60]"
    )


def runner_arguments(options: argparse.Namespace) -> list[str]:
    """Check the options of the runner, and return them as the arguments of `mgem work`."""
    if options.workers is not None and not 1 <= options.workers <= 256:
        raise UsageError(f"workers is {options.workers}; it must be from 1 to 256.")
    for name in ("idle", "gpus"):
        if not 0 <= (value := getattr(options, name)) < math.inf:
            raise UsageError(f"{name} is {value}; it must be a number of at least 0.")
    if options.ray and importlib.util.find_spec("ray") is None:
        raise UsageError("ray is not installed; install it with: pip install 'mgem-explorer[ray]'.")
    arguments = ["--idle", str(options.idle), "--gpus", str(options.gpus)]
    arguments += ["--workers", str(options.workers)] if options.workers else []
    return arguments + (["--ray", options.ray] if options.ray else [])


def requested_pool(options: argparse.Namespace) -> str:
    """Return the pool that the user requested, in words; empty if any will do."""
    if options.ray:
        return f"Ray at {options.ray}" + (f" with {options.gpus:g} GPUs per run" if options.gpus else "")
    return pluralize(options.workers, "worker") if options.workers else ""


def _work(options: argparse.Namespace) -> int:
    runner_arguments(options)
    workers = options.workers or default_workers()

    def open_pool() -> Pool:
        if options.ray:
            from mgem_core.runner.ray import RayPool

            return RayPool(options.ray, options.gpus)
        from mgem_core.runner.local import LocalPool

        return LocalPool(workers)

    pool = requested_pool(options)
    work(open_pool, options.idle, pool or pluralize(workers, "worker"), WantedRunner(version_of_this_process(), pool))
    return 0
