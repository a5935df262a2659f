"""Rules of the house that can be checked by reading the code: which way imports point, and where SQL may be."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SMALL = {"errors", "events", "fingerprints", "home", "metrics", "randomness", "text", "version"}  # everyone may use them
PACKAGES = [  # each may import itself, the small files, and the packages before it
    *("networks", "streams", "restriction", "gradients", "learners", "config", "store", "analysis", "lens", "paper"),
    *("figures", "training", "runner", "doctor", "cli"),
]
SQL = re.compile(
    r"\b(SELECT\s.*\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|PRAGMA\s+\w)", re.DOTALL
)


def sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, also within functions, but for those that only type checkers see."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def place_of(module: str) -> int | None:
    """The place of a module's package in the order, from 1 on; 0 for a small file, None for other projects."""
    top, _, rest = module.partition(".")
    first = rest.partition(".")[0]
    if top != "mgem_core" or first not in {*SMALL, *PACKAGES}:
        return None
    return PACKAGES.index(first) + 1 if first in PACKAGES else 0


def test_the_folder_listing_is_the_list_of_packages():
    core = ROOT / "mgem_core"
    assert {path.stem for path in core.glob("*.py") if not path.stem.startswith("__")} == SMALL
    assert {path.parent.name for path in core.glob("*/__init__.py")} == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_says_what_it_is_for(package):
    tree = ast.parse((ROOT / "mgem_core" / package / "__init__.py").read_text())
    assert len((ast.get_docstring(tree) or "").split()) >= 10


@pytest.mark.parametrize("path", sources("mgem_core"), ids=module_name)
def test_imports_point_to_packages_before(path):
    place = place_of(module_name(path))
    if place is None:  # mgem_core itself and __main__, which bring everything together
        assert path.name in ("__init__.py", "__main__.py")
        return
    for module in imported(path):
        other = place_of(module)
        assert other is None or other <= place, f"{module_name(path)} must not import {module}"
        assert not module.startswith(("app.", "mgem_app", "streamlit")) or path.parent.name == "cli", (
            f"{module_name(path)} must not import {module}"
        )


@pytest.mark.parametrize("path", sources("mgem_core", "app"), ids=module_name)
def test_only_the_store_contains_sql(path):
    if path.parent == ROOT / "mgem_core" / "store":
        return
    texts = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
    found = [text for text in texts if isinstance(text, str) and SQL.search(text)]
    assert not found
    assert "sqlite3" not in imported(path)


def test_the_check_for_sql_finds_it():
    assert SQL.search("SELECT id FROM runs")
    assert SQL.search("INSERT OR REPLACE INTO events VALUES (?)")
    assert not SQL.search("Select a run from the list")


@pytest.mark.parametrize("path", sources("mgem_core"), ids=module_name)
def test_only_public_functions_of_torch_are_used(path):
    """Others may change with any version."""
    names = [ast.unparse(node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)]
    used = [*names, *imported(path)]
    assert not [name for name in used if re.match(r"torch(\.\w+)*\._|torch\.ops\b", name)]
