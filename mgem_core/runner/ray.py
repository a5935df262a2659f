"""Workers on a Ray cluster: one Ray task per run.

Events and checkpoints are streamed back, so that a run whose node died can continue on another one.
"""

import logging
import socket
import time
from typing import Any

from mgem_core.config import RunConfig
from mgem_core.errors import UsageError
from mgem_core.runner import Ended, WorkerMessage
from mgem_core.runner.worker import train


class RayPool:
    def __init__(self, address: str, gpus: float = 0.0):
        try:
            import ray
        except ImportError:
            raise UsageError("ray is not installed; install it with: pip install 'mgem-explorer[ray]'.") from None
        self.ray = ray
        try:
            if ":" in address:  # try to connect first: Ray itself would try for a minute
                host, _, port = address.rpartition(":")
                socket.create_connection((host, int(port)), timeout=5).close()
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, ValueError, RuntimeError) as error:
            raise UsageError(f"ray is {address!r}, but no Ray cluster answers there ({error}).") from None
        self.task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0)(train)
        self.gpus, self.problem = gpus, ""
        self.streams: dict[Any, int] = {}
        self.cancelled: set[int] = set()

    def free(self) -> int:
        total = self.ray.cluster_resources()
        room = total.get("CPU", 0) if not self.gpus else min(total.get("CPU", 0), total.get("GPU", 0) / self.gpus)
        return max(0, int(room) - len(self.streams))  # the difference is negative after a node died

    def start(self, run: int, config: RunConfig, state: bytes | None) -> None:
        self.streams[self.task.remote(config.model_dump_json(), state)] = run

    def cancel(self, run: int) -> None:
        for stream, number in self.streams.items():
            if number == run and run not in self.cancelled:
                self.cancelled.add(run)
                self.ray.cancel(stream, force=True)

    def poll(self, seconds: float) -> list[tuple[int, WorkerMessage]]:
        if not self.streams:
            time.sleep(seconds)
            return []
        messages: list[tuple[int, WorkerMessage]] = []
        ready, _ = self.ray.wait(list(self.streams), timeout=seconds, fetch_local=False)
        while ready and len(messages) < 1000:
            messages += [self._take(stream) for stream in ready]
            if not self.streams:
                break
            ready, _ = self.ray.wait(list(self.streams), num_returns=len(self.streams), timeout=0, fetch_local=False)
        return messages

    def _take(self, stream: Any) -> tuple[int, WorkerMessage]:
        """The next message of a run."""
        run, message = self.streams[stream], self._next(stream)
        if isinstance(message, Ended):
            del self.streams[stream]
            message = Ended("cancelled") if run in self.cancelled and message.how == "lost" else message
            self.cancelled.discard(run)
        return run, message

    def _next(self, stream: Any) -> WorkerMessage:
        """The next message that a task yielded; a task that ended without one is lost."""
        try:
            return self.ray.get(next(stream))  # type: ignore[no-any-return]
        except StopIteration:
            return Ended("lost", "its Ray task ended without a result")
        except self.ray.exceptions.RayError as error:
            return Ended("lost", f"its Ray task was lost ({type(error).__name__})")

    def close(self) -> None:
        for stream in self.streams:
            self.ray.cancel(stream, force=True)
        self.ray.shutdown()
