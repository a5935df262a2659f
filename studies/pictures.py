"""Take the screenshots that README.md and docs/ show: `make pictures`, or `python -m studies.pictures`.

It trains the sweep quick-look in a temporary folder, serves the dashboard from there and opens it in the system's Chromium.
With `--comparisons` it also trains the three sweeps of docs/comparisons.md, 648 runs, and takes their pictures.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from mgem_core.config.sweeps import SweepSpec
from mgem_core.paper.presets import PRESETS, SHORT, STRENGTHS
from mgem_core.paper.tables import VALIDATION
from mgem_core.restriction.restriction import CONVENTIONS
from mgem_core.runner.local import LocalPool
from mgem_core.runner.runner import Runner
from mgem_core.runner.work import default_workers
from mgem_core.store import Store

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
VIEWPORT = {"width": 1280, "height": 800}
PATIENCE = 120_000  # milliseconds
ARGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
IS_STILL = """() => document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]')
    && !document.querySelector('[data-stale=true]')
    && [...document.querySelectorAll('.plot')].every((plot) => plot._fullLayout)
"""
FIGURES = ".plot"  # more figures of trained runs, at the bottom of Explore


class Shot(NamedTuple):
    name: str  # of the file
    address: str  # on the dashboard
    top: str = ""  # a selector: scroll until this is at the top
    press: Sequence[str] = ()  # buttons, before the picture is taken


PAGES = (
    Shot("explore.png", "/?of=example"),
    Shot("runs.png", "/runs?runs=r1,r5,r11", "[data-testid=stHeading] h3"),
    Shot("paper.png", "/paper", "[data-testid=stHeading]"),
    Shot("geometry.png", "/geometry", ".geometry"),
)


def comparisons() -> dict[str, SweepSpec]:
    """The sweeps of docs/comparisons.md, by the names of their pictures."""
    base = {**SHORT, "validation": VALIDATION}
    grid = {"splits": [1, 2, 6], "strength": STRENGTHS, "seed": list(range(12))}
    every_step, on_conflict = CONVENTIONS["equal-length"].fields, CONVENTIONS["on-conflict"].fields
    modules = PRESETS["modules-against-strength"].spec
    return {
        "modules-always.png": SweepSpec(base={**modules.base, **every_step}, grid=modules.grid),
        "splits-always.png": SweepSpec(base={**base, **every_step}, grid=grid),
        "splits-violation.png": SweepSpec(base={**base, **on_conflict}, grid=grid),
    }


def train(path: Path, spec: SweepSpec, name: str) -> int:
    """Train the runs of a sweep that the store lacks; return its id."""
    store = Store(path)
    sweep = store.submit(spec, name)
    pool = LocalPool(default_workers())
    outcome = Runner(store, pool).work(idle_seconds=0)
    pool.close()
    store.close()
    if outcome != "idle":
        raise SystemExit(f"the store or the code is {outcome}; start again.")
    return sweep


@contextmanager
def dashboard(home: Path) -> Iterator[str]:
    """Serve the dashboard over a store; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "MGEM_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", str(port)]
    process = subprocess.Popen(command, cwd=home, env=environment, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.25)
        yield address
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def browser_page() -> Iterator[Page]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        raise SystemExit("Chromium is missing; install it with: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGS.split())
        context = browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE)
        yield context.new_page()
        browser.close()


def take(page: Page, address: str, shot: Shot) -> None:
    """Open a page of the dashboard, wait until all is drawn, and save what the window shows."""
    page.goto(f"{address}{shot.address}")
    page.wait_for_selector("[data-testid=stApp][data-test-connection-state=CONNECTED]")
    page.locator("[data-testid=stMain] button:visible, [data-testid=stMain] label:visible").first.wait_for()
    if shot.top:
        page.locator(shot.top).first.wait_for()
    page.wait_for_function(IS_STILL)
    for name in shot.press:
        page.get_by_role("button", name=name, exact=True).click()
    if shot.top:
        page.locator(shot.top).first.evaluate("(one) => { one.style.scrollMarginTop = '70px'; one.scrollIntoView(); }")
    page.mouse.move(1279, 799)  # so that nothing is highlighted
    page.wait_for_timeout(3000)  # animations, and what is drawn later than the rest
    page.screenshot(path=DOCS / shot.name)
    print(f"docs/{shot.name}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", action="store_true", help="also the pictures of docs/comparisons.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mgem-pictures-") as folder:
        home = Path(folder)
        os.environ["MGEM_HOME"] = folder
        train(home / "runs.db", PRESETS["quick-look"].spec, "quick-look")
        shots = [*PAGES]
        for name, spec in comparisons().items() if options.comparisons else ():
            sweep = train(home / "runs.db", spec, name.removesuffix(".png"))
            query = {"sweep": f"s{sweep}", "plots": ["Frontier", "Map"]}
            shots.append(Shot(name, f"/?{urlencode(query, doseq=True)}", FIGURES))
        with dashboard(home) as address, browser_page() as page:
            for shot in shots:
                take(page, address, shot)


if __name__ == "__main__":
    main()
