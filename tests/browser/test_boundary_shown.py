"""What Chromium shows to an attacker at the network boundary, and to someone with and without the token."""

import contextlib
import os
import shutil
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from filled_store import filled_store
from people import check_accessibility, open_address, wait_until_still
from served import free_port, read, served
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

ROOT = Path(__file__).parents[2]
PAGES = ("", "explore?sweep=s1", "runs?runs=r1,r2", "paper", "geometry")
ATTACK = """async (address) => {
    const socket = await new Promise((done) => {
        const socket = new WebSocket(address.replace('http', 'ws') + '/_stcore/stream', ['streamlit']);
        socket.onopen = () => done('open');
        socket.onerror = () => done('refused');
    });
    const status = (path, options) => fetch(address + path, options).then((answer) => answer.status, () => 'blocked');
    const upload = {method: 'PUT', body: 'x'};
    return [socket, await status('/_stcore/host-config'), await status('/_stcore/upload_file/a/b', upload)];
}"""
HOSTILE = """
[server]
enableCORS = false
enableXsrfProtection = false
corsAllowedOrigins = ["http://evil.test"]
[browser]
gatherUsageStats = true
[client]
allowedOrigins = ["http://evil.test"]
[theme]
font = "Evil:https://fonts.evil.test/evil.css"
"""

pytestmark = pytest.mark.slow


def dashboard(*options):
    return [sys.executable, "-m", "mgem_core", "dashboard", *options]


@pytest.fixture(scope="module")
def filled(home):
    filled_store(home / "runs.db")


