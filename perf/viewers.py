"""What viewers of a live sweep cost: CPU time of the server, delay of new results, and the training that is left.

Windows with and without viewers take turns, because a sweep on a shared machine is never equally fast for long.
"""

import argparse
import asyncio
import os
import tempfile
import time
from math import nan
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Stepped
from mgem_core.paper.presets import EXAMPLE, PRESETS
from mgem_core.store import Store
from perf.server import Server, cpu_seconds, megabytes, served, wait_until_served
from perf.timing import save
from perf.viewer_client import Viewer

EVENT_SECONDS = 2.0  # between results whose delay is measured
SETTLE_SECONDS = 6.0  # before a window, in which viewers arrive or the last of them leave
CORES = os.cpu_count() or 1
OWN_RUNS = 4  # that no worker trains; the measurement writes their results


Arrived = tuple[list[Viewer], list[asyncio.Task[None]]]


class Window(NamedTuple):
    """What happened in a window, per second."""

    steps: float  # taken by all runs
    server: float  # CPU time
    training: float  # CPU time of the runner and its workers
    viewers: float  # CPU time of the viewers in this process
    delays: tuple[float, ...] = ()  # of results: seconds from the store to each viewer


def prepare(home: Path, seeds: int) -> tuple[Store, int]:
    """Build a store with a sweep of the example's settings and many seeds, so that it does not end."""
    store, spec = Store(home / "runs.db"), PRESETS[EXAMPLE].spec
    grids = [{**grid, "seed": list(range(seeds)) if not grid.get("snap_every") else grid["seed"]} for grid in spec.grids]
    return store, store.submit(SweepSpec(base=spec.base, grid=grids), "many viewers")


def steps_of(store: Store, sweep: int) -> float:
    """Return how many steps all runs have taken, which are equally long."""
    config = PRESETS[EXAMPLE].spec.runs()[0]
    return sum(store.progress_by_status(sweep)[1].values()) * config.tasks * config.iterations


async def arrive(address: str, number: int, page: str, query: str, source: str) -> Arrived:
    """Let viewers open a page together, and return them once all of them show it."""
    viewers = [Viewer(address, page, query, source) for _ in range(number)]
    tasks = [asyncio.create_task(viewer.stay()) for viewer in viewers]
    async with asyncio.timeout(120):
        await asyncio.gather(*(viewer.is_ready.wait() for viewer in viewers))
    return viewers, tasks


