"""Tell the browser where the server's own addresses begin.

Without it, Streamlit's script looks for them below the address of the page first, such as /runs/_stcore/health, and the
browser reports two errors 404 on every page but the first.
"""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SCRIPT = b'<script>window.__streamlit = { BACKEND_BASE_URL: location.origin + "/" };</script>'
HEAD = b"<head>"


def name_backend(app: ASGIApp) -> ASGIApp:
    """Add a script to Streamlit's page; other answers stay as they are."""

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        start: Message | None = None
        body = b""

        async def send_with_script(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _is_page(message):
                start = message
            elif start is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    body = body.replace(HEAD, HEAD + SCRIPT, 1)
                    headers = MutableHeaders(scope=start)
                    headers["content-length"] = str(len(body))
                    await send(start)
                    await send({**message, "body": body})

        if scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", ""):
            headers = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
            await app({**scope, "headers": headers}, receive, send_with_script)  # not compressed
        else:
            await app(scope, receive, send)

    return named


def _is_page(start: Message) -> bool:
    headers = MutableHeaders(scope=start)
    return start["status"] == 200 and headers.get("content-type", "").startswith("text/html")