@pytest.fixture(scope="module")
def deceived(browser):
    """A Chromium for which evil.test is this computer, as after DNS rebinding."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    args = ["--no-sandbox", "--disable-background-networking", "--host-resolver-rules=MAP evil.test 127.0.0.1"]
    args += ["--disable-features=LocalNetworkAccessChecks"]  # other browsers have no such checks
    other = browser.browser_type.launch(executable_path=chromium, args=args)
    yield other
    other.close()


@pytest.fixture
def neighbour():
    """The port of another web server on this computer, whose page frames the URL in its query."""

    class Frame(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(f"<title>Neighbour</title><iframe src='{self.path.partition('?')[2]}'></iframe>".encode())

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Frame) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_dns_rebinding_is_refused(server, deceived):
    page = deceived.new_page()
    rebound = server.replace("127.0.0.1", "evil.test")
    assert page.goto(rebound).status == 403
    assert page.inner_text("body").startswith("This dashboard does not answer to the name evil.test:")
    # The page of the attack came from the attacker; then its name was bound to this computer.
    page.route("**/attack", lambda route: route.fulfill(body="<title>Attack</title>", content_type="text/html"))
    page.goto(f"{rebound}/attack")
    assert page.evaluate(ATTACK, rebound) == ["refused", 403, 403]
    page.close()


@pytest.mark.parametrize("host", ["evil.test", "127.0.0.1"])
def test_other_origins_can_neither_connect_nor_frame_the_dashboard(server, deceived, neighbour, host):
    page = deceived.new_page()
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(f"http://{host}:{neighbour}/?{server}/explore")
    assert page.evaluate(ATTACK, server) == ["refused", "blocked", "blocked"]
    assert page.frames[1].url == "chrome-error://chromewebdata/"
    assert any("frame-ancestors 'self'" in message for message in messages)
    page.close()


def test_content_security_policy_and_no_external_or_failed_requests(server, filled, page):
    violations, outside, failed = [], [], []
    page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
    page.on(
        "console", lambda message: violations.append(message.text) if "Content Security Policy" in message.text else None
    )
    page.on("request", lambda request: outside.append(request.url) if is_outside(request.url, server) else None)
    page.on("websocket", lambda socket: outside.append(socket.url) if urlsplit(socket.url).netloc != server[7:] else None)
    for path in PAGES:
        wait_until_still(open_address(page, f"{server}/{path}"))
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as SVG", exact=True).click()
    assert download.value.path().stat().st_size
    open_address(page, f"{server}/explore?sweep=s1")
    page.get_by_role("button", name="Export").click()
    wait_until_still(page)
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("button", name="PDF", exact=True).click()
    assert download.value.path().stat().st_size
    assert not violations
    assert not outside
    assert not failed


def is_outside(url, server):
    return not url.startswith((f"{server}/", "data:", "blob:"))


def test_hostile_streamlit_settings_are_ignored(tmp_path, deceived, neighbour):
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text(HOSTILE)
    port = free_port()
    own = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "streamlit", "run", ROOT / "app" / "main.py", "--server.port", port]
    with served(command, port, tmp_path, PYTHONPATH=str(ROOT)):
        page = deceived.new_page()
        answered = []
        page.on("response", lambda answer: answered.append(answer.url))
        page.goto(f"http://evil.test:{neighbour}/?{own}")
        assert page.evaluate(ATTACK, own) == ["refused", "blocked", "blocked"]
        answered.clear()
        open_address(page, own)
        assert not [url for url in answered if is_outside(url, own)]
        page.close()


def test_dashboard_script_refuses_to_run_without_the_boundary(tmp_path, page):
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", ROOT / "app" / "dashboard.py", "--server.port", port]
    with served(command, port, tmp_path, PYTHONPATH=str(ROOT)):
        page.goto(f"http://127.0.0.1:{port}/runs")
        page.get_by_text("Start the dashboard with mgem dashboard").wait_for()


def test_token_is_asked_for_once_per_browser_and_is_in_no_link(tmp_path, browser):
    port = free_port()
    with served(dashboard("--port", port, "--token"), port, tmp_path, PYTHONPATH=str(ROOT)) as process:
        token = process.stdout.readline().partition("?token=")[2].split()[0]
        own = f"http://127.0.0.1:{port}"

        with contextlib.closing(browser.new_context()) as stranger:
            page = stranger.new_page()
            assert page.goto(f"{own}/explore").status == 403
            check_accessibility(page)
            page.get_by_label("Token").fill("wrong")
            page.get_by_role("button", name="Open the dashboard").click()
            page.get_by_role("alert").get_by_text("This is not the token of this dashboard.").wait_for()
            check_accessibility(page)
            assert page.evaluate(ATTACK, own) == ["refused", 403, 403]
            page.get_by_label("Token").fill(token)
            page.get_by_role("button", name="Open the dashboard").click()
            page.get_by_role("button", name="Launch").wait_for()
            assert page.url.partition("?")[0] == f"{own}/"  # to which /explore redirects

        with contextlib.closing(browser.new_context()) as owner:
            page = open_address(owner.new_page(), f"{own}/?token={token}&of=example")
            assert token not in page.url
            assert page.url.startswith(f"{own}/?of=example")
            (cookie,) = (cookie for cookie in owner.cookies() if cookie["name"] == f"mgem_token_{port}")
            assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
            assert token not in cookie["value"]
            assert cookie["expires"] > time.time() + 300 * 24 * 3600
            open_address(owner.new_page(), f"{own}/explore")  # a link without the token
            state = owner.storage_state()

    with (
        served(dashboard("--port", port, "--token"), port, tmp_path, PYTHONPATH=str(ROOT)),
        contextlib.closing(browser.new_context(storage_state=state)) as owner,
    ):
        open_address(owner.new_page(), f"{own}/explore")  # after a restart as well


def load_page(port: int) -> None:
    """Load a page as a browser does that leaves it at once: a session starts and runs the script."""
    headers = {"Origin": f"http://127.0.0.1:{port}"}
    with connect(f"ws://127.0.0.1:{port}/_stcore/stream", additional_headers=headers, max_size=None) as websocket:
        websocket.send(BackMsg(rerun_script=ClientState(query_string="sweep=s1")).SerializeToString())
        websocket.recv(timeout=30)


def test_server_survives_a_shortage_of_file_descriptors(home, filled, page):
    port = free_port()
    start = ["bash", "-c", 'ulimit -n 256; exec "$@"', "bash", *dashboard("--port", port)]
    with served(start, port, home, PYTHONPATH=str(ROOT)) as process:
        for _ in range(120):
            with contextlib.suppress(InvalidStatus):  # refused, because too few are left
                load_page(port)
        assert process.poll() is None
        assert len(os.listdir(f"/proc/{process.pid}/fd")) < 256
        for _ in range(30):  # connections that are idle are closed after some seconds
            if page.goto(f"http://127.0.0.1:{port}/runs").status == 200:
                break
            assert "file descriptors" in page.inner_text("body")
            time.sleep(2)
        open_address(page, f"http://127.0.0.1:{port}/runs")
        assert read(port, "_stcore/health") == b"ok"
