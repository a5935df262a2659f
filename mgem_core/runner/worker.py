"""The worker process: it trains one run after the other and sends events and checkpoints to the runner."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from mgem_core import RunConfig, UsageError, run
from mgem_core.config.keys import difference_from
from mgem_core.runner import Accepted, Ended, WorkerMessage
from mgem_core.text import without_surrogates

if TYPE_CHECKING:
    from mgem_core.training.kept_stream import KeptStream

Versions = Mapping[str, str]  # versions of code files and libraries, from `keys.versions_of_this_process`
SEND, HEARTBEAT = 0.1, 1.0  # seconds between two messages; maximal seconds without one
MAX_UNSENT = 100  # after this many messages, training waits until the runner has taken them


def main(pipe: Connection) -> None:
    """Train runs until the runner closes the pipe or dies."""
    jobs: queue.Queue[tuple[int, str, bytes | None, Versions]] = queue.Queue()
    cancelled: set[int] = set()
    unsent: list[tuple[int, WorkerMessage]] = []
    sending = threading.Lock()

    def send() -> None:
        """Send everything unsent in one message; an empty one shows that the worker is alive."""
        with sending:
            messages = unsent[:]
            pipe.send(messages)
            del unsent[: len(messages)]

    def receive() -> None:
        try:
            while True:
                command, *job = pipe.recv()
                if command == "cancel":
                    cancelled.add(job[0])
                else:
                    unsent.append((job[0], Accepted()))
                    jobs.put((job[0], job[1], job[2], job[3]))
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
    import mgem_core.training.engine  # noqa: F401  (imports torch, which is slow, before the first run arrives)

    threading.Thread(target=keep_sending, daemon=True).start()  # the first message shows that the worker is ready
    while True:
        number, config, state, versions = jobs.get()
        for message in train(config, state, partial(cancelled.__contains__, number), versions):
            unsent.append((number, message))
            if len(unsent) >= MAX_UNSENT:
                send()
        send()
        cancelled.discard(number)


def train(
    config: str,
    state: bytes | None,
    is_cancelled: Callable[[], bool] = lambda: False,
    versions: Versions = MappingProxyType({}),
) -> Iterator[WorkerMessage]:
    """Train a run from its beginning or from a checkpoint; yield its events and checkpoints, and finally Ended.

    A checkpoint comes after all events that precede it, so that nothing is lost if both are stored in this order. A worker
    whose code or libraries differ from the runner's `versions` refuses the run.
    """
    if difference := difference_from(versions):
        yield Ended("refused", difference)
        return
    checkpoints: list[bytes] = []
    from mgem_core.training.engine import RunCancelledError

    try:
        request = RunConfig.model_validate_json(config)
        handlers = {"checkpoint": checkpoints.append, "is_cancelled": is_cancelled, "open_stream": _kept_stream().open}
        for event in run(request, resume=state, **handlers):
            if checkpoints:
                yield checkpoints.pop()  # `yield from` fails on Ray, which sends values into the generator
                checkpoints.clear()
            yield event
        yield Ended("done")
    except RunCancelledError:
        yield Ended("cancelled")
    except Exception as error:
        details = "" if isinstance(error, UsageError) else without_surrogates(traceback.format_exc())
        yield Ended("failed", explain_error(error), details)


@cache
def _kept_stream() -> KeptStream:
    """Return the stream that this process keeps for its next run."""
    from mgem_core.training.kept_stream import KeptStream

    return KeptStream()


def explain_error(error: Exception) -> str:
    """Return an error on one line: an expected error as it is, an unexpected one with its type and location.

    File names that are not UTF-8 are escaped, because the store cannot hold them.
    """
    if isinstance(error, UsageError):
        message = str(error)
    elif isinstance(error, OSError) and error.strerror:
        message = f"{error.filename or 'a file'} could not be used: {error.strerror}."
    else:
        at = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {' '.join(str(error).split())} ({Path(at.filename).name}, line {at.lineno})."
    return without_surrogates(message)
