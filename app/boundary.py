"""The network boundary: which requests this server answers, and what its pages may load.

Any website that is open in a browser on this computer can send requests to 127.0.0.1. These checks stop it:

- Host: only the names of this server. In DNS rebinding, a foreign name resolves to 127.0.0.1.
- Origin: only pages of this server, not those of another port, because whoever can open a websocket controls the dashboard.
- Client: without a token, only this computer, even if a setting of Streamlit lets the server listen on other interfaces.
- Response headers: other sites cannot frame, embed or hold a window of a page, and pages load nothing from other hosts.

They do not depend on any setting of Streamlit.
"""

import re
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+?)\.?(?::([0-9]{1,5}))?")
ORIGIN = re.compile(r"(https?)://(.+)")
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",  # components are blob:, and plotly's WebGL uses eval
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "media-src 'self' data: blob:",
        "connect-src 'self' data: blob:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)
_is_in_place = False  # whether this process serves a guarded app
RESPONSE_HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # with no-referrer, the form of the token page would send "Origin: null"
    "x-content-type-options": "nosniff",
}


def guard_network(app: ASGIApp, proxies: frozenset[str] = frozenset(), has_token: bool = False) -> ASGIApp:
    """Refuse requests from other sites and computers.

    Args:
        proxies: names of reverse proxies, under which this server can be reached as well.
        has_token: whether a token is required, so that other computers may be answered.
    """

    global _is_in_place
    _is_in_place = True

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(RESPONSE_HEADERS)
            await send(message)

        if reason := find_refusal(scope, proxies, has_token):
            await refuse(PlainTextResponse(f"{reason}\n", 403), scope, receive, send_with_headers)
        else:
            await app(scope, receive, send_with_headers)

    return guarded


def is_in_place() -> bool:
    """Return whether this process serves the dashboard behind the boundary."""
    return _is_in_place


async def refuse(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a response; a websocket is refused without one (status 403), because browsers would not show it."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await response(scope, receive, send)


def find_refusal(scope: Scope, proxies: frozenset[str], has_token: bool) -> str:
    """Return why a request is refused, in one sentence, or an empty string."""
    headers = Headers(scope=scope)
    hosts, origins = headers.getlist("host"), headers.getlist("origin")
    if len(hosts) != 1 or len(origins) > 1:
        return "The request must have one Host header, and at most one Origin header."
    if not is_admitted_host(hosts[0], proxies, has_token):
        return (
            f"This dashboard does not answer to the name {shorten(hosts[0])}; open it at the address that it printed, "
            f"or, if this is the name of your proxy, start it with: mgem dashboard --host NAME"
        )
    if origins and not is_admitted_origin(origins[0], hosts[0], proxies):
        return (
            f"Pages of {shorten(origins[0])} cannot use this dashboard; if this is the address of your proxy, "
            f"start it with: mgem dashboard --host NAME"
        )
    client = scope.get("client")
    if not (has_token or proxies) and not (client and is_loopback(client[0])):
        return "Only browsers on the same computer can use this dashboard; others need: mgem dashboard --token --address"
    if "/_stcore/agent" in scope["path"]:
        return "This dashboard has no agent API."
    return ""


def is_admitted_host(value: str, proxies: frozenset[str], has_token: bool) -> bool:
    """Decide whether a Host header names this server.

    With a token, the server may listen on other interfaces, so all IP addresses are accepted. This is safe, because DNS
    rebinding needs a name.
    """
    host, _ = split_host(value, 0)
    if is_loopback(host) or host in proxies:
        return True
    return has_token and bool(parse_address(host) or host in computer_names())


def is_admitted_origin(origin: str, host: str, proxies: frozenset[str]) -> bool:
    """Decide whether a page belongs to this server: it has the host and port of the request, or the name of a proxy.

    A proxy may drop the port or replace the Host header, so for its name the port is not compared.
    """
    if not (match := ORIGIN.fullmatch(origin)):
        return False
    default_port = 443 if match[1] == "https" else 80
    name, port = split_host(match[2], default_port)
    return bool(name) and ((name, port) == split_host(host, default_port) or name in proxies)


def split_host(value: str, default_port: int) -> tuple[str, int]:
    """Split "[::1]:8501" into "::1" and 8501; the name is empty if the value is malformed."""
    match = HOST.fullmatch(value.lower())
    return (match[1].strip("[]"), int(match[2] or default_port)) if match else ("", 0)


def is_loopback(host: str) -> bool:
    address = parse_address(host)
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback if address else host == "localhost"


def parse_address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def computer_names() -> set[str]:
    """Return the names of this computer, without asking a name server."""
    name = socket.gethostname().lower()
    return {name, name.partition(".")[0]}


def shorten(value: str) -> str:
    """Return a header for a message: at most 100 characters, without control characters."""
    return "".join(character for character in value[:100] if character.isprintable())
