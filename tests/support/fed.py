"""The feed of the dashboard on a real server, and viewers that read it."""

import asyncio
import contextlib
import json
import threading
import time

import uvicorn
from served import free_port
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from websockets.sync.client import ClientConnection, connect

PATIENCE = 20  # seconds, after which a missing message is an error; a busy machine is slow


@contextlib.contextmanager
def serving(feed, guard=lambda app: app):
    """Serve a feed in another thread; yield its port."""
    app = guard(Starlette(routes=[WebSocketRoute("/feed", feed.serve)]))
    port = free_port()
    options = {"log_level": "error", "lifespan": "off", "ws_per_message_deflate": False}  # as Streamlit sets it
    server = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", port, **options))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield port
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


def watch(port: int, source: str, **options) -> ClientConnection:
    """Connect as a browser does; `source` is sent as it is."""
    address = f"ws://127.0.0.1:{port}/feed?source={source}"
    return connect(address, max_size=None, open_timeout=PATIENCE, proxy=None, **options)


def read_until(viewer: ClientConnection, is_last) -> list[dict]:
    """Return the messages up to the first that meets a condition."""
    messages = []
    while not messages or not is_last(messages[-1]):
        messages.append(json.loads(viewer.recv(timeout=PATIENCE)))
    return messages


def read_first(viewer: ClientConnection) -> dict[str, list[dict]]:
    """Return the first messages by kind, up to the progress, the last of them that is always sent."""
    found: dict[str, list[dict]] = {}
    for message in read_until(viewer, lambda message: message["kind"] in ("progress", "gone")):
        found.setdefault(message["kind"], []).append(message)
    return found


def wait_until(is_met) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_met():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.02)
