"""A warm worker process: it trains one run after the other and tells its runner what happens."""

import multiprocessing
import os
import queue
import threading
import time
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path

from mgem_core import RunConfig, UsageError, run
from mgem_core.events import Event
from mgem_core.runner import Ended

HEARTBEAT = 1.0


def main(pipe: Connection) -> None:
    """Serve until the runner closes the pipe or dies."""
    jobs: queue.Queue[tuple[int, str, str]] = queue.Queue()
    unwanted: set[int] = set()
    speaking = threading.Lock()

    def tell(message: object) -> None:
        with speaking:
            pipe.send(message)

    def listen() -> None:
        try:
            while True:
                what, *job = pipe.recv()
                unwanted.add(job[0]) if what == "cancel" else jobs.put((job[0], job[1], job[2]))
        except (EOFError, OSError):
            os._exit(0)

    def beat() -> None:
        while True:
            time.sleep(HEARTBEAT)
            try:
                tell(None)
            except OSError:
                os._exit(0)

    def outlive_nobody() -> None:
        parent = multiprocessing.parent_process()
        if parent:
            wait([parent.sentinel])
            os._exit(0)

    for watch in (listen, beat, outlive_nobody):
        threading.Thread(target=watch, daemon=True).start()
    import torch  # noqa: F401  (the slow part of a first run, done before one is asked for)

    tell("ready")
    while True:
        number, config, checkpoint = jobs.get()
        tell((number, _trained(number, RunConfig.model_validate_json(config), Path(checkpoint), unwanted, tell)))


def _trained(number: int, config: RunConfig, checkpoint: Path, unwanted: set[int], tell: object) -> Ended:
    assert callable(tell)
    try:
        for event in from_checkpoint(config, checkpoint):
            tell((number, event))
            if number in unwanted:
                unwanted.discard(number)
                return Ended("cancelled")
        return Ended("done")
    except Exception as error:
        return Ended("failed", explained(error))


def from_checkpoint(config: RunConfig, checkpoint: Path) -> Iterator[Event]:
    """Go on from the checkpoint; a damaged one is as good as none."""
    try:
        return run(config, checkpoint=checkpoint, resume=checkpoint if checkpoint.exists() else None)
    except UsageError:
        return run(config, checkpoint=checkpoint)


def explained(error: Exception) -> str:
    """One line for people: the sentence of a known error, the place of an unknown one."""
    if isinstance(error, UsageError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'} could not be used: {error.strerror}."
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(at.filename).name}, line {at.lineno})."