async def leave(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if not isinstance(outcome, asyncio.CancelledError):
            raise RuntimeError(f"a viewer left early: {outcome!r}")


async def watch(server: Server, store: Store, sweep: int, seconds: float, viewers: list[Viewer], own: list[int]) -> Window:
    def clocks() -> list[float]:
        return [steps_of(store, sweep), cpu_seconds(server.process), cpu_seconds(server.runner), time.process_time()]

    before, start, event = clocks(), time.monotonic(), 0
    while (passed := time.monotonic() - start) < seconds:
        if viewers:
            event += 1
            run = own[event % len(own)]
            written = time.time()
            for viewer in viewers:
                viewer.awaited[f'"id": {run},'] = written
            step = Stepped(0, 1 + event // len(own) % 2, 1.0, 0.0, 0.01, 0)
            await asyncio.to_thread(store.record, [(run, step)])
        await asyncio.sleep(min(EVENT_SECONDS + 0.037 * (event % 7), seconds - passed))
    passed = time.monotonic() - start
    steps, of_server, training, of_viewers = ((after - now) / passed for after, now in zip(clocks(), before, strict=True))
    delays = tuple(delay for viewer in viewers for delay in viewer.delays)
    return Window(steps, of_server, training, of_viewers, delays)


def show(name: str, windows: list[Window]) -> dict[str, float]:
    steps, server, training, viewers = (median(values) for values in zip(*(one[:4] for one in windows), strict=True))
    print(f"  {name:<16} {steps:8.0f} steps/s   server {100 * server:5.1f} % of a core   ", end="")
    print(f"training {100 * training:5.1f} %   viewers {100 * viewers:4.1f} %", flush=True)
    return {"steps per second": steps, "server": server, "training": training, "viewers": viewers}


async def measure(server: Server, store: Store, sweep: int, options: argparse.Namespace) -> None:
    source, query = f"s{sweep}", f"sweep=s{sweep}{options.query}"
    _, tasks = await arrive(server.address, 1, "", query, source)  # starts the runner
    while store.counts(sweep)["finished"] < 5:
        await asyncio.sleep(0.5)
    own = store.run_ids(sweep)[-OWN_RUNS:]
    with store.database.transaction() as db:  # marked as running, so that no worker takes them
        db.execute("UPDATE runs SET status = 'running', started = ? WHERE id >= ?", (time.time(), own[0]))
    await leave(tasks)
    without, watched, errors = list[Window](), list[Window](), set[str]()
    print(f"{options.viewers} viewers of a sweep of {len(store.run_ids(sweep)):,} runs, {2 * options.rounds} windows:")
    for _ in range(options.rounds):
        await asyncio.sleep(SETTLE_SECONDS)
        without.append(await watch(server, store, sweep, options.seconds, [], own))
        start = time.monotonic(), cpu_seconds(server.process)
        viewers, tasks = await arrive(server.address, options.viewers, options.page, query, "" if options.page else source)
        opened = time.monotonic() - start[0], cpu_seconds(server.process) - start[1]
        await asyncio.sleep(SETTLE_SECONDS)
        scripts = sum(viewer.runs_of_script for viewer in viewers)
        watched.append(await watch(server, store, sweep, options.seconds, viewers, own))
        scripts = sum(viewer.runs_of_script for viewer in viewers) - scripts
        await leave(tasks)
        errors |= {error for viewer in viewers for error in viewer.errors}
        print(f"    opened by all after {opened[0]:.1f} s and {opened[1]:.2f} s of CPU;", end=" ")
        print(f"{scripts / options.seconds:.1f} scripts/s; {megabytes(server.process):.0f} MB;", end=" ")
        print(f"{viewers[0].messages} messages", end=" ")
        print(
            f"of {viewers[0].characters / 1e6:.1f} MB each; finished {store.counts(sweep)['finished']:,} runs", flush=True
        )
    results = {"without": show("without viewers", without), "with": show("with viewers", watched)}
    delays = [delay for one in watched for delay in one.delays]
    ratios = [one.steps / other.steps for one, other in zip(watched, without, strict=True)]
    ninety_fifth = quantiles(delays, n=20)[-1] if len(delays) > 1 else nan
    print(f"  steps with / without, each: {' '.join(f'{one:.2f}' for one in ratios)}")
    print(f"  the server leaves {1 - results['with']['server'] / CORES:.3f} of {CORES} cores to training and others")
    print(f"  results in the store → viewer: median {median(delays or [nan]):.2f} s,", end=" ")
    print(f"95 % {ninety_fifth:.2f} s, most {max(delays, default=nan):.2f} s")
    for error in errors:
        print(f"  error on a page: {error}")
    save(
        "viewers",
        {**results, "delay": median(delays or [nan]), "delay, 95 %": ninety_fifth, "steps with / without": median(ratios)},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30, help="of a window")
    parser.add_argument("--rounds", type=int, default=3, help="windows with viewers, and as many without")
    parser.add_argument("--seeds", type=int, default=40, help="of the sweep")
    parser.add_argument("--page", default="", choices=["", "runs", "paper"], help="that they show; by default Explore")
    parser.add_argument("--query", default="", help='added to the URL, such as "&more=true" for the other figures')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store, sweep = prepare(Path(folder), options.seeds)
        with served(Path(folder)) as server:
            wait_until_served(server.address)
            try:
                asyncio.run(measure(server, store, sweep, options))
            finally:
                print((Path(folder) / "server.log").read_text())


if __name__ == "__main__":
    main()
