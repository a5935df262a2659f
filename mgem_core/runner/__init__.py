"""Training many runs: one runner per store gives queued runs to a pool of workers, on this machine or a Ray cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from mgem_core.config import RunConfig
from mgem_core.events import Event


@dataclass(frozen=True)
class Accepted:
    """The worker has received the run that it was given."""


@dataclass(frozen=True)
class Ended:
    """A run has left its worker.

    done: it yielded Finished. failed: it raised an error. cancelled: it was stopped, and is queued again if it was resumed
    meanwhile. lost: its worker died, and another worker may continue it. refused: its worker has other code or libraries
    than the runner.
    """

    how: Literal["done", "failed", "cancelled", "lost", "refused"]
    reason: str = ""
    traceback: str = ""  # of an unexpected error


WorkerMessage = Event | Ended | bytes | Accepted  # bytes: a new checkpoint


class Pool(Protocol):
    """Workers that each train one run at a time."""

    @property
    def problem(self) -> str:
        """Why no worker is ready although some should be; empty if there is no problem."""

    def free(self) -> int:
        """How many more runs can start now."""

    def start(self, run: int, config: RunConfig, state: bytes | None) -> None:
        """Train a run, from a checkpoint's bytes if there are any."""

    def cancel(self, run: int) -> None:
        """Stop a run soon; it ends as cancelled."""

    def poll(self, seconds: float) -> list[tuple[int, WorkerMessage]]:
        """What the workers sent since the last call, in order; waits up to `seconds` for the first message."""

    def close(self) -> None:
        """End all workers."""
