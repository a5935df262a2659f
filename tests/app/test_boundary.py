"""The network boundary, called like a server does: which requests reach the dashboard, and the response to others."""

import asyncio
import os
import resource
import socket
from urllib.parse import urlencode

import descriptors
import pytest
from boundary import guard_network
from descriptors import guard_descriptors, raise_descriptor_limit
from starlette.responses import PlainTextResponse
from token_gate import require_token

TOKEN = "a-token-that-nobody-guesses"
PROXY = frozenset({"lab.example.org"})


async def dashboard(scope, receive, send):
    """Act as the dashboard behind the boundary: answer every request with its path."""
    await PlainTextResponse(f"dashboard {scope['path']}")(scope, receive, send)


class Answer:
    def __init__(self, messages):
        start, *bodies = messages
        if start["type"] == "websocket.close":  # closed before it was accepted; servers answer with 403
            start = {"status": 403, "headers": []}
        self.status = start["status"]
        self.headers = {name.decode(): value.decode() for name, value in start["headers"]}
        self.text = b"".join(body.get("body", b"") for body in bodies).decode()

    @property
    def reached_dashboard(self):
        return self.text.startswith("dashboard ")

    @property
    def cookie(self):
        return self.headers["set-cookie"].partition(";")[0]


def call(app, target="/", method="GET", kind="http", client="127.0.0.1", body=b"", host="127.0.0.1:8501", **headers):
    """Send a request to an ASGI app. Headers are given as keywords; a header that is None is left out."""
    path, _, query = target.partition("?")
    headers = {"host": host, **headers}
    scope = {
        "type": kind,
        "scheme": "ws" if kind == "websocket" else "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [
            (name.replace("_", "-").encode(), value.encode()) for name, value in headers.items() if value is not None
        ],
        "client": (client, 50000) if client else None,
        "server": ("127.0.0.1", 8501),
        "extensions": {"websocket.http.response": {}},
    }
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return Answer(sent)


both_kinds = pytest.mark.parametrize("kind", ["http", "websocket"])


@both_kinds
@pytest.mark.parametrize("host", ["127.0.0.1:8501", "localhost:8501", "LOCALHOST", "localhost.", "[::1]:8501", "127.0.0.2"])
def test_requests_to_own_names_are_answered(kind, host):
    assert call(guard_network(dashboard), kind=kind, host=host, origin=f"http://{host}").reached_dashboard


@both_kinds
@pytest.mark.parametrize(
    "host", ["evil.test:8501", "127.0.0.1.evil.test", "localhost.evil.test", "192.168.1.5:8501", "a@localhost", "", None]
)
def test_dns_rebinding_is_refused_with_a_remedy(kind, host):
    answer = call(guard_network(dashboard), kind=kind, host=host, origin=host and f"http://{host}")
    assert answer.status == 403
    assert "mgem dashboard --host NAME" in answer.text or host is None or kind == "websocket"


@pytest.mark.parametrize(("kind", "method"), [("http", "GET"), ("http", "POST"), ("http", "PUT"), ("websocket", "GET")])
@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.test",
        "https://evil.test:8501",
        "http://127.0.0.1:9999",
        "http://localhost:8501",
        "http://127.0.0.1",
        "null",
    ],
)
def test_pages_of_other_origins_are_refused(kind, method, origin):
    answer = call(guard_network(dashboard), kind=kind, method=method, origin=origin)
    assert answer.status == 403
    assert origin in answer.text or kind == "websocket"


def test_default_ports_are_optional_in_host_and_origin():
    app = guard_network(dashboard, proxies=PROXY)
    assert call(app, host="localhost:80", origin="http://localhost").reached_dashboard
    assert call(app, host="lab.example.org", origin="https://lab.example.org:443").reached_dashboard


@both_kinds
def test_configured_proxy_name_is_answered(kind):
    request = {"kind": kind, "client": "10.1.2.3", "origin": "https://lab.example.org"}
    assert call(guard_network(dashboard, proxies=PROXY), host="lab.example.org", **request).reached_dashboard
    assert call(guard_network(dashboard, proxies=PROXY), host="127.0.0.1:8501", **request).reached_dashboard
    assert call(guard_network(dashboard), host="lab.example.org", **request).status == 403
    assert call(guard_network(dashboard, proxies=PROXY), kind=kind, host="a.lab.example.org").status == 403


@both_kinds
@pytest.mark.parametrize("client", ["192.168.1.7", "2001:db8::1", "::ffff:192.168.1.7", None])
def test_other_computers_are_refused_without_a_token(kind, client):
    answer = call(guard_network(dashboard), kind=kind, client=client)
    assert answer.status == 403
    assert "same computer" in answer.text or kind == "websocket"


