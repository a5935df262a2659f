"""The status of the runner (its process and its problem), and the request that it end.

Both are small files next to the store. The status is overwritten in place, which also works on a full disk.
"""

import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from mgem_core.home import home

SIZE = 2048  # bytes
FRESH = 15.0  # seconds for which a problem is valid; a runner with a problem repeats it at least every five seconds
NAME, END_REQUEST = "runner.status", "runner.end"


@dataclass(frozen=True)
class RunnerStatus:
    process: int
    identity: str = ""  # unique; empty for runners of older versions, which cannot be asked to end
    version: str = ""  # `keys.version_of_this_process`
    pool: str = ""  # what it trains on, such as "2 workers"
    problem: str = ""
    time: float = 0.0  # when this was written

    def write(self, problem: str = "") -> None:
        """Write the status with this problem; an empty string means that there is none."""
        status = replace(self, problem=problem[: SIZE // 8], time=time.time())
        path = home() / NAME
        with suppress(OSError), path.open("r+b" if path.exists() else "wb") as file:
            file.write(json.dumps(asdict(status)).encode().ljust(SIZE))

    def asking_version(self) -> str:
        """Return the version of the process that asked this runner to end; empty if none has."""
        try:
            identity, _, version = (home() / END_REQUEST).read_text().partition(" ")
        except (OSError, ValueError):
            return ""
        return version if self.identity and identity == self.identity else ""

    def ask_to_end(self, version: str) -> None:
        """Ask this runner to end after its current runs, because a process of this version needs another one."""
        if self.identity and not self.asking_version():
            with suppress(OSError):
                (home() / END_REQUEST).write_text(f"{self.identity} {version}")


def read_status() -> RunnerStatus | None:
    """Return the last status that a runner wrote, even if it has ended since; None if there is none."""
    try:
        return RunnerStatus(**json.loads((home() / NAME).read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def current_problem() -> str:
    """Return the problem that keeps the runner from working; empty if there is none, or no recent report."""
    status = read_status()
    return status.problem if status and time.time() - status.time < FRESH else ""
