"""A viewer without a browser: a Streamlit session that runs pages and their fragments, and the feed of the workbench.

Ten browsers would need more CPU time than the server that is to be measured.
"""

import asyncio
import time
from contextlib import suppress

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

OPTIONS = {"max_size": None, "proxy": None, "compression": None, "ping_interval": None}


class Viewer:
    """Opens an address as a browser does, and repeats the fragments that the page wants repeated."""

    def __init__(self, address: str, page: str, query: str, source: str = ""):
        """`source` is the key of the source whose feed the viewer also reads, if any."""
        self.address, self.page, self.query, self.source = address.replace("http", "ws"), page, query, source
        self.is_ready = asyncio.Event()  # the script has run, and the first messages of the feed have arrived
        self.runs_of_script = 0
        self.errors: list[str] = []  # exceptions on the page
        self.awaited: dict[str, float] = {}  # text in a message of the feed → when it was written
        self.delays: list[float] = []  # from then to the message
        self.messages = self.characters = 0  # of the feed

    async def stay(self) -> None:
        """Keep the page open until cancelled."""
        parts = [self._show_page()] + ([self._read_feed()] if self.source else [])
        await asyncio.gather(*parts)

    async def _show_page(self) -> None:
        repeats: dict[str, asyncio.Task[None]] = {}
        url = f"{self.address}/_stcore/stream"
        try:
            async with connect(url, subprotocols=["streamlit"], **OPTIONS) as socket:  # type: ignore[arg-type, list-item]
                await self._run(socket)
                async for data in socket:
                    message = ForwardMsg.FromString(data)
                    kind = message.WhichOneof("type")
                    if kind == "auto_rerun":
                        fragment = message.auto_rerun.fragment_id
                        if fragment in repeats:
                            repeats[fragment].cancel()
                        repeats[fragment] = asyncio.create_task(self._repeat(socket, message.auto_rerun))
                    elif kind == "script_finished":
                        self.runs_of_script += 1
                        if not self.source:
                            self.is_ready.set()
                    elif kind == "delta" and message.delta.new_element.WhichOneof("type") == "exception":
                        self.errors.append(message.delta.new_element.exception.message)
        finally:
            for task in repeats.values():
                task.cancel()

    async def _repeat(self, socket: ClientConnection, wanted) -> None:  # type: ignore[no-untyped-def]
        with suppress(ConnectionClosed):
            while True:
                await asyncio.sleep(wanted.interval)
                await self._run(socket, wanted.fragment_id)

    async def _run(self, socket: ClientConnection, fragment: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name = self.query, self.page
        state.fragment_id, state.is_auto_rerun = fragment, bool(fragment)
        await socket.send(message.SerializeToString())

    async def _read_feed(self) -> None:
        async with connect(f"{self.address}/feed?source={self.source}", **OPTIONS) as socket:  # type: ignore[arg-type]
            async for text in socket:
                assert isinstance(text, str)
                self.messages += 1
                self.characters += len(text)
                if text.startswith('{"kind": "progress"'):
                    self.is_ready.set()
                if text.startswith('{"kind": "runs"'):
                    for wanted in [one for one in self.awaited if one in text]:
                        self.delays.append(time.time() - self.awaited.pop(wanted))
