"""Workers on this machine: processes that train one run after the other and import torch only once.

On Linux they are forked from one process (the fork server) that has imported torch, so that each of them starts quickly.
"""

import multiprocessing
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from mgem_core.config import RunConfig
from mgem_core.config.keys import versions_of_this_process
from mgem_core.errors import UsageError
from mgem_core.runner import Accepted, Ended, WorkerMessage
from mgem_core.runner.worker import main as worker_main

SILENT = 60.0  # seconds without a message after which a worker counts as dead
STARTING = 300.0  # the same limit before its first message, because importing torch from a slow disk takes long
ACCEPTING = 5.0  # seconds within which a worker must confirm its run
CANCELLING = 15.0  # seconds within which it must stop a cancelled run; it checks between steps and during measurements
ORPHANED = 255  # the exit code that multiprocessing reports for a worker whose fork server died
KILL_CODES = (-9, -15)  # exit codes after SIGKILL and SIGTERM
PAUSED = 5.0  # seconds between two polls after which the runner itself must have been suspended
STARTS = 3  # after this many failed starts in a row, no more workers are started
CONTEXT: Any = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
CONTEXT.set_forkserver_preload(["mgem_core.training.engine"])
KILLED = "Workers are killed while they start, perhaps because memory is low. The runner keeps trying to start them."


class LocalPool:
    def __init__(self, workers: int):
        self.workers = [_Worker() for _ in range(workers)]
        self.failed_starts = 0  # workers in a row that ended before they were ready
        self.killed_starts = 0  # workers in a row that were killed before they were ready
        self.polled = time.monotonic()

    @property
    def problem(self) -> str:
        return KILLED if self.killed_starts >= STARTS else ""

    def free(self) -> int:
        return sum(worker.is_idle() for worker in self.workers)

    def start(self, run: int, config: RunConfig, state: bytes | None) -> None:
        worker = next(worker for worker in self.workers if worker.is_idle())
        worker.assign(run, config, state)

    def cancel(self, run: int) -> None:
        for worker in self.workers:
            if worker.run == run and worker.cancelled_at is None:
                worker.cancelled_at = time.monotonic()
                worker.send(("cancel", run))

    def poll(self, seconds: float) -> list[tuple[int, WorkerMessage]]:
        wait([waitable for worker in self.workers for waitable in worker.waitables()], seconds)
        polled = time.monotonic()
        if polled - self.polled > PAUSED:  # the runner itself was suspended, so the workers are not to blame
            for worker in self.workers:
                worker.extend_deadlines(polled - self.polled)
        self.polled = polled
        messages = []
        for worker in list(self.workers):
            was_ready = worker.ready
            messages += worker.receive()
            if worker.ready and not was_ready:
                self.failed_starts = self.killed_starts = 0
            if reason := worker.failure():
                if worker.run is not None:
                    is_no_failure = worker.cancelled_at or worker.is_orphaned()
                    messages.append((worker.run, Ended("cancelled") if is_no_failure else Ended("lost", reason)))
                self._replace(worker, reason)
        return messages

    def _replace(self, worker: "_Worker", reason: str) -> None:
        """Replace a worker that failed; if workers repeatedly fail to start, continue with the others."""
        worker.end()
        self.workers.remove(worker)
        if worker.ready:
            self.failed_starts = self.killed_starts = 0
        elif worker.process.exitcode in KILL_CODES or worker.is_orphaned():
            self.killed_starts += 1
        else:
            self.failed_starts += 1
        if self.failed_starts < STARTS:
            self.workers.append(_Worker(delay=min(5.0, 0.1 * 2**self.killed_starts) if self.killed_starts else 0.0))
        elif not self.workers:
            raise UsageError(f"no worker could be started ({reason}, {STARTS} times in a row); see runner.log.")

    def close(self) -> None:
        for worker in self.workers:
            worker.end()


