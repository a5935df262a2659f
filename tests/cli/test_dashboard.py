"""`mgem dashboard`, and where the dashboard listens, however it is started."""

import signal
import socket
import sys
from pathlib import Path

import pytest
from served import free_port, listening_addresses, read, served

from mgem_core.cli import main
from mgem_core.cli.dashboard import find_main_page

ROOT = Path(__file__).parents[2]
needs_linux = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads the table of sockets in /proc")


@pytest.fixture
def elsewhere(tmp_path):
    """A folder with settings of its own for Streamlit, which open another project to everybody."""
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text('[server]\naddress = "0.0.0.0"\n')
    return tmp_path


@needs_linux
@pytest.mark.parametrize("start", ["mgem dashboard", "streamlit run"])
def test_started_from_another_folder_it_listens_on_this_computer_alone(start, elsewhere):
    port = free_port()
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", port]
    if start == "streamlit run":
        command = [sys.executable, "-m", "streamlit", "run", ROOT / "app" / "main.py", "--server.port", port]
    with served(command, port, elsewhere, PYTHONPATH=str(ROOT)):
        assert listening_addresses(port) == {"127.0.0.1"}
        assert b"plotly" in read(port, "app/static/README.md")  # files of app/static are served


@needs_linux
def test_the_command_listens_on_this_computer_alone_whatever_the_environment_says(elsewhere):
    port = free_port()
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", port]
    with served(command, port, elsewhere, PYTHONPATH=str(ROOT), STREAMLIT_SERVER_ADDRESS="0.0.0.0"):
        assert listening_addresses(port) == {"127.0.0.1"}


def test_it_prints_its_address_and_an_interrupt_ends_it_without_a_message(tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", port]
    with served(command, port, tmp_path, PYTHONPATH=str(ROOT)) as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert out.startswith(f"The dashboard is at http://127.0.0.1:{port} ")
    assert err == ""
    assert process.returncode == 0


def test_a_port_in_use_is_one_sentence(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["dashboard", "--port", str(port)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"mgem: port is {port}, but it is in use; choose another one with --port N.\n"


@pytest.mark.parametrize("port", ["0", "-1", "65536", "http"])
def test_a_wrong_port_is_one_sentence(port, capsys):
    try:
        code = main(["dashboard", "--port", port])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert port in err


def test_a_missing_app_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("mgem_core.cli.dashboard.__file__", str(tmp_path / "mgem_core" / "cli" / "dashboard.py"))
    assert main(["dashboard"]) == 2
    assert capsys.readouterr().err.startswith("mgem: the dashboard is not installed:")


def test_beside_an_installed_core_the_app_of_another_project_is_not_taken(tmp_path):
    for folder in ("app", "mgem_app"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "main.py").touch()
    assert find_main_page(tmp_path) == tmp_path / "mgem_app" / "main.py"
    assert find_main_page(ROOT) == ROOT / "app" / "main.py"
