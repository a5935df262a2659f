"""A new figure is one new file; the command line and the dashboard then offer it without other changes."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import runner_process
from exported import exported, exported_csv
from filled_store import filled_store, is_gem
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

import mgem_core
from mgem_core import figures
from mgem_core.cli import main
from mgem_core.figures import FIGURES

PROJECT = Path(mgem_core.__file__).parents[1]
MAIN = PROJECT / "app" / "dashboard.py"
NEW_FIGURE = '''
"""The number of runs with each status."""

import pandas as pd

from mgem_core.figures import Figure, register


def data(selection):
    counts = selection.runs()["status"].value_counts()
    return pd.DataFrame({"status": counts.index, "runs": counts.to_numpy()})


def screen(data, view):
    return {"data": [{"type": "bar", "x": data["status"].tolist(), "y": data["runs"].tolist()}], "layout": {}}


def printed(data, view, page):
    from matplotlib.figure import Figure

    figure = Figure((page.width, page.height))
    figure.add_subplot().bar(data["status"], data["runs"])
    return figure


register(Figure("statuses", "Runs by status", data, screen=screen, printed=printed))
'''
FORMATS = ("png", "svg", "pdf", "html", "csv", "json", "parquet", "latex-figure")


@pytest.fixture
def new_figure(tmp_path, monkeypatch):
    """Load a file with a new figure in the same way as the files of the figures folder."""
    (tmp_path / "statuses.py").write_text(NEW_FIGURE)
    monkeypatch.setattr(figures, "__path__", [*figures.__path__, str(tmp_path)])
    before = dict(FIGURES)
    importlib.invalidate_caches()
    figures.load_figures()
    yield
    FIGURES.clear()
    FIGURES.update(before)
    del sys.modules["mgem_core.figures.statuses"], figures.statuses


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return the folder of a store with a sweep, without a runner."""
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    monkeypatch.setattr(runner_process, "ensure_runner", lambda *options, **named: None)
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", lambda *arguments, **options: [])
    runner_process._started_runner.cache_clear()
    filled_store(tmp_path / "runs.db", records=is_gem).close()
    return tmp_path


@pytest.mark.usefixtures("new_figure")
def test_new_figure_can_be_exported(store):
    assert FIGURES["statuses"].formats == FORMATS
    assert all(exported(store, "statuses", format) for format in FORMATS)
    assert exported_csv(store, "statuses").to_dict("records") == [{"status": "finished", "runs": 14}]


@pytest.mark.usefixtures("new_figure")
def test_new_figure_is_on_the_command_line(home, capsys):
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    assert "statuses" in capsys.readouterr().out
    assert main(["export", "s1", "--what", "statuses", "--format", "json", "-o", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"status": "finished", "runs": 14}]


def export_dialog(choice: str) -> tuple[list[str], list[str]]:
    """Return the figures in the dashboard's export dialog, and its buttons after one is chosen."""
    page = AppTest.from_file(str(MAIN), default_timeout=60)
    page.query_params["sweep"] = "s1"
    page.session_state["to export"] = "s1"  # as the button above the workbench does
    page.run()
    menu = page.selectbox(key="export what")
    menu.select(choice)
    page.run()
    assert not page.exception
    return menu.options, [button.proto.label for button in page.get("download_button")]


@pytest.mark.usefixtures("new_figure", "home")
def test_new_figure_is_in_the_export_dialog():
    options, buttons = export_dialog("statuses")
    assert "Runs by status" in options
    assert buttons == ["PNG", "SVG", "PDF", "HTML", "CSV", "JSON", "Parquet"]


@pytest.mark.usefixtures("home")
def test_export_dialog_has_every_figure():
    for name, figure in FIGURES.items():
        options, buttons = export_dialog(name)
        assert sorted(options) == sorted(figure.export_title or figure.title for figure in FIGURES.values())
        assert buttons == [figures.FORMATS[format] for format in figure.formats if format != "latex-figure"]


def files_that_export() -> list[Path]:
    paths = [path for folder in ("app", "mgem_core") for path in sorted((PROJECT / folder).rglob("*.py"))]
    return [path for path in paths if path.match("figures/files.py") or "mgem_core.figures.files" in path.read_text()]


def test_files_that_export():
    assert {path.relative_to(PROJECT).parts[0] for path in files_that_export()} == {"app", "mgem_core"}
    assert len(files_that_export()) >= 3


@pytest.mark.parametrize("path", files_that_export(), ids=lambda path: str(path.relative_to(PROJECT)))
def test_exporting_code_names_no_figure(path):
    tree = ast.parse(path.read_text())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert not texts & set(FIGURES)


def test_registry_imports_neither_plotly_nor_matplotlib():
    code = "import sys, mgem_core.figures; print(sorted({'plotly', 'matplotlib', 'torch'} & set(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"
