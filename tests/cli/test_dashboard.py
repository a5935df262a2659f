"""`mgem dashboard`, and the addresses on which the dashboard listens, however it is started."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from served import free_port, listening_addresses, read, served

from mgem_core.cli import main
from mgem_core.cli._token import read_token
from mgem_core.cli.dashboard import find_main_page

ROOT = Path(__file__).parents[2]
HOSTILE = """
[server]
address = "0.0.0.0"
enableCORS = false
enableXsrfProtection = false
corsAllowedOrigins = ["http://evil.test"]
enableAgentApi = true
maxUploadSize = 5000
baseUrlPath = "evil"
scriptHealthCheckEnabled = true
[browser]
gatherUsageStats = true
serverAddress = "evil.test"
[client]
showErrorDetails = "full"
allowedOrigins = ["https://evil.test"]
[global]
developmentMode = true
"""
READ_SETTINGS = """
import json, sys
from streamlit import config
config._main_script_path = sys.argv[1]
config.get_config_options(force_reparse=True)
print(json.dumps({name: config.get_option(name) for name in sys.argv[2:]}))
"""
needs_linux = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads the table of sockets in /proc")


@pytest.fixture
def elsewhere(tmp_path):
    """A folder with settings for Streamlit that would open the dashboard to everyone."""
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text(HOSTILE)
    return tmp_path


@needs_linux
@pytest.mark.parametrize("start", ["mgem dashboard", "streamlit run"])
def test_listens_on_localhost_from_any_folder(start, elsewhere):
    port = free_port()
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", port]
    if start == "streamlit run":
        command = [sys.executable, "-m", "streamlit", "run", ROOT / "app" / "main.py", "--server.port", port]
    with served(command, port, elsewhere, PYTHONPATH=str(ROOT)):
        assert listening_addresses(port) == {"127.0.0.1"}
        assert b"plotly" in read(port, "app/static/README.md")  # files of app/static are served
        assert status(port, "_stcore/agent/openapi.json") == 403
        assert status(port, "_stcore/host-config", host="evil.test") == 403
        assert status(port, "_stcore/host-config", origin="http://evil.test") == 403
        assert json.loads(read(port, "_stcore/host-config"))["allowedOrigins"] == []


def status(port, path, **headers):
    """Return the status of the response to a request with these headers."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize("place", ["current folder", "home folder"])
def test_settings_of_other_folders_are_ignored(place, elsewhere):
    expected = {
        "server.address": "127.0.0.1",
        "server.enableCORS": True,
        "server.enableXsrfProtection": True,
        "server.corsAllowedOrigins": [],
        "server.enableAgentApi": False,
        "server.maxUploadSize": 50,
        "server.baseUrlPath": "",
        "server.scriptHealthCheckEnabled": False,
        "browser.gatherUsageStats": False,
        "browser.serverAddress": "localhost",
        "client.showErrorDetails": "none",
        "client.allowedOrigins": [],
        "global.developmentMode": False,
    }
    command = [sys.executable, "-c", READ_SETTINGS, str(ROOT / "app" / "main.py"), *expected]
    if place == "home folder":
        options = {"env": {**os.environ, "HOME": str(elsewhere), "USERPROFILE": str(elsewhere)}}
    else:
        options = {"cwd": elsewhere}
    done = subprocess.run(command, capture_output=True, text=True, check=True, **options)
    assert json.loads(done.stdout) == expected


@needs_linux
def test_listens_on_localhost_despite_environment_variables(elsewhere):
    port = free_port()
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", port]
    environment = {"STREAMLIT_SERVER_ADDRESS": "0.0.0.0", "STREAMLIT_SERVER_BASE_URL_PATH": "evil"}
    with served(command, port, elsewhere, PYTHONPATH=str(ROOT), **environment):
        assert listening_addresses(port) == {"127.0.0.1"}


@needs_linux
def test_token_allows_all_addresses_and_stays_secret(tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", port, "--token", "--address", "0.0.0.0"]
    with served(command, port, tmp_path, PYTHONPATH=str(ROOT)) as process:
        assert listening_addresses(port) == {"0.0.0.0"}
        token = (tmp_path / "dashboard-token").read_text().strip()
        assert f"http://{socket.gethostname()}:{port}/?token={token} " in process.stdout.readline()
        proc = Path("/proc") / str(process.pid)
        assert token.encode() not in (proc / "cmdline").read_bytes() + (proc / "environ").read_bytes()
        assert status(port, "") == 403
        assert status(port, "", host=f"192.168.1.5:{port}") == 403  # the token page, not a refused host name
        assert status(port, f"?token={token}x") == 403
        assert b"plotly" in read(port, f"app/static/README.md?token={token}", keep_cookies=True)


def test_token_is_stable_and_private(tmp_path):
    token = read_token(tmp_path / "home")
    file = tmp_path / "home" / "dashboard-token"
    assert re.fullmatch(r"[\w-]{43}", token)
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_token(tmp_path / "home") == token


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of files")
def test_exposed_token_is_replaced(tmp_path):
    token = read_token(tmp_path)
    file = tmp_path / "dashboard-token"
    file.chmod(0o644)
    assert (renewed := read_token(tmp_path)) != token
    assert file.stat().st_mode & 0o777 == 0o600
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert read_token(tmp_path) != renewed
    assert not file.is_symlink()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--address", "0.0.0.0"],
            "mgem: address is 0.0.0.0, where other computers can reach the dashboard; add --token, ",
        ),
        (["--address", "::"], "mgem: address is ::, where other computers can reach the dashboard; add --token, "),
        (
            ["--address", "lab", "--token"],
            'mgem: address is "lab"; it must be an IP address, such as 127.0.0.1 or 0.0.0.0.',
        ),
        (["--address", "192.0.2.1", "--token"], "mgem: address is 192.0.2.1, but this computer does not have it; "),
        (["--host", "https://lab.example.org"], 'mgem: host is "https://lab.example.org"; it must be the name of a proxy '),
        (["--host", "lab.example.org:443"], 'mgem: host is "lab.example.org:443"; it must be the name of a proxy '),
        (["--host", "*"], 'mgem: host is "*"; it must be the name of a proxy '),
        (["--host", ""], 'mgem: host is ""; it must be the name of a proxy '),
    ],
)
def test_invalid_address_or_host_is_rejected(options, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    assert main(["dashboard", *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(sentence)
    assert not list(tmp_path.iterdir())


def test_prints_its_address_and_ends_quietly_on_interrupt(tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", port]
    with served(command, port, tmp_path, PYTHONPATH=str(ROOT)) as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert out.startswith(f"The dashboard is at http://127.0.0.1:{port} ")
    assert err == ""
    assert process.returncode == 0


def test_port_in_use_is_reported(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["dashboard", "--port", str(port)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"mgem: port is {port}, but it is in use; choose another one with --port N.\n"


@pytest.mark.parametrize("port", ["0", "-1", "65536", "http"])
def test_invalid_port_is_rejected(port, capsys):
    try:
        code = main(["dashboard", "--port", port])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert port in err


def test_missing_app_is_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("mgem_core.cli.dashboard.__file__", str(tmp_path / "mgem_core" / "cli" / "dashboard.py"))
    assert main(["dashboard"]) == 2
    assert capsys.readouterr().err.startswith("mgem: the dashboard is not installed:")


def test_app_of_another_project_is_not_used(tmp_path):
    for folder in ("app", "mgem_app"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "main.py").touch()
    assert find_main_page(tmp_path) == tmp_path / "mgem_app" / "main.py"
    assert find_main_page(ROOT) == ROOT / "app" / "main.py"
