"""A hub reads one source for all its viewers, in another thread, and gives each of them the messages about it.

So neither a slow disk nor a slow browser delays others.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from explore.live_source import SourceGoneError, SourceRestartedError

from mgem_core import UsageError

ACTIVE_SECONDS, IDLE_SECONDS = 0.1, 0.5  # between two looks at the store
MOST_TIME = 0.06  # share of a core that a hub may use on average,
BURST_SECONDS = 0.3  # and the CPU time that it may use at once, without a pause
GRACE_SECONDS = 5.0  # for which a hub waits for another viewer after the last has left
MOST_WAITING = 500  # messages, and
MOST_WAITING_CHARACTERS = 30_000_000  # their length, that a viewer may be behind, besides the first messages
ENDED, RESTARTED, BEHIND, FAILED = 1000, 1012, 1013, 1011  # codes with which connections are closed
Message = dict[str, Any]


class Live(Protocol):
    """See `explore.live_source.LiveSource`."""

    is_active: bool

    def everything(self) -> list[Message]: ...
    def advance(self) -> list[Message]: ...


Opener = Callable[[str], Live]  # from the key of a source; raises a UsageError if there is none


class Viewer:
    """The messages that wait to be sent to one browser."""

    def __init__(self) -> None:
        self.code: int | None = None  # with which the connection is to be closed once everything is sent
        self.is_behind = asyncio.Event()
        self._first: deque[str] = deque()
        self._texts: deque[str] = deque()
        self._has_more = asyncio.Event()

    def start(self, texts: Sequence[str]) -> None:
        """Set the first messages, which may be long."""
        self._first.extend(texts)
        self._has_more.set()

    def put(self, texts: Sequence[str]) -> None:
        """Add messages; a viewer that does not read them falls behind, and is disconnected."""
        self._texts.extend(texts)
        self._has_more.set()
        if len(self._texts) > MOST_WAITING or sum(map(len, self._texts)) > MOST_WAITING_CHARACTERS:
            self._texts.clear()
            self.is_behind.set()

    def end(self, code: int) -> None:
        self.code = code
        self._has_more.set()

    async def next(self) -> str | None:
        """Return the next message, or None if there will be no more."""
        while not (self._first or self._texts):
            if self.code is not None:
                return None
            self._has_more.clear()
            await self._has_more.wait()
        return (self._first or self._texts).popleft()


class Hub:
    """Reads one source for all its viewers."""

    def __init__(self, key: str, open_source: Opener, pool: ThreadPoolExecutor):
        self.key, self.open_source, self.pool = key, open_source, pool
        self.members = 0  # viewers, and those who are about to become viewers
        self.viewers: set[Viewer] = set()
        self.has_ended = False
        self._live: Live | None = None
        self._turn = asyncio.Lock()  # one thread at a time uses the source
        self._last_error = ""
        self._spent = 0.0  # CPU seconds beyond MOST_TIME

    async def join(self, viewer: Viewer) -> None:
        """Give a viewer everything so far, and from now on what changes."""
        async with self._turn:
            try:
                viewer.start(await self._in_thread(self._everything))
                self.viewers.add(viewer)
            except UsageError as error:
                self.has_ended = self._live is None
                viewer.start([to_text({"kind": "gone", "message": str(error)})])
                viewer.end(ENDED)

    def _everything(self) -> list[str]:
        if self._live is None:
            live = self.open_source(self.key)
            live.advance()
            self._live = live
        return [to_text(message) for message in self._live.everything()]

    async def run(self) -> None:
        """Look for changes until the last viewer has left for a while."""
        left = time.monotonic()
        try:
            while not self.has_ended and (self.members or time.monotonic() - left < GRACE_SECONDS):
                start = time.monotonic()
                left = start if self.members else left
                if self.viewers:
                    async with self._turn:
                        await self._advance()
                pause = ACTIVE_SECONDS if self._live and self._live.is_active else IDLE_SECONDS
                await asyncio.sleep(max(pause, (self._spent - BURST_SECONDS) / MOST_TIME))
                self._spent = max(0.0, self._spent - MOST_TIME * (time.monotonic() - start))
        finally:
            self.has_ended = True
            self._end_all(FAILED)

    async def _advance(self) -> None:
        """Send what has changed to all viewers, or the reason why there is nothing more."""
        try:
            self._send(await self._in_thread(self._changes))
        except SourceGoneError as error:
            self._send([to_text({"kind": "gone", "message": str(error)})])
            self._end_all(ENDED)
            self.has_ended = True
        except SourceRestartedError:
            self._live = None
            self._end_all(RESTARTED)

    def _changes(self) -> list[str]:
        assert self._live, "a viewer has joined"
        try:
            messages, error = self._live.advance(), ""
        except SourceGoneError:
            raise
        except UsageError as problem:  # such as a store that is locked; it may pass
            messages, error = [], str(problem)
        if error != self._last_error:
            self._last_error = error
            messages.append(with_note(self._live, error))
        return [to_text(message) for message in messages]

    def _send(self, texts: list[str]) -> None:
        for viewer in self.viewers:
            viewer.put(texts)

    def _end_all(self, code: int) -> None:
        for viewer in self.viewers:
            viewer.end(code)
        self.viewers.clear()

    async def _in_thread(self, work: Callable[[], list[str]]) -> list[str]:
        def timed() -> tuple[list[str], float]:
            start = time.thread_time()  # not the time of day, so that other programs do not slow a hub down twice
            return work(), time.thread_time() - start

        texts, seconds = await asyncio.get_running_loop().run_in_executor(self.pool, timed)
        self._spent += seconds
        return texts


def to_text(message: Message) -> str:
    return json.dumps(message, allow_nan=False)


def with_note(live: Live, note: str) -> Message:
    """Return the last message about the progress with another note, or without one if it is empty."""
    progress = next((message for message in live.everything() if message["kind"] == "progress"), {"kind": "progress"})
    return {**progress, "notes": [*progress.get("notes", []), *([note] if note else [])]}
