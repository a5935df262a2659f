"""Rules of the house that can be checked by reading the code: which way imports point, and where SQL may be."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = [  # a module may import those of its own layer and of the layers before
    {"claims", "errors", "fingerprints", "home", "metrics", "randomness", "text", "version"},
    {"devices", "dual", "events", "gram_factors", "lens_archive", "networks", "partition"},
    {"direction", "gradients", "learners", "lens_path", "linear_chain", "memory", "streams", "surgery"},
    {"config", "field_values"},
    {"keys", "paper", "presets", "snapshot_cost", "sweeps"},
    {"checkpoints", "report", "store"},
    {"analysis", "cells", "estimate", "frames", "legend", "measurements", "paired", "progress"},
    {"recording_header", "recordings"},
    {"lens", "lens_modules", "lens_partitions", "lens_steps", "published", "recorder"},
    {"figures"},
    {"engine", "evaluation", "probes", "step_means"},
    {"runner"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
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


def layer_of(module: str) -> str | None:
    """ "mgem_core.store.reader" is of the layer of "store"."""
    parts = module.split(".")
    return parts[1] if parts[0] == "mgem_core" and len(parts) > 1 and parts[1] in LEVEL else None


@pytest.mark.parametrize("path", sources("mgem_core"), ids=module_name)
def test_imports_point_downwards(path):
    layer = layer_of(module_name(path))
    if layer is None:  # mgem_core itself and __main__, which bring everything together
        assert path.name in ("__init__.py", "__main__.py")
        return
    for module in imported(path):
        below = layer_of(module)
        assert below is None or LEVEL[below] <= LEVEL[layer], f"{layer} must not import {module}"
        assert not module.startswith(("app.", "mgem_app", "streamlit")) or layer == "cli", (
            f"{layer} must not import {module}"
        )


def test_every_module_has_a_layer_and_every_layer_its_modules():
    names = {path.stem for path in (ROOT / "mgem_core").glob("*.py") if not path.stem.startswith("__")}
    names |= {path.name for path in (ROOT / "mgem_core").iterdir() if (path / "__init__.py").exists()}
    assert names == set(LEVEL)


@pytest.mark.parametrize("layer", sorted(LEVEL))
def test_no_layer_imports_itself_in_a_circle(layer):
    """Within a layer, the modules can be put in an order in which each imports only those before."""
    level = LEVEL[layer]
    uses = {name: set() for name, its_level in LEVEL.items() if its_level == level}
    for path in sources("mgem_core"):
        name = layer_of(module_name(path))
        if name in uses:
            uses[name] |= {below for module in imported(path) if (below := layer_of(module)) in uses and below != name}
    while uses:
        free = [name for name, others in uses.items() if not others & uses.keys()]
        assert free, f"these import each other: {', '.join(sorted(uses))}"
        for name in free:
            del uses[name]


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
