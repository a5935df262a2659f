"""Who may connect to the dashboard."""

import os
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest
from served import free_port, served

from mgem_core.doctor import access
from mgem_core.doctor.access import Dashboard, check_access, find_dashboards, is_dashboard, read_address

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    tmp_path.chmod(0o700)
    return tmp_path


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads the table of sockets in /proc")
@pytest.mark.parametrize("options", [[], ["--token", "--address", "0.0.0.0", "--host", "lab.example.org"]])
def test_running_dashboards_are_found(options, tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", port, *options]
    with served(command, port, tmp_path, PYTHONPATH=str(ROOT)) as process:
        (found,) = [one for one in find_dashboards() if one.process == process.pid]
    if options:
        assert found == (process.pid, "0.0.0.0", port, True, ["lab.example.org"])
    else:
        assert found == (process.pid, "127.0.0.1", port, False, [])
    assert process.pid not in {one.process for one in find_dashboards()}


@pytest.mark.parametrize(
    ("address", "has_token", "hosts", "who", "level"),
    [
        ("127.0.0.1", False, [], "all users of this computer, and no other computer", "ok"),
        ("0.0.0.0", False, [], "all users of this computer, and no other computer", "advice"),
        ("::1", True, [], "browsers with the token, on this computer", "ok"),
        ("0.0.0.0", True, [], "browsers with the token, also on other computers", "advice"),
        ("127.0.0.1", False, ["lab.example.org"], "everyone who can use the proxy lab.example.org", "advice"),
        ("127.0.0.1", True, ["lab.example.org"], "browsers with the token, also on other computers", "ok"),
    ],
)
def test_it_is_said_who_may_connect(address, has_token, hosts, who, level, monkeypatch):
    monkeypatch.setattr(access, "find_dashboards", lambda: [Dashboard(1, address, 8501, has_token, hosts)])
    (check,) = check_access()
    shown = f"[{address}]" if ip_address(address).version == 6 else address
    assert (check.finding, check.level) == (f"the dashboard on {shown}:8501 (process 1) answers {who}", level)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of files")
def test_files_that_others_can_use_are_noticed(home, monkeypatch):
    monkeypatch.setattr(access, "find_dashboards", list)
    token = home / "dashboard-token"
    token.write_text("secret")
    token.chmod(0o600)
    assert [check.level for check in check_access()] == ["ok"]
    token.chmod(0o644)
    home.chmod(0o777)
    _, about_token, about_folder = check_access()
    assert about_token.finding == f"other users can read the token in {token}"
    assert about_folder.advice.startswith(f"chmod go-w {home}")
    assert not any("secret" in text for check in check_access() for text in (check.finding, check.advice))


def test_only_dashboards_are_recognised():
    assert is_dashboard(["/usr/bin/python", "/home/me/.venv/bin/mgem", "dashboard", "--port", "1"])
    assert is_dashboard(["python", "-m", "streamlit", "run", "/somewhere/app/main.py"])
    assert not is_dashboard(["python", "-m", "mgem_core", "work"])
    assert not is_dashboard(["ray", "dashboard"])
    assert not is_dashboard(["vi", "app/main.py"])


@pytest.mark.skipif(sys.byteorder != "little", reason="the example is of a little-endian machine")
def test_addresses_of_the_kernel_are_read():
    assert read_address("0100007F:2135") == ("127.0.0.1", 8501)
    assert read_address("00000000000000000000000001000000:0050") == ("::1", 80)
    assert read_address("0000000000000000FFFF00000100007F:0050") == ("::ffff:127.0.0.1", 80)
