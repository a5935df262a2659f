"""The pages of the dashboard, run by Streamlit's AppTest without a browser."""

import json
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

MAIN = Path(__file__).parents[2] / "app" / "dashboard.py"
PAGES = ("explore", "runs", "paper")  # pages that need a store; Geometry does not


def open_page(name: str = "explore", **query: str | list[str]) -> AppTest:
    """Open a page by a link with this query."""
    app = AppTest.from_file(
        str(MAIN), default_timeout=60
    )  # seconds; a busy machine may take ten times as long as a quiet one
    # By its URL, like a browser: AppTest.switch_page finds a page by its file, and only after the first run.
    app._page_hash = calc_hash("" if name == PAGES[0] else name)
    app.query_params.update(query)
    return app.run()


def run_page(app: AppTest) -> AppTest:
    """Run a page again and check that it does not fail."""
    app.run()
    assert not app.exception
    return app


def texts(app: AppTest) -> str:
    """Return all text on a page."""
    kinds = (app.title, app.subheader, app.markdown, app.caption, app.info, app.warning, app.error)
    return " ".join(one.value for kind in kinds for one in kind)


def tables(app: AppTest) -> str:
    """Return the data of all tables on a page."""
    return " ".join(str(one.proto) for one in app.get("bidi_component") if one.proto.component_name == "table")


def workbench(app: AppTest) -> dict[str, Any]:
    """Return the data that the page sends to the workbench."""
    [found] = [one for one in app.get("bidi_component") if one.proto.component_name == "workbench"]
    data: dict[str, Any] = json.loads(found.proto.json)
    return data


def offered_action(app: AppTest) -> str:
    """Return the title of the button above the workbench that stops or resumes runs; empty if there is none."""
    return (workbench(app)["bar"]["action"] or {"title": ""})["title"]
