"""A built wheel contains the whole project, and its dashboard starts."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from served import free_port, listening_addresses, read, served

ROOT = Path(__file__).parents[1]
KINDS = {".py", ".js", ".css", ".svg", ".toml", ".md", ".jsonl", ".lens"}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Copy the sources of the wheel, because building leaves files next to them; add plotly.js as a dashboard copies it."""
    source = tmp_path_factory.mktemp("source")
    for folder in ("app", "mgem_core"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    (source / "app" / "static" / "plotly.min.js").touch()
    return source


@pytest.fixture(scope="module")
def unpacked(source, tmp_path_factory):
    """Return a folder with the files of the wheel, laid out as in an installation."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", source, *options, "-w", folder], check=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "unpacked")
    return folder / "unpacked"


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in KINDS}


def test_wheel_contains_exactly_core_and_app(source, unpacked):
    assert files(unpacked / "mgem_core") == files(source / "mgem_core")
    app = files(source / "app")
    assert {".streamlit/config.toml", "main.py", "dashboard.py", "logo.svg"} <= app
    assert files(unpacked / "mgem_app") == app - {"static/plotly.min.js"}
    top = {path.name for path in unpacked.iterdir() if path.suffix != ".dist-info"}
    assert top == {"mgem_core", "mgem_app"}


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads the table of sockets in /proc")
def test_dashboard_of_the_wheel_starts_from_any_folder(unpacked, tmp_path):
    (unpacked / "mgem_app" / "static" / "note.txt").write_text("from the wheel")
    port = free_port()
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", port]
    with served(command, port, tmp_path, PYTHONPATH=str(unpacked)):
        assert listening_addresses(port) == {"127.0.0.1"}
        assert read(port, "app/static/note.txt") == b"from the wheel"
