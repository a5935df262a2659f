"""The dashboard as it is installed for all users: started from any folder, in a place that cannot be written."""

import shutil
import sys
from pathlib import Path

import pytest
from filled_store import filled_store
from served import free_port, served

ROOT = Path(__file__).parents[2]
POINTS = (
    "(document.querySelector('.plot')?._fullData ?? []).reduce((sum, trace) => sum + (trace.customdata?.length ?? 0), 0)"
)

pytestmark = pytest.mark.slow


@pytest.fixture
def sealed(tmp_path):
    """A copy of the project in which plotly.js cannot be stored; a file in the folder's place stops the superuser, too."""
    for folder, name in (("app", "mgem_app"), ("mgem_core", "mgem_core")):
        shutil.copytree(ROOT / folder, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "static"))
    (tmp_path / "mgem_app" / "static").touch()
    return tmp_path


def test_plots_are_drawn_from_a_read_only_installation(sealed, home, page):
    filled_store(home / "runs.db")
    port = free_port()
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", port]
    with served(command, port, home, PYTHONPATH=str(sealed)):
        page.goto(f"http://127.0.0.1:{port}/?of=s1&more=true")
        page.wait_for_function(f"{POINTS} > 0")


def test_theme_is_independent_of_the_current_folder(server, page):
    page.goto(f"{server}/explore")
    page.get_by_role("button", name="Launch").wait_for()
    color = "getComputedStyle(document.querySelector('.stSidebar')).backgroundColor"
    assert page.evaluate(color) == "rgb(243, 245, 248)"  # secondaryBackgroundColor of app/.streamlit/config.toml


def test_modules_of_the_same_names_elsewhere_are_not_imported(home, page, tmp_path):
    names = (
        "boundary components dashboard descriptors explore export_menu feed hub lens main runner_process runs session text"
    )
    for name in (*names.split(), "token_gate"):
        for folder in (tmp_path / "current", tmp_path / "path"):
            (folder / name).mkdir(parents=True)
            (folder / name / "__init__.py").write_text("raise ImportError('the module of another project')")
    port = free_port()
    command = [sys.executable, "-m", "mgem_core", "dashboard", "--port", port]
    environment = {"PYTHONPATH": f"{tmp_path / 'path'}:{ROOT}", "MGEM_HOME": str(home)}
    with served(command, port, tmp_path / "current", **environment):
        page.goto(f"http://127.0.0.1:{port}/runs")
        page.get_by_role("heading", name="Nothing has been run yet").or_(page.get_by_text("List", exact=True)).wait_for()
        page.goto(f"http://127.0.0.1:{port}/explore")
        page.get_by_role("button", name="Launch").wait_for()
        page.goto(f"http://127.0.0.1:{port}/?of=example")
        page.locator(".lens circle.marker").wait_for()