class _Worker:
    def __init__(self, delay: float = 0.0) -> None:
        self.pipe, worker_pipe = CONTEXT.Pipe()
        self.process: BaseProcess = CONTEXT.Process(target=worker_main, args=(worker_pipe,), daemon=True)
        self.ready, self.start_error = False, ""
        threading.Thread(target=self._start, args=[worker_pipe, delay], daemon=True).start()
        self.run: int | None = None
        self.assigned_at = 0.0
        self.accepted = False  # whether it has confirmed the run
        self.cancelled_at: float | None = None
        self.last_message_at = time.monotonic()
        self.sending = threading.Lock()

    def _start(self, worker_pipe: Connection, delay: float) -> None:
        """Start the process, which takes as long as importing torch.

        There is no second attempt: if the fork server died, a process of the first attempt may still hold the pipe.
        """
        time.sleep(delay)
        try:
            self.process.start()
        except (EOFError, OSError) as error:
            time.sleep(0.2)  # raised until multiprocessing notices that the fork server died, and starts another one
            self.start_error = f"it could not be started: {str(error) or 'the process that workers are forked from ended'}"
        worker_pipe.close()

    def assign(self, run: int, config: RunConfig, state: bytes | None) -> None:
        self.run, self.assigned_at, self.accepted, self.cancelled_at = run, time.monotonic(), False, None
        self.send(("run", run, config.model_dump_json(), state, versions_of_this_process(config)))

    def waitables(self) -> list[Any]:
        """Return what `multiprocessing.connection.wait` waits for: a message, or the end of the process."""
        return [self.pipe, self.process.sentinel] if self.process.pid else [self.pipe]

    def extend_deadlines(self, seconds: float) -> None:
        """Extend all deadlines by the time for which the runner itself was suspended."""
        self.last_message_at += seconds
        self.assigned_at += seconds
        if self.cancelled_at:
            self.cancelled_at += seconds

    def is_orphaned(self) -> bool:
        """Return whether the fork server died; if so, the real exit code of the worker is unknown."""
        return CONTEXT.get_start_method() == "forkserver" and self.process.exitcode == ORPHANED

    def is_idle(self) -> bool:
        return self.ready and self.run is None

    def send(self, message: object) -> None:
        """Send a message in a thread: a checkpoint is larger than the buffer of a pipe, and the worker may not read it."""

        def send() -> None:
            with self.sending, suppress(OSError, TypeError):  # the worker died, or its pipe has been closed
                self.pipe.send(message)

        threading.Thread(target=send, daemon=True).start()

    def receive(self) -> list[tuple[int, WorkerMessage]]:
        """Return all messages in the pipe, each with its run."""
        messages: list[tuple[int, WorkerMessage]] = []
        try:
            while self.pipe.poll():
                received = self.pipe.recv()
                self.ready, self.last_message_at = True, time.monotonic()
                self.accepted |= any(run == self.run and isinstance(message, Accepted) for run, message in received)
                messages += received
                if received and isinstance(received[-1][1], Ended):
                    self.run = None
        except (EOFError, OSError):
            pass
        return messages

    def failure(self) -> str:
        """Return why this worker cannot be used any more; an empty string if it can."""
        if self.start_error:
            return self.start_error
        if (code := self.process.exitcode) is not None:
            return (
                f"its worker process was ended by signal {-code}"
                if code < 0
                else f"its worker process ended with code {code}"
            )
        current = time.monotonic()
        if self.run is not None and self.cancelled_at and current - self.cancelled_at > CANCELLING:
            return "it did not stop when it was cancelled"
        if self.run is not None and not self.accepted and current - self.assigned_at > ACCEPTING:
            return f"its worker did not accept it within {ACCEPTING:.0f} s"
        allowed = SILENT if self.ready else STARTING
        return f"its worker sent nothing for {allowed:.0f} s" if current - self.last_message_at > allowed else ""

    def end(self) -> None:
        if self.process.pid:  # if the process starts later, it ends when it finds its pipe closed
            self.process.kill()
            self.process.join()
        self.pipe.close()