@pytest.mark.parametrize("client", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_requests_from_this_computer_are_answered(client):
    assert call(guard_network(dashboard), client=client).reached_dashboard


@pytest.mark.parametrize("host", ["192.168.1.5:8501", "[2001:db8::1]:8501", socket.gethostname()])
def test_addresses_and_name_are_answered_with_a_token(host):
    app = guard_network(dashboard, has_token=True)
    assert call(app, host=host, client="192.168.1.7").reached_dashboard
    assert call(app, host="evil.test", client="192.168.1.7").status == 403


@pytest.mark.parametrize("path", ["/_stcore/agent/interact", "/_stcore/agent/mcp", "/prefix/_stcore/agent/openapi.json"])
def test_agent_api_is_always_off(path):
    assert call(guard_network(dashboard), path).text == "This dashboard has no agent API.\n"


@pytest.mark.parametrize("host", ["127.0.0.1:8501", "evil.test"])
def test_every_response_has_security_headers(host):
    headers = call(guard_network(dashboard), host=host).headers
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "http" not in headers["content-security-policy"]  # no other host
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


# The token


@pytest.fixture
def gated():
    return require_token(dashboard, token=TOKEN)


@pytest.mark.parametrize(
    "target", ["/", "/explore?sweep=s1", "/app/static/plotly.min.js", "/media/a.pdf", "/_stcore/host-config"]
)
def test_every_path_shows_the_token_page_without_cookie(gated, target):
    answer = call(gated, target)
    assert answer.status == 403
    assert 'type="password"' in answer.text
    assert 'role="alert"' not in answer.text
    assert "set-cookie" not in answer.headers


def test_websockets_and_uploads_are_refused_without_cookie(gated):
    assert call(gated, "/_stcore/stream", kind="websocket").status == 403
    assert call(gated, f"/_stcore/stream?token={TOKEN}", kind="websocket").status == 403
    assert call(gated, "/_stcore/upload_file/a/b", method="PUT").status == 403
    assert call(gated, "/_stcore/health").reached_dashboard


def test_token_in_the_url_sets_the_cookie_and_is_removed(gated):
    answer = call(gated, f"/explore?token={TOKEN}&sweep=s1&plots=Frontier&plots=Map")
    assert answer.status == 303
    assert answer.headers["location"] == "./explore?sweep=s1&plots=Frontier&plots=Map"
    attributes = answer.headers["set-cookie"].lower()
    assert all(name in attributes for name in ("mgem_token_8501=", "httponly", "samesite=lax", "max-age=", "path=/"))
    assert TOKEN not in answer.headers["set-cookie"]
    for kind in ("http", "websocket"):
        assert call(gated, "/explore", kind=kind, cookie=answer.cookie).reached_dashboard


def test_token_in_the_form_sets_the_cookie(gated):
    form = {"method": "POST", "content_type": "application/x-www-form-urlencoded"}
    answer = call(gated, "/runs?list=Sweeps", body=urlencode({"token": f" {TOKEN} "}).encode(), **form)
    assert (answer.status, answer.headers["location"]) == (303, "./runs?list=Sweeps")
    assert call(gated, cookie=answer.cookie).reached_dashboard


@pytest.mark.parametrize("wrong", ["wrong", "", "ü", TOKEN[:-1], "x" * 10_000])
def test_wrong_token_shows_an_error(gated, wrong):
    form = {"method": "POST", "content_type": "application/x-www-form-urlencoded"}
    body = urlencode({"token": wrong})
    for answer in (call(gated, f"/?{body}"), call(gated, body=body.encode(), **form)):
        assert answer.status == 403
        assert "This is not the token of this dashboard." in answer.text
        assert "set-cookie" not in answer.headers


def test_cookie_of_another_token_or_port_is_refused(gated):
    cookie = call(require_token(dashboard, token="another"), "/?token=another").cookie
    assert call(gated, cookie=cookie).status == 403
    right = call(gated, f"/?token={TOKEN}").cookie
    assert call(gated, cookie=right.replace("8501", "8502")).status == 403
    assert call(gated, cookie=f"mgem_token_8501={TOKEN}").status == 403


def test_redirect_stays_on_this_server(gated):
    for target in ("//evil.test", "//evil.test/a", "/\\evil.test", "/a//evil.test"):
        location = call(gated, f"{target}?token={TOKEN}").headers["location"]
        assert location.startswith("./")
        assert "\\" not in location


# File descriptors


def test_descriptor_shortage_refuses_only_new_pages(capsys):
    app = guard_descriptors(dashboard, lambda: "Too few are left.")
    assert call(app, kind="websocket").status == 403
    answer = call(app, accept="text/html,application/xhtml+xml")
    assert (answer.status, answer.text) == (503, "Too few are left.\n")
    assert answer.headers["connection"] == "close"
    assert call(app, "/media/plot.png", accept="*/*").reached_dashboard
    assert capsys.readouterr().err == "mgem: Too few are left.\n"  # printed once, not for every request


def test_nothing_is_refused_with_enough_descriptors():
    assert descriptors.descriptor_shortage() == ""
    assert call(guard_descriptors(dashboard), accept="text/html").reached_dashboard


def test_descriptor_shortage_is_detected_in_time_and_ends(monkeypatch):
    limit = len(os.listdir("/dev/fd")) * 2 + 64
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit, limit))
    opened = []
    try:
        while not (message := descriptors.descriptor_shortage()):
            opened.append(os.open(os.devnull, os.O_RDONLY))
        assert len(os.listdir("/dev/fd")) < limit * 0.9
        assert f"of {limit}" in message
        assert "ulimit -n 4096" in message
    finally:
        for descriptor in opened:
            os.close(descriptor)
    assert descriptors.descriptor_shortage() == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [((256, 4096), 4096), ((256, resource.RLIM_INFINITY), 8192), ((256, 256), None), ((20_000, 20_000), None)],
)
def test_descriptor_limit_is_raised(monkeypatch, before, after):
    calls = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: before)
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: calls.append(limits))
    raise_descriptor_limit()
    assert calls == ([(after, before[1])] if after else [])
