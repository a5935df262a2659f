"""Kill (-9) a worker, the fork server, the runner or the waiting command at random times.

Usage: python tests/support/chaos.py --moments 20. Only kills that interrupt training count."""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

GRID = [
    *("--tasks", "3", "--iterations", "150", "--memory", "100", "--probe-every", "10"),
    *("--modules", "1,4", "--strengths", "0,0.5", "--seeds", "0,1,2"),
]
RUNS = 12
RUNNER = ["--workers", "2", "--idle", "3"]
VICTIMS = ("worker", "origin", "runner", "command")
KINDS = ("Probed", "TaskLearned")


def mgem(home: Path, *arguments: str, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    environment = {**os.environ, "MGEM_HOME": str(home)}
    command = [sys.executable, "-m", "mgem_core", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True)


def results(home: Path) -> list[tuple[str, ...]]:
    """Return config, status, weights, R, probes and rows of every run as sorted text without times."""
    from mgem_core.analysis import frames
    from mgem_core.store import Store

    store = Store(home / "runs.db")
    found = []
    for run in store.run_records():
        series = [frames.series(store, run["id"], kind).drop(columns="seconds", errors="ignore") for kind in KINDS]
        rows = [frame.to_dict("records") for frame in series]
        values = (run["config"], run["status"], run["fingerprint"], run["matrix"], *rows)
        found.append(tuple(map(json.dumps, values)))
    store.close()
    return sorted(found)


def processes(home: Path) -> list[int]:
    """Return all processes that work for this home."""
    mark, found = f"MGEM_HOME={home}".encode(), []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                found += [int(entry.name)] if state != "Z" else []
        except OSError:
            pass
    return found


def until(true: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Wait until the result of `true` is true, and return it."""
    end = time.monotonic() + seconds
    while not (got := true()):
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)
    return got


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def command_line(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def runner_of(home: Path) -> int | None:
    """Return the runner of this home, found among the processes, because a file that names it may be stale."""
    return next((pid for pid in processes(home) if command_line(pid)[1:4] == ["-m", "mgem_core", "work"]), None)


def origins(runner: int) -> list[int]:
    """Return the fork server of a runner's workers."""
    return [child for child in children(runner) if "forkserver" in " ".join(command_line(child))]


def workers(runner: int | None) -> list[int]:
    return [worker for origin in origins(runner) for worker in children(origin)] if runner else []


def cpu_ticks(pid: int) -> int:
    """Return the CPU time of a process, in hundredths of a second."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def training_workers(runner: int | None) -> list[int]:
    """Return the workers that are training a run at the moment."""
    before = {worker: cpu_ticks(worker) for worker in workers(runner)}
    time.sleep(0.05)
    return [worker for worker, ticks in before.items() if cpu_ticks(worker) > ticks + 1]


def victim_of(home: Path, kind: str, command: subprocess.Popen[str], moment: random.Random) -> int | None:
    """Return a process of that kind whose death interrupts training; None while there is none."""
    runner = runner_of(home)
    training = training_workers(runner)
    if not training or runner is None or command.poll() is not None:
        return None
    if kind == "worker":
        return moment.choice(training)
    if kind == "origin":
        return next((origin for origin in origins(runner) if set(children(origin)) & set(training)), None)
    return runner if kind == "runner" else command.pid


def kill_one(home: Path, kind: str, command: subprocess.Popen[str], moment: random.Random) -> bool:
    """Kill a working process of that kind, if one is found before the sweep ends."""
    while command.poll() is None:
        if victim := victim_of(home, kind, command, moment):
            try:
                os.kill(victim, signal.SIGKILL)
                return True
            except ProcessLookupError:
                pass
        time.sleep(0.05)
    return False


def disturbed(home: Path, kind: str, kills: int, seed: int) -> int:
    """Run a sweep to its end and kill up to `kills` working processes of that kind; return how many were killed."""
    moment, done = random.Random(f"{kind} {seed}"), 0
    command = mgem(home, "sweep", *GRID, *RUNNER, "--json")
    for _ in range(kills):
        time.sleep(moment.uniform(0.2, 1.5))  # the timing of the kill is what is tested
        done += kill_one(home, kind, command, moment)
        if kind == "command":
            command.wait()
            command = mgem(home, "sweep", *GRID, *RUNNER, "--json")
    document = json.loads(command.communicate(timeout=240)[0])
    if document["counts"]["failed"]:  # a run whose worker was killed three times fails until it is resumed
        errors = {run["error"] for run in document["runs"] if run["status"] == "failed"}
        assert errors == {"its worker process was ended by signal 9, 3 times."}, errors
        document = json.loads(mgem(home, "sweep", *GRID, *RUNNER, "--json").communicate(timeout=240)[0])
    assert document["counts"]["finished"] == RUNS, document["counts"]
    return done


def wait_for_quiet(home: Path, seconds: float = 30) -> list[int]:
    """Return the processes that are left when the runner should have ended."""
    end = time.monotonic() + seconds
    while processes(home) and time.monotonic() < end:
        time.sleep(0.2)
    return processes(home)


def undisturbed(home: Path, grid: list[str] = GRID) -> list[tuple[str, ...]]:
    mgem(home, "sweep", *grid, *RUNNER, "--json").communicate(timeout=240)
    return results(home)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=20)
    moments = parser.parse_args().moments
    with tempfile.TemporaryDirectory() as folder:
        expected = undisturbed(Path(folder) / "quiet")
        for kind in VICTIMS:
            done = sweeps = 0
            while done < moments:
                home = Path(folder) / f"{kind}{sweeps}"
                done += disturbed(home, kind, 4, sweeps)
                sweeps += 1
                assert results(home) == expected, f"{kind}: other numbers"
                assert not wait_for_quiet(home), f"{kind}: orphans"
            what = f"{done} killed while training, in {sweeps} sweeps of {RUNS} runs"
            print(f"{kind}: {what}; all numbers the same, no orphans", flush=True)


if __name__ == "__main__":
    main()
