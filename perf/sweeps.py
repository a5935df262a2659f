"""Time sweeps: two workers against one, the cost of store and runner, and frames of a store with 10,000 runs."""

import multiprocessing
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from mgem_core import RunConfig, run
from mgem_core.analysis import frames, measurements
from mgem_core.analysis.aggregate import View
from mgem_core.config.sweeps import SweepSpec
from mgem_core.runner.local import LocalPool
from mgem_core.runner.work import Runner
from mgem_core.store import Store

SHORT = SweepSpec(base={"tasks": 2, "iterations": 60, "probe_every": 0}, grid={"seed": list(range(40))})
THREE_SECONDS = SweepSpec(base={"probe_every": 0}, grid={"seed": [0, 1, 2]})


WARM = {"tasks": 2, "iterations": 100, "probe_every": 0}


def swept(spec: SweepSpec, workers: int, folder: Path) -> float:
    """Return the seconds from a queued sweep to its last result, with workers that have each trained a run before."""
    store, pool = Store(folder / f"{time.monotonic_ns()}" / "runs.db"), LocalPool(workers)
    while pool.free() < workers:
        pool.poll(0.1)
    runner = Runner(store, pool)
    _all(runner, SweepSpec(base=WARM, grid={"seed": list(range(900, 900 + workers))}))
    start = time.perf_counter()
    _all(runner, spec)
    taken = time.perf_counter() - start
    pool.close()
    return taken


def _all(runner: Runner, spec: SweepSpec) -> None:
    runner.store.submit(spec)
    while runner.active or runner.store.counts()["queued"]:
        runner.do_round()


def bare(spec: SweepSpec, processes: int) -> float:
    """Train the runs without store and runner, divided in advance among processes that have trained a run before."""
    context = multiprocessing.get_context("spawn")
    runs = [config.model_dump_json() for config in spec.runs()]
    pipes = [context.Pipe() for _ in range(processes)]
    for number, (_, theirs) in enumerate(pipes):
        context.Process(target=_train_all, args=(theirs, runs[number::processes]), daemon=True).start()
    for ours, _ in pipes:
        ours.recv()
    start = time.perf_counter()
    for ours, _ in pipes:
        ours.send("go")
    for ours, _ in pipes:
        ours.recv()
    return time.perf_counter() - start


def _train_all(pipe: Connection, configs: list[str]) -> None:
    train([RunConfig(**WARM)])
    pipe.send("ready")
    pipe.recv()
    train([RunConfig.model_validate_json(config) for config in configs])
    pipe.send("done")


def train(configs: list[RunConfig]) -> None:
    for config in configs:
        for _ in run(config):
            pass


def filled(path: Path, runs: int) -> Store:
    store = Store(path)
    config = RunConfig(modules=4).model_dump_json()
    with store.database.transaction() as db:
        for i in range(runs):
            text = config.replace('"seed":0', f'"seed":{i % 10}').replace('"lr":0.1', f'"lr":{0.001 * (1 + i // 10):.3f}')
            db.execute(
                "INSERT INTO runs (key, label, config, status, acc, fwd, bwd, seconds, created) "
                "VALUES (?, 'p-mGEM(4)', ?, 'finished', 80, 85, -5, 3, 0)",
                (str(i), text),
            )
    return store


def in_turns(rounds: int, work: dict[str, Callable[[], float]]) -> dict[str, list[float]]:
    turns = [{name: call() for name, call in work.items()} for _ in range(rounds)]
    return {name: [turn[name] for turn in turns] for name in work}


def timed(call: Callable[[], object], times: int = 3) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = {
            "bare, one": lambda: bare(SHORT, 1),
            "bare, two": lambda: bare(SHORT, 2),
            "one worker": lambda: swept(SHORT, 1, folder),
            "two workers": lambda: swept(SHORT, 2, folder),
        }
        best = {name: min(times) for name, times in in_turns(3, work).items()}
        print(f"40 short runs: {best['one worker']:.1f} s with one worker, {best['two workers']:.1f} s with two:", end=" ")
        print(f"{best['one worker'] / best['two workers']:.2f} times as fast (wanted: at least 1.8;", end=" ")
        print(f"two bare processes against one: {best['bare, one'] / best['bare, two']:.2f})")
        work = {"bare": lambda: bare(THREE_SECONDS, 1), "through": lambda: swept(THREE_SECONDS, 1, folder)}
        best = {name: min(times) for name, times in in_turns(5, work).items()}
        print(f"3 runs of about 3 s: {best['bare']:.2f} s by themselves, {best['through']:.2f} s", end=" ")
        print(f"through store and runner: {100 * (best['through'] / best['bare'] - 1):+.1f} % (wanted: at most 5 %)")
        store = filled(folder / "many" / "runs.db", 10_000)
        print(f"10,000 runs: frame of runs {timed(lambda: frames.runs(store)):.2f} s,", end=" ")
        print(f"points of it {timed(lambda: measurements.points(store, frames.runs(store), View())):.2f} s")


if __name__ == "__main__":
    main()
