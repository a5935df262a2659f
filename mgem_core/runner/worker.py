"""A warm worker process: it trains one run after the other and tells its runner what happens."""

import multiprocessing
import os
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path

from mgem_core import RunConfig, UsageError, run
from mgem_core.events import Event
from mgem_core.runner import Ended, Told

SPEAK, HEARTBEAT = 0.1, 1.0  # seconds
ENOUGH = 100  # untold events, with which training waits for the runner to hear them


def main(pipe: Connection) -> None:
    """Serve until the runner closes the pipe or dies."""
    jobs: queue.Queue[tuple[int, str, bytes | None]] = queue.Queue()
    unwanted: set[int] = set()
    untold: list[tuple[int, Told]] = []
    speaking = threading.Lock()

    def tell() -> None:
        """Everything untold in one message; an empty one is a sign of life."""
        with speaking:
            told = untold[:]
            pipe.send(told)
            del untold[: len(told)]

    def listen() -> None:
        try:
            while True:
                what, *job = pipe.recv()
                unwanted.add(job[0]) if what == "cancel" else jobs.put((job[0], job[1], job[2]))
        except (EOFError, OSError):
            os._exit(0)

    def speak() -> None:
        spoke = 0.0
        while True:
            time.sleep(SPEAK)
            if untold or time.monotonic() - spoke > HEARTBEAT:
                spoke = time.monotonic()
                try:
                    tell()
                except OSError:
                    os._exit(0)

    def outlive_nobody() -> None:
        parent = multiprocessing.parent_process()
        if parent:
            wait([parent.sentinel])
            os._exit(0)

    for watch in (listen, outlive_nobody):
        threading.Thread(target=watch, daemon=True).start()
    import torch  # noqa: F401  (the slow part of a first run, done before one is asked for)

    threading.Thread(target=speak, daemon=True).start()  # from its first word on, a worker is ready
    while True:
        number, config, state = jobs.get()
        for told in train(config, state):
            if number in unwanted and not isinstance(told, Ended):
                told = Ended("cancelled")
            untold.append((number, told))
            if isinstance(told, Ended):
                break
            if len(untold) >= ENOUGH:
                tell()
        tell()
        unwanted.discard(number)


def train(config: str, state: bytes | None) -> Iterator[Told]:
    """A run from its beginning or from a checkpoint: its events, each new checkpoint in its place among them, its end.

    A checkpoint comes after everything that was told before it was taken: whoever keeps both in this order loses nothing.
    """
    checkpoints: list[bytes] = []
    try:
        for event in _from_checkpoint(RunConfig.model_validate_json(config), state, checkpoints.append):
            if checkpoints:
                yield checkpoints.pop()  # not `yield from`: Ray would send into the list
                checkpoints.clear()
            yield event
        yield Ended("done")
    except Exception as error:
        yield Ended("failed", explained(error))


def _from_checkpoint(config: RunConfig, state: bytes | None, save: Callable[[bytes], None]) -> Iterator[Event]:
    """Go on from the checkpoint; a damaged one is as good as none."""
    try:
        return run(config, checkpoint=save, resume=state)
    except UsageError:
        return run(config, checkpoint=save)


def explained(error: Exception) -> str:
    """One line for people: the sentence of a known error, the place of an unknown one."""
    if isinstance(error, UsageError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'} could not be used: {error.strerror}."
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(at.filename).name}, line {at.lineno})."
