"""Measure the CPU time of the scripts of the dashboard's pages, without network and browser."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

APP = Path(__file__).parents[1] / "app"
PAGES: dict[str, tuple[str, dict[str, str]]] = {  # title → the page and its query
    "Explore": ("", {}),
    "Explore, a sweep of 216 runs": ("", {"sweep": "s5"}),
    "Explore, more figures of a sweep of 216 runs": ("", {"sweep": "s5", "more": "true"}),
    "Runs": ("runs", {}),
    "Runs, a search": ("runs", {"find": "p-mGEM finished"}),
    "Runs, one run": ("runs", {"runs": "r1"}),
    "Runs, three runs compared": ("runs", {"runs": "r1,r2,r3"}),
    "Runs, 500 runs compared": ("runs", {"runs": ",".join(f"r{run}" for run in range(9000, 9500))}),
    "Runs, the list of sweeps": ("runs", {"list": "Sweeps", "sweep": "s5"}),
    "Paper": ("paper", {}),
    "Geometry": ("geometry", {}),
}


def _open(home: Path, name: str, query: dict[str, str]) -> AppTest:
    """Return a page in a new session that has not run yet."""
    os.environ["MGEM_HOME"] = str(home)
    # A server searches all installed packages for components once; AppTest does so in every new session.
    manifest_scanner.scan_component_manifests = lambda *arguments, **options: []
    if str(APP) not in sys.path:
        sys.path.insert(0, str(APP))
    page = AppTest.from_file(str(APP / "dashboard.py"), default_timeout=60)
    page._page_hash = calc_hash(name)  # the hash of its URL; AppTest.switch_page works only after the first run
    page.query_params.update(query)
    return page


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def rerun_seconds(home: Path) -> float:
    """Return the median seconds of a rerun of Explore with other axes of its other figures."""
    page = _open(home, "", {"more": "true"}).run()
    times = [_seconds(page.button_group(key="axes").set_value(axes).run) for axes in ("raw", "cosine") * 4]
    assert not page.exception
    return median(times)


def time_pages(home: Path) -> dict[str, tuple[float, float]]:
    """Return for each title of PAGES the seconds of the first run in a new session and the median seconds of reruns."""
    _open(home, "", {"more": "true"}).run()  # a first run imports everything
    times = {}
    for title, (name, query) in PAGES.items():
        page = _open(home, name, query)
        first, again = _seconds(page.run), [_seconds(page.run) for _ in range(5)]
        assert not page.exception
        times[title] = first, median(again)
    return times
