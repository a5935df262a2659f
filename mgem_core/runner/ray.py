"""Workers on a Ray cluster: one Ray task per run.

Events and checkpoints are streamed back, so that a run whose node died can continue on another one.
"""

import logging
import socket
import time
from typing import Any

from mgem_core.config import RunConfig
from mgem_core.config.keys import difference_from, versions_of_this_process
from mgem_core.errors import UsageError
from mgem_core.runner import Ended, WorkerMessage
from mgem_core.runner.worker import train

ANSWERING = 60.0  # seconds after which a node is reported if it has not answered which code it has


class RayPool:
    """A pool on a Ray cluster. It uses only nodes that have the same code and libraries as the runner."""

    def __init__(self, address: str, gpus: float = 0.0):
        try:
            import ray
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
        except ImportError:
            raise UsageError("ray is not installed; install it with: pip install 'mgem-explorer[ray]'.") from None
        self.ray = ray
        try:
            if ":" in address:  # connect first, because Ray itself would try for a minute
                host, _, port = address.rpartition(":")
                socket.create_connection((host, int(port)), timeout=5).close()
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, ValueError, RuntimeError) as error:
            raise UsageError(f"ray is {address!r}, but no Ray cluster answers there ({error}).") from None
        self.on_node = lambda node: NodeAffinitySchedulingStrategy(node, soft=False)
        self.task: Any = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0)(train)
        self.check: Any = ray.remote(num_cpus=0, max_retries=0)(difference_from)  # called on a node
        self.gpus = gpus
        self.next_node = ""  # the node on which `start` starts a run
        self.checks: dict[str, Any] = {}  # node → the pending answer of `check`
        self.asked_at: dict[str, float] = {}  # node → when it was first asked
        self.refused: dict[str, str] = {}  # node → why it is refused; empty if it is accepted
        self.streams: dict[Any, tuple[int, str]] = {}  # the message stream of a run → the run and its node
        self.cancelled: set[int] = set()

    @property
    def problem(self) -> str:
        alive = {node["NodeID"]: _name(node) for node in self._nodes()}
        refused = [f"{alive[node]} has {reason}" for node, reason in self.refused.items() if reason and node in alive]
        silent = [node for node in self.checks if node in alive and time.monotonic() - self.asked_at[node] > ANSWERING]
        refused += [f"{alive[node]} has not answered which code it has" for node in silent]
        remedy = "Install the same versions there and restart Ray on it. The other nodes continue."
        return f"Refused Ray node: {'; '.join(refused)}. {remedy}" if refused else ""

    def free(self) -> int:
        self._check_new_nodes()
        rooms = {node["NodeID"]: self._room(node) for node in self._nodes()}
        self.next_node = max(rooms, key=rooms.__getitem__, default="")
        return sum(rooms.values())

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self.ray.nodes() if node["Alive"]]

    def _check_new_nodes(self) -> None:
        for node in (one["NodeID"] for one in self._nodes()):
            if node not in self.refused and node not in self.checks:
                self.asked_at.setdefault(node, time.monotonic())
                check = self.check.options(scheduling_strategy=self.on_node(node))
                self.checks[node] = check.remote(versions_of_this_process())
        for node, answer in list(self.checks.items()):
            if self.ray.wait([answer], timeout=0)[0]:
                del self.checks[node]
                try:
                    self.refused[node] = self.ray.get(answer)
                except self.ray.exceptions.RayTaskError as error:  # mgem is not installed there, or too old to answer
                    self.refused[node] = f"no mgem that can be used ({' '.join(str(error).split())[-200:]})"
                except self.ray.exceptions.RayError:
                    pass  # the answer was lost, so the node is asked again

    def _room(self, node: dict[str, Any]) -> int:
        """Return how many more runs can start on a node."""
        if self.refused.get(node["NodeID"], "unchecked"):
            return 0
        cpus, gpus = (float(node["Resources"].get(name, 0)) for name in ("CPU", "GPU"))
        running = sum(1 for _, where in self.streams.values() if where == node["NodeID"])
        return max(0, int(min(cpus, gpus / self.gpus) if self.gpus else cpus) - running)

    def start(self, run: int, config: RunConfig, state: bytes | None) -> None:
        node = self.next_node  # if the node has died since, the run is lost and starts again elsewhere
        task = self.task.options(scheduling_strategy=self.on_node(node))
        self.streams[task.remote(config.model_dump_json(), state, versions=versions_of_this_process(config))] = run, node

    def cancel(self, run: int) -> None:
        for stream, (number, _) in self.streams.items():
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
        """Take the next message of a run."""
        (run, node), message = self.streams[stream], self._next(stream)
        if isinstance(message, Ended):
            del self.streams[stream]
            if message.how == "lost":  # the node may be dead, which Ray notices late: check it before it gets more runs
                self.refused.pop(node, None)
                self.asked_at.pop(node, None)
            if message.how == "refused":  # the code of the node was edited after the check
                self.refused[node] = message.reason
                message = Ended("cancelled")
            message = Ended("cancelled") if run in self.cancelled and message.how == "lost" else message
            self.cancelled.discard(run)
        return run, message

    def _next(self, stream: Any) -> WorkerMessage:
        """Return the next message of a Ray task; a task that ended without one is lost."""
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


def _name(node: dict[str, Any]) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
