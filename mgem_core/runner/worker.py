"""A warm worker process: it trains one run after the other and sends its runner what happens."""

import multiprocessing
import os
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path

from mgem_core import RunConfig, UsageError, run
from mgem_core.runner import Accepted, Ended, WorkerMessage

SEND, HEARTBEAT = 0.1, 1.0  # seconds
ENOUGH = 100  # unsent messages, with which training waits for the runner to take them


def main(pipe: Connection) -> None:
    """Serve until the runner closes the pipe or dies."""
    jobs: queue.Queue[tuple[int, str, bytes | None]] = queue.Queue()
    unwanted: set[int] = set()
    unsent: list[tuple[int, WorkerMessage]] = []
    sending = threading.Lock()

    def send() -> None:
        """Everything unsent in one message; an empty one is a sign of life."""
        with sending:
            messages = unsent[:]
            pipe.send(messages)
            del unsent[: len(messages)]

    def receive() -> None:
        try:
            while True:
                what, *job = pipe.recv()
                if what == "cancel":
                    unwanted.add(job[0])
                else:
                    unsent.append((job[0], Accepted()))
                    jobs.put((job[0], job[1], job[2]))
        except (EOFError, OSError):
            os._exit(0)

    def keep_sending() -> None:
        sent = 0.0
        while True:
            time.sleep(SEND)
            if unsent or time.monotonic() - sent > HEARTBEAT:
                sent = time.monotonic()
                try:
                    send()
                except OSError:
                    os._exit(0)

    def end_with_parent() -> None:
        parent = multiprocessing.parent_process()
        if parent:
            wait([parent.sentinel])
            os._exit(0)

    for watch in (receive, end_with_parent):
        threading.Thread(target=watch, daemon=True).start()
    import mgem_core.engine  # noqa: F401  (importing torch is the slow part of a first run, done before one is asked for)

    threading.Thread(target=keep_sending, daemon=True).start()  # from its first message on, a worker is ready
    while True:
        number, config, state = jobs.get()
        for message in train(config, state, partial(unwanted.__contains__, number)):
            unsent.append((number, message))
            if len(unsent) >= ENOUGH:
                send()
        send()
        unwanted.discard(number)


def train(config: str, state: bytes | None, is_cancelled: Callable[[], bool] = lambda: False) -> Iterator[WorkerMessage]:
    """A run from its beginning or from a checkpoint: its events, each new checkpoint in its place among them, its end.

    A checkpoint comes after every event from before it was taken: whoever keeps both in this order loses nothing.
    """
    checkpoints: list[bytes] = []
    from mgem_core.engine import RunCancelledError

    try:
        request = RunConfig.model_validate_json(config)
        for event in run(request, checkpoint=checkpoints.append, resume=state, is_cancelled=is_cancelled):
            if checkpoints:
                yield checkpoints.pop()  # not `yield from`: Ray would send into the list
                checkpoints.clear()
            yield event
        yield Ended("done")
    except RunCancelledError:
        yield Ended("cancelled")
    except Exception as error:
        details = "" if isinstance(error, UsageError) else traceback.format_exc()
        yield Ended("failed", explained(error), details)


def explained(error: Exception) -> str:
    """One line for people: the sentence of a known error, the place of an unknown one."""
    if isinstance(error, UsageError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'} could not be used: {error.strerror}."
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {' '.join(str(error).split())} ({Path(at.filename).name}, line {at.lineno})."
