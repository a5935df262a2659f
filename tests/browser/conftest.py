"""A real server over a store of its own, and a real Chromium."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import chaos
import pytest
from playwright.sync_api import expect, sync_playwright
from served import free_port

ROOT = Path(__file__).parents[2]
PATIENCE = 60_000  # milliseconds for what a page must show; a busy machine may take ten times as long as a quiet one
expect.set_options(timeout=PATIENCE)
ARGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture(scope="session")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert chromium, "install Debian's chromium, as .ci/run does"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGS.split())
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home whose processes are gone when the tests of a module are over."""
    home = tmp_path_factory.mktemp("home")
    yield home
    for process in chaos.processes(home):
        with contextlib.suppress(ProcessLookupError):  # it has ended since
            os.kill(process, signal.SIGKILL)


@pytest.fixture(scope="module")
def server(home):
    """The dashboard's address."""
    port = free_port()
    environment = {**os.environ, "MGEM_HOME": str(home), "MGEM_DATA": str(home / "no-data"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", str(port)]
    process = subprocess.Popen(command, cwd=home, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(120):
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
            break
        except OSError:
            time.sleep(0.25)
    yield address
    process.terminate()
    process.wait(10)


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 1250}, accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(f"{error} {error.stack}"))
    yield page
    assert not errors
    assert page.get_by_text("encountered an error").count() == 0
    context.close()
