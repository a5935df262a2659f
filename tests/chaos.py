"""kill -9 a worker, the process workers are forked from, the runner or the parent command at random moments of a sweep:
python tests/chaos.py --moments 20."""

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
    "--tasks",
    "2",
    "--iterations",
    "150",
    "--memory",
    "100",
    "--probe-every",
    "10",
    "--modules",
    "1,4",
    "--strengths",
    "0,0.5",
    "--seeds",
    "0,1,2",
]
RUNNER = ["--workers", "2", "--idle", "3"]
VICTIMS = ("worker", "origin", "runner", "command")


def mgem(home: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "MGEM_HOME": str(home)}
    command = [sys.executable, "-m", "mgem_core", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def results(home: Path) -> list[tuple[str, str, str, str]]:
    """(config, status, fingerprint and matrix, probes and rows told) of every run, sorted."""
    from mgem_core.store import Store

    store = Store(home / "runs.db")
    rows = store.rows("SELECT config, status, fingerprint || ' ' || matrix, id FROM runs")
    told = {row["id"]: _told(store, row["id"]) for row in rows}
    store.close()
    return sorted((row[0], row[1], row[2], told[row["id"]]) for row in rows)


def _told(store: Any, run: int) -> str:
    """Every probe and row of R a run told, without times."""
    kinds = "kind IN ('Probed', 'TaskLearned')"
    rows = store.rows(f"SELECT data FROM events WHERE run = ? AND {kinds} ORDER BY kind, task, step", run)
    return json.dumps([{k: v for k, v in json.loads(row["data"]).items() if k != "seconds"} for row in rows])


def processes(home: Path) -> list[int]:
    """Every process that works for this home."""
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
    """Wait for something to become true, and give it back."""
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


def origins(runner: int) -> list[int]:
    """The process that a runner's workers are forked from."""
    return [child for child in children(runner) if b"forkserver" in command_line(child)]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def workers(runner: int) -> list[int]:
    return [worker for origin in origins(runner) for worker in children(origin)]


def victim_of(home: Path, kind: str, command: subprocess.Popen[str], moment: random.Random) -> int | None:
    if kind == "command":
        return command.pid
    text = (home / "runner.lock").read_text() if (home / "runner.lock").exists() else ""
    runner = int(text) if text.isdigit() else None
    if runner is None or kind == "runner":
        return runner
    if kind == "origin":
        return next((origin for origin in origins(runner) if children(origin)), None)
    alive = workers(runner)
    return moment.choice(alive) if alive else None


def disturbed(home: Path, kind: str, kills: int, seed: int) -> int:
    """A sweep in which `kills` processes of that kind die, watched to its end; how many did."""
    moment, done = random.Random(f"{kind} {seed}"), 0
    command = mgem(home, "sweep", *GRID, *RUNNER, "--json")
    for _ in range(kills):
        time.sleep(moment.uniform(1.0, 3.0))
        while command.poll() is None and not victim_of(home, kind, command, moment):
            time.sleep(moment.uniform(0.1, 1.0))
        try:
            if victim := victim_of(home, kind, command, moment):
                os.kill(victim, signal.SIGKILL)
                done += 1
        except ProcessLookupError:
            pass
        if kind == "command":
            command.wait()
            command = mgem(home, "sweep", *GRID, *RUNNER, "--json")
    told = json.loads(command.communicate(timeout=240)[0])
    if told["counts"]["failed"]:  # a run that was hit three times is given up until somebody asks for it again
        errors = {run["error"] for run in told["runs"] if run["status"] == "failed"}
        assert errors == {"its worker process was ended by signal 9, 3 times."}
        told = json.loads(mgem(home, "sweep", *GRID, *RUNNER, "--json").communicate(timeout=240)[0])
    assert told["counts"]["finished"] == 12, told["counts"]
    return done


def wait_for_quiet(home: Path, seconds: float = 30) -> list[int]:
    """The processes still there when the runner should have ended."""
    end = time.monotonic() + seconds
    while processes(home) and time.monotonic() < end:
        time.sleep(0.2)
    return processes(home)


def undisturbed(home: Path) -> list[tuple[str, str, str, str]]:
    mgem(home, "sweep", *GRID, *RUNNER, "--json").communicate(timeout=240)
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
            print(
                f"{kind}: killed {done} times in {sweeps} sweeps of 12 runs; all numbers the same, no orphans", flush=True
            )


if __name__ == "__main__":
    main()
