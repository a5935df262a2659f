"""Registries: methods are listed in one place, and their descriptions contain everything that other code needs."""

import ast
from collections import Counter
from pathlib import Path

import pytest

import mgem_core
from mgem_core import RunConfig
from mgem_core.learners import FAMILIES, METHODS

PROJECT = Path(mgem_core.__file__).parents[1]
DATA = ("presets.py",)  # sweeps that are defined as data name their methods
FILES = [
    path
    for folder in ("mgem_core", "app")
    for path in sorted((PROJECT / folder).rglob("*.py"))
    if "learners" not in path.parts and "streams" not in path.parts and path.name not in DATA
]


def compared_texts(tree: ast.AST) -> set[str]:
    """Return the string literals in comparisons and in the keys of dictionaries."""
    texts: set[str] = set()
    for node in ast.walk(tree):
        sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        parts = [
            part for side in sides for part in (side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side])
        ]
        parts += [key for key in node.keys if key] if isinstance(node, ast.Dict) else []
        texts |= {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return texts


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_methods_are_listed_only_in_the_registry(path):
    assert not compared_texts(ast.parse(path.read_text())) & set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_description_fits_its_method(name):
    method, config = METHODS[name], RunConfig(method=name)
    assert set(method.fields) <= set(RunConfig.model_fields)
    assert set(method.options) <= set(RunConfig.model_fields)
    assert method.fields_without_effect(config) <= {*method.fields, *method.options}
    assert config.label.partition("(")[0] in method.families
    assert method.cost(config, 1) >= 0
    assert method.about


@pytest.mark.parametrize("part", ["symbol", "marker"])
def test_symbols_of_families_are_unique(part):
    taken = Counter(getattr(style, part) for style in FAMILIES.values())
    shared = {name: getattr(style, part) for name, style in FAMILIES.items() if taken[getattr(style, part)] > 1}
    assert not shared, f"take another {part} than these: {', '.join(sorted(taken))}"


def test_options_are_unique():
    for one in METHODS.values():
        for other in METHODS.values():
            assert one is other or not set(one.options) & set(other.options)
