"""Import everything that the dashboard imports, show every page and make every kind of file, without torch.

Usage: python torch_free.py HOME... shows each page with the store in each of these folders. Failures are on stderr.
"""

import ast
import importlib
import os
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

ROOT = Path(__file__).parents[2]
APP = ROOT / "app"
PAGES = sorted(APP.glob("*/page.py"))
FORBIDDEN = ("torch", "torchvision", "ray")
COMMANDS = [f"mgem_core.cli.{path.stem}" for path in sorted((ROOT / "mgem_core" / "cli").glob("[a-z]*.py"))]
ALSO = (*COMMANDS, "mgem_core.restriction.dual", "mgem_core.metrics")  # these also start or compute without torch
# Links to each page, with the parameters that it reads; the first has none.
QUERIES: dict[str, list[dict[str, str]]] = {
    "explore": [{"sweep": "s1"}],
    "lens": [{"of": "r1"}],
    "runs": [{"runs": "r1"}, {"runs": "r1,r2"}, {"list": "Sweeps", "sweep": "s1"}],
}


class Refusal(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in FORBIDDEN:
            raise ImportError(f"{name} was imported")


def app_modules() -> list[str]:
    """Return the modules of the app; its main script and pages are run, not imported."""
    files = [path.relative_to(APP) for path in APP.rglob("*.py") if path not in PAGES and path != APP / "dashboard.py"]
    return [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]


def imported_modules() -> list[str]:
    """Return every module that a file of the app imports, also within functions."""
    names: set[str] = set()
    for path in APP.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                names |= {node.module, *(name for name in inner if (ROOT / f"{name.replace('.', '/')}.py").exists())}
    return sorted(names)


def show_pages(home: str) -> None:
    from pages import open_page

    for page in PAGES:
        for query in [{}, *QUERIES.get(page.parent.name, [])]:
            app = open_page(page.parent.name, **query)
            assert not app.exception, (page, home, query, [error.stack_trace for error in app.exception])


def make_files(home: str) -> None:
    """Make every figure in every format."""
    from mgem_core.analysis.aggregate import View
    from mgem_core.figures import FIGURES
    from mgem_core.figures.files import export
    from mgem_core.figures.selection import Selection
    from mgem_core.store import Store

    store = Store(Path(home) / "runs.db")
    for figure in FIGURES.values() if store.run_ids(1) else ():
        for format in figure.formats:
            export(Selection(store, 1, view=View(difference="acc")), figure.name, format)  # its lines share no range of x


def main(homes: list[str]) -> None:
    sys.meta_path.insert(0, Refusal())
    sys.path[:0] = [str(APP), str(ROOT)]
    for name in (*app_modules(), *imported_modules(), *ALSO):
        importlib.import_module(name)
    import runner_process
    from streamlit.components.v2 import manifest_scanner

    runner_process.ensure_runner = lambda *options, **named: None  # nothing is to be trained
    manifest_scanner.scan_component_manifests = lambda *arguments, **options: []  # a slow search that is not needed
    for home in homes:
        os.environ["MGEM_HOME"] = home
        show_pages(home)
        make_files(home)


if __name__ == "__main__":
    main(sys.argv[1:])
