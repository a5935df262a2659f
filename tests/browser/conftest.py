"""A real server over a store of its own, and a real Chromium."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import chaos
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

from mgem_core.events import Event, Finished, Probed, Stepped, TaskLearned
from mgem_core.metrics import acc_fwd_bwd
from mgem_core.store import Store

ROOT = Path(__file__).parents[2]
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
        os.kill(process, signal.SIGKILL)


@pytest.fixture(scope="module")
def server(home):
    """The dashboard's address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "MGEM_HOME": str(home), "MGEM_DATA": str(home / "no-data")}
    command = [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
    context.set_default_timeout(20_000)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert not errors
    assert page.get_by_text("encountered an error").count() == 0
    context.close()


def opened(page: Page, address: str) -> Page:
    """A page that is there."""
    page.goto(address)
    page.wait_for_selector("[data-testid=stApp][data-test-connection-state=CONNECTED]")
    page.locator("[data-testid=stMain] button:visible, [data-testid=stMain] label:visible").first.wait_for()
    return page


def press(page: Page, name: str) -> None:
    """Press a button on a page that stands still: nobody is as quick as a script."""
    button = page.get_by_role("button", name=name, exact=True)
    button.wait_for()
    page.wait_for_timeout(700)
    button.click()


def serious_faults(page: Page) -> list[tuple[str, list[str]]]:
    """What axe-core finds that shuts people out."""
    found = Axe().run(page).response["violations"]
    grave = ("serious", "critical")
    return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found if one["impact"] in grave]


def finish(store: Store, run: int) -> None:
    """A run's whole life, without training."""
    rng = np.random.default_rng(run)
    R = 70 + 10 * rng.random((3, 3))
    for task in range(3):
        events: list[Event] = [Stepped(task, step, 1 / step, 0.2, 0.001, 0) for step in (10, 20, 30, 40, 50)]
        events += [Probed(task, 10, rng.random(task), rng.random(task), 1.0, 1.0, np.ones(task), 1.0)] if task else []
        store.record([(run, event) for event in (*events, TaskLearned(task, R[task], task + 1.0))])
    acc, fwd, bwd = acc_fwd_bwd(R)
    store.record([(run, Finished("finished", "", R, acc, fwd, bwd, 3.0, 0.01, f"{run}"))])
