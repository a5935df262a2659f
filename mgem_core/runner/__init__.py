"""Training many runs: one runner per store gives queued runs to a pool of workers, on this machine or a Ray cluster."""

from dataclasses import dataclass
from typing import Literal, Protocol

from mgem_core.config import RunConfig
from mgem_core.events import Event


@dataclass(frozen=True)
class Accepted:
    """Confirms that the worker has received its run."""


@dataclass(frozen=True)
class Ended:
    """The end of a run in its worker.

    done: it yielded Finished. failed: it raised an error. cancelled: it was stopped; if it has been resumed since, it is
    queued again. lost: its worker died, and another worker may continue it. refused: the code or libraries of its worker
    differ from those of the runner.
    """

    how: Literal["done", "failed", "cancelled", "lost", "refused"]
    reason: str = ""
    traceback: str = ""  # only of an unexpected error


WorkerMessage = Event | Ended | bytes | Accepted  # bytes: a new checkpoint


class Pool(Protocol):
    """Workers that each train one run at a time."""

    @property
    def problem(self) -> str:
        """Reason why no worker is ready although some should be; empty if there is no problem."""

    def free(self) -> int:
        """Return how many more runs can start now."""

    def start(self, run: int, config: RunConfig, state: bytes | None) -> None:
        """Train a run, from the checkpoint `state` if there is one."""

    def cancel(self, run: int) -> None:
        """Stop a run as soon as possible; it ends as cancelled."""

    def poll(self, seconds: float) -> list[tuple[int, WorkerMessage]]:
        """Return what the workers sent since the last call, in order; wait up to `seconds` for the first message."""

    def close(self) -> None:
        """End all workers."""
