"""File descriptors: raise their limit, and refuse new pages with a clear message when only few are left.

Every connection of a browser and every open file needs one. Without any, the store cannot be read and no connection can be
accepted, so new pages are refused while there are still enough for the open ones.
"""

import gc
import os
import sys
import time
from collections.abc import Callable

from boundary import refuse
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

ENOUGH = 8192  # more descriptors than open tabs need; macOS allows at most 10,240
RESERVED_SHARE = 0.35  # reserved for the store and for requests of open pages
SECONDS_BETWEEN_WARNINGS = 60.0
MESSAGE = (
    "The dashboard has too few file descriptors left ({used} of {limit} are open), so it opens no more pages; "
    "close some of its tabs and reload, or start it again after: ulimit -n 4096"
)


def raise_descriptor_limit() -> None:
    """Raise the soft limit of this process towards the hard limit (on macOS, from 256)."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def descriptor_shortage() -> str:
    """Return a message if only the reserved descriptors are left, or an empty string."""
    if resource is None:
        return ""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return ""
    try:
        used = len(os.listdir("/dev/fd"))
    except OSError:  # none is left to read the folder
        used = limit
    return MESSAGE.format(used=used, limit=limit) if used > limit * (1 - RESERVED_SHARE) else ""


def close_idle_sessions() -> bool:
    """End the sessions of browsers that have disconnected; return whether there were any.

    Streamlit keeps up to 128 of them for two minutes, in case the browser connects again. Each has an event loop with three
    descriptors, and expired sessions are only removed when another session ends.
    """
    if not runtime.exists():
        return False
    server = runtime.get_instance()
    manager = getattr(server, "_session_mgr", None)  # a private name, which other versions may not have
    sessions = [info.session.id for info in manager.list_sessions()] if manager else []
    idle = [session for session in sessions if not server.is_active_session(session)]
    for session in idle:
        server.close_session(session)
    gc.collect()
    return bool(idle)


def guard_descriptors(app: ASGIApp, shortage: Callable[[], str] = descriptor_shortage) -> ASGIApp:
    """Refuse new pages and websockets while `shortage` returns a message."""
    last_warning = -SECONDS_BETWEEN_WARNINGS

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal last_warning
        message = shortage() if opens_page(scope) else ""
        if message and close_idle_sessions():
            message = shortage()
        if not message:
            await app(scope, receive, send)
            return
        if time.monotonic() - last_warning >= SECONDS_BETWEEN_WARNINGS:
            last_warning = time.monotonic()
            print(f"mgem: {message}", file=sys.stderr, flush=True)
        headers = {"connection": "close", "retry-after": "10"}  # closing the connection frees its descriptor at once
        await refuse(PlainTextResponse(f"{message}\n", 503, headers), scope, receive, send)

    return guarded


def opens_page(scope: Scope) -> bool:
    """Return whether a request is for a page or its websocket; other requests, of open pages, are always answered."""
    if scope["type"] == "websocket":
        return True
    return scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", "")
