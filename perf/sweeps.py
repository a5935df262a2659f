"""Sweeps: two workers against one, what store and runner cost, and frames of a store with 10,000 runs."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mgem_core import RunConfig, frames, run
from mgem_core.runner.local import LocalPool
from mgem_core.runner.work import Runner
from mgem_core.store import Store
from mgem_core.sweeps import SweepSpec

SHORT = SweepSpec(base={"tasks": 2, "iterations": 60, "probe_every": 0}, grid={"seed": list(range(40))})
THREE_SECONDS = SweepSpec(base={"probe_every": 0}, grid={"seed": [0, 1, 2]})


def swept(spec: SweepSpec, workers: int, folder: Path) -> float:
    """Seconds from a queued sweep to its last result, with workers that have each done a run before."""
    store, pool = Store(folder / f"{time.monotonic_ns()}" / "runs.db"), LocalPool(workers)
    while pool.free() < workers:
        pool.poll(0.1)
    runner = Runner(store, pool)
    _all(
        runner,
        SweepSpec(base={"tasks": 2, "iterations": 100, "probe_every": 0}, grid={"seed": list(range(900, 900 + workers))}),
    )
    start = time.perf_counter()
    _all(runner, spec)
    taken = time.perf_counter() - start
    pool.close()
    return taken


def _all(runner: Runner, spec: SweepSpec) -> None:
    runner.store.submit(spec)
    while runner.active or runner.store.waiting():
        runner._tick()


def direct(spec: SweepSpec) -> float:
    start = time.perf_counter()
    for config in spec.runs():
        for _ in run(config):
            pass
    return time.perf_counter() - start


def filled(path: Path, runs: int) -> Store:
    store = Store(path)
    config = RunConfig(modules=4).model_dump_json()
    with store.writing() as db:
        for i in range(runs):
            text = config.replace('"seed":0', f'"seed":{i % 10}').replace('"lr":0.1', f'"lr":{0.001 * (1 + i // 10):.3f}')
            db.execute(
                "INSERT INTO runs (key, label, config, status, acc, fwd, bwd, seconds, created) "
                "VALUES (?, 'p-mGEM(4)', ?, 'finished', 80, 85, -5, 3, 0)",
                (str(i), text),
            )
    return store


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
        ones, twos = [], []
        for _ in range(2):
            ones.append(swept(SHORT, 1, folder))
            twos.append(swept(SHORT, 2, folder))
        print(f"40 short runs: {min(ones):.1f} s with one worker, {min(twos):.1f} s with two:", end=" ")
        print(f"{min(ones) / min(twos):.2f} times as fast (wanted: at least 1.8)")
        direct(SweepSpec(base={"probe_every": 0, "tasks": 1}))  # warm
        bare, through = [], []
        for _ in range(2):
            bare.append(direct(THREE_SECONDS))
            through.append(swept(THREE_SECONDS, 1, folder))
        print(
            f"3 runs of about 3 s: {min(bare):.2f} s by themselves, {min(through):.2f} s through store and runner:", end=" "
        )
        print(f"{100 * (min(through) / min(bare) - 1):+.1f} % (wanted: at most 5 %)")
        store = filled(folder / "many" / "runs.db", 10_000)
        print(f"10,000 runs: frame of runs {timed(lambda: frames.runs(store)):.2f} s,", end=" ")
        print(f"of configurations {timed(lambda: frames.configurations(store)):.2f} s (wanted: at most 0.5)")


if __name__ == "__main__":
    main()
