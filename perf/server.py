"""Start the dashboard for a measurement, and read how much CPU time its processes have used."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TICKS = os.sysconf("SC_CLK_TCK")


class Server(NamedTuple):
    address: str
    process: int  # the leader of the session of the server's processes; a runner has its own
    home: Path

    @property
    def runner(self) -> int | None:
        """The leader of the session of the runner and its workers; None if no runner works."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            return int(json.loads((self.home / "runner.status").read_bytes())["process"])
        return None


@contextlib.contextmanager
def served(home: Path) -> Iterator[Server]:
    """Start the dashboard for a home with `make run`; yield it without waiting for it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["make", "run", f"OPTIONS=--port {port}", f"PYTHON={sys.executable}"]
    if not (ROOT / ".venv").exists():  # a checkout without an environment uses the current Python
        command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", str(port)]
    home.mkdir(exist_ok=True)
    with (home / "server.log").open("w") as log:
        environment = {**os.environ, "MGEM_HOME": str(home)}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True)
    server = Server(f"http://127.0.0.1:{port}", process.pid, home)
    try:
        yield server
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(10)
        with contextlib.suppress(OSError):
            if server.runner:
                os.kill(server.runner, signal.SIGTERM)


def wait_until_served(address: str) -> None:
    while True:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
            return
        time.sleep(0.02)


def cpu_seconds(session: int | None) -> float:
    """Return the CPU time so far of all processes of a session, with that of their children that have ended."""
    return sum(sum(map(int, fields[11:15])) for fields in _processes(session)) / TICKS


def megabytes(session: int | None) -> float:
    """Return the memory that the processes of a session use."""
    return sum(int(fields[21]) for fields in _processes(session)) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _processes(session: int | None) -> list[list[str]]:
    """Return the fields after the name in /proc/PID/stat of each process of a session."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = file.read_text().rpartition(") ")[2].split()
            if int(fields[3]) == session:
                found.append(fields)
    return found
