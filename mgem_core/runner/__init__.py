"""Who does the work: one runner per store hands queued runs to a pool of workers, here or on a Ray cluster."""

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
    """A run left its worker. done: it yielded Finished. lost: the worker is gone, the run may go on elsewhere.

    cancelled: it was made to leave; it goes on if that is still wanted.
    """

    how: Literal["done", "failed", "cancelled", "lost"]
    reason: str = ""
    traceback: str = ""  # of an error that nobody expected


WorkerMessage = Event | Ended | bytes | Accepted  # bytes: a new checkpoint


class Pool(Protocol):
    """Workers that each train one run at a time."""

    @property
    def problem(self) -> str:
        """Why no worker is ready although some should be; empty if all is well."""

    def free(self) -> int:
        """How many more runs could start now."""

    def start(self, run: int, config: RunConfig, state: bytes | None) -> None:
        """Train a run, from a checkpoint's bytes if there are any."""

    def cancel(self, run: int) -> None:
        """Have a run end soon, as cancelled."""

    def poll(self, seconds: float) -> list[tuple[int, WorkerMessage]]:
        """What the workers sent since the last call, in order; waits up to `seconds` for the first message."""

    def close(self) -> None:
        """End all workers."""
