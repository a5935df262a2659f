"""The websocket /feed?source=KEY, which pushes the results of a source to the workbench (`explore/live_source.py`).

A viewer first gets everything so far, beginning with the header, then what changes. After a loss of the connection it
connects again and begins with empty data.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from hub import BEHIND, ENDED, FAILED, Hub, Opener, Viewer
from starlette.websockets import WebSocket, WebSocketDisconnect

CLOSE_SECONDS = 2.0  # for which a connection may take to close
LOSSES = (WebSocketDisconnect, RuntimeError, OSError, TimeoutError)  # of the connection; Starlette raises RuntimeError
LONGEST_KEY = 40  # characters of a source's key


class Feed:
    """All hubs of a server, and the connections of their viewers."""

    def __init__(self, open_source: Opener):
        self.open_source = open_source
        self.hubs: dict[str, Hub] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._pool = ThreadPoolExecutor(4, "feed")

    async def serve(self, websocket: WebSocket) -> None:
        """Send messages until the browser leaves, falls behind, or there is nothing more to send."""
        await websocket.accept()
        hub, viewer = self._hub(websocket.query_params.get("source", "")[:LONGEST_KEY]), Viewer()
        hub.members += 1
        sending = asyncio.create_task(_send(websocket, hub, viewer))
        parts = [sending, *map(asyncio.create_task, (_listen(websocket), _wait_until(viewer.is_behind)))]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hub.members -= 1
            hub.viewers.discard(viewer)
            for part in parts:
                part.cancel()
            outcome, *_ = await asyncio.gather(*parts, return_exceptions=True)
        if isinstance(outcome, Exception) and not isinstance(outcome, LOSSES):
            report_failure(hub.key, outcome)
            viewer.code = FAILED
        code = BEHIND if viewer.is_behind.is_set() else viewer.code or ENDED
        with suppress(*LOSSES):
            await asyncio.wait_for(websocket.close(code), CLOSE_SECONDS)

    def _hub(self, key: str) -> Hub:
        if key not in self.hubs or self.hubs[key].has_ended:
            hub = self.hubs[key] = Hub(key, self.open_source, self._pool)
            task = asyncio.create_task(hub.run())
            self._tasks.add(task)

            def forget(task: asyncio.Task[None]) -> None:
                self._tasks.discard(task)
                if not task.cancelled() and (error := task.exception()):
                    report_failure(key, error)
                if self.hubs.get(key) is hub:
                    del self.hubs[key]

            task.add_done_callback(forget)
        return self.hubs[key]


async def _send(websocket: WebSocket, hub: Hub, viewer: Viewer) -> None:
    await hub.join(viewer)
    while (text := await viewer.next()) is not None:
        await websocket.send_text(text)


async def _listen(websocket: WebSocket) -> None:
    """Wait until the browser disconnects; whatever it sends is ignored."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


async def _wait_until(event: asyncio.Event) -> None:
    await event.wait()


def report_failure(key: str, error: BaseException) -> None:
    """Report a fault of this program in the log; the browser connects again."""
    logging.getLogger(__name__).error("The feed of %r failed.", key, exc_info=error)
