"""Workers on this machine: warm processes, one torch thread each.

On Linux they are forked from one process that has imported torch, so that each of them starts in a moment.
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
from mgem_core.errors import UsageError
from mgem_core.runner import Accepted, Ended, WorkerMessage, worker

SILENT = 60.0  # seconds without a sign of life after which a worker is given up
STARTING = 300.0  # the same for its first one: importing torch from a slow disk takes long
ACCEPTING = 5.0  # seconds within which a worker confirms the run that it was given
CANCELLING = 15.0  # seconds within which it leaves a run that is cancelled; it looks between steps and within measurements
ORPHANED = 255  # the exit code that multiprocessing reports for a worker whose origin has gone
FROM_OUTSIDE = (-9, -15)  # exit codes of a worker that somebody ended by SIGKILL or SIGTERM
PAUSED = 5.0  # seconds between two polls after which the runner itself must have been stopped
STARTS = 3  # workers in a row that do not start, after which no more are tried
CONTEXT: Any = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")  # macOS: forks are fragile
CONTEXT.set_forkserver_preload(["mgem_core.engine"])


KILLED = "Workers are killed while they start, perhaps because memory is short; starting them is tried again and again."


class LocalPool:
    def __init__(self, workers: int):
        self.workers = [_Worker() for _ in range(workers)]
        self.stillborn = 0  # in a row
        self.killed = 0  # by somebody else, before they were ready, in a row
        self.polled = time.monotonic()

    @property
    def problem(self) -> str:
        return KILLED if self.killed >= STARTS else ""

    def free(self) -> int:
        return sum(one.idle() for one in self.workers)

    def start(self, run: int, config: RunConfig, state: bytes | None) -> None:
        free = next(one for one in self.workers if one.idle())
        free.give(run, config, state)

    def cancel(self, run: int) -> None:
        for one in self.workers:
            if one.run == run and one.unwanted is None:
                one.unwanted = time.monotonic()
                one.send(("cancel", run))

    def poll(self, seconds: float) -> list[tuple[int, WorkerMessage]]:
        wait([end for one in self.workers for end in one.ends()], seconds)
        now = time.monotonic()
        if now - self.polled > PAUSED:  # not the workers were silent: nobody listened
            for one in self.workers:
                one.forgive(now - self.polled)
        self.polled = now
        messages = []
        for one in list(self.workers):
            was_ready = one.ready
            messages += one.received()
            if one.ready and not was_ready:
                self.stillborn = self.killed = 0
            if reason := one.gone():
                if one.run is not None:
                    no_fault_of_the_run = one.unwanted or one.orphaned()
                    messages.append((one.run, Ended("cancelled") if no_fault_of_the_run else Ended("lost", reason)))
                self._replace(one, reason)
        return messages

    def _replace(self, lost: "_Worker", reason: str) -> None:
        """Another worker for a lost one; where none would start, those that are left must do."""
        lost.end()
        self.workers.remove(lost)
        if lost.ready:
            self.stillborn = self.killed = 0
        elif lost.process.exitcode in FROM_OUTSIDE or lost.orphaned():
            self.killed += 1
        else:
            self.stillborn += 1
        if self.stillborn < STARTS:
            self.workers.append(_Worker(delay=min(5.0, 0.1 * 2**self.killed) if self.killed else 0.0))
        elif not self.workers:
            raise UsageError(f"no worker could be started ({reason}, {STARTS} times in a row); see runner.log.")

    def close(self) -> None:
        for one in self.workers:
            one.end()


class _Worker:
    def __init__(self, delay: float = 0.0) -> None:
        self.pipe, theirs = CONTEXT.Pipe()
        self.process: BaseProcess = CONTEXT.Process(target=worker.main, args=(theirs,), daemon=True)
        self.ready, self.failure = False, ""
        threading.Thread(target=self._start, args=[theirs, delay], daemon=True).start()  # as long as importing torch
        self.run: int | None = None
        self.given = 0.0  # when it was given its run
        self.accepted = False  # did it confirm that?
        self.unwanted: float | None = None
        self.heard = time.monotonic()
        self.sending = threading.Lock()

    def _start(self, theirs: Connection, delay: float) -> None:
        """Once only: a second try would share the pipe with a child of the first, whose origin died in between."""
        time.sleep(delay)
        try:
            self.process.start()
        except (EOFError, OSError) as error:
            time.sleep(0.2)  # until the system knows that the origin is dead, so that the next worker has another one
            self.failure = f"it could not be started: {str(error) or 'the process that workers are forked from ended'}"
        theirs.close()

    def give(self, run: int, config: RunConfig, state: bytes | None) -> None:
        self.run, self.given, self.accepted, self.unwanted = run, time.monotonic(), False, None
        self.send(("run", run, config.model_dump_json(), state))

    def ends(self) -> list[Any]:
        """What to wait for."""
        return [self.pipe, self.process.sentinel] if self.process.pid else [self.pipe]

    def forgive(self, seconds: float) -> None:
        """Do not count the time in which the runner itself was stopped."""
        self.heard += seconds
        self.given += seconds
        if self.unwanted:
            self.unwanted += seconds

    def orphaned(self) -> bool:
        """Did it go with the process that it was forked from? What became of it nobody knows."""
        return CONTEXT.get_start_method() == "forkserver" and self.process.exitcode == ORPHANED

    def idle(self) -> bool:
        return self.ready and self.run is None

    def send(self, message: object) -> None:
        """Without waiting for a worker that does not read: a checkpoint is larger than what a pipe holds."""

        def send() -> None:
            with self.sending, suppress(OSError):  # it is gone; the next poll says so
                self.pipe.send(message)

        threading.Thread(target=send, daemon=True).start()

    def received(self) -> list[tuple[int, WorkerMessage]]:
        """Everything in the pipe."""
        messages: list[tuple[int, WorkerMessage]] = []
        try:
            while self.pipe.poll():
                received = self.pipe.recv()
                self.ready, self.heard = True, time.monotonic()
                self.accepted |= any(run == self.run and isinstance(what, Accepted) for run, what in received)
                messages += received
                if received and isinstance(received[-1][1], Ended):
                    self.run = None
        except (EOFError, OSError):
            pass
        return messages

    def gone(self) -> str:
        """Why this worker is of no more use, if so."""
        if self.failure:
            return self.failure
        if (code := self.process.exitcode) is not None:
            return (
                f"its worker process was ended by signal {-code}"
                if code < 0
                else f"its worker process ended with code {code}"
            )
        now = time.monotonic()
        if self.run is not None and self.unwanted and now - self.unwanted > CANCELLING:
            return "it did not stop when asked"
        if self.run is not None and not self.accepted and now - self.given > ACCEPTING:
            return f"its worker did not accept it within {ACCEPTING:.0f} s"
        allowed = SILENT if self.ready else STARTING
        return f"its worker was silent for {allowed:.0f} s" if now - self.heard > allowed else ""

    def end(self) -> None:
        if self.process.pid:  # one that has not started yet ends when it finds its pipe closed
            self.process.kill()
            self.process.join()
        self.pipe.close()
