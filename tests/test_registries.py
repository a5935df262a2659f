"""One registry per kind of thing: nobody else has a list of methods, and a description says all that others need."""

import ast
from collections import Counter
from pathlib import Path

import pytest

import mgem_core
from mgem_core import RunConfig
from mgem_core.learners import FAMILIES, METHODS

PROJECT = Path(mgem_core.__file__).parents[1]
DATA = ("presets.py",)  # sweeps as data name what they run
FILES = [
    path
    for folder in ("mgem_core", "app")
    for path in sorted((PROJECT / folder).rglob("*.py"))
    if "learners" not in path.parts and "streams" not in path.parts and path.name not in DATA
]


def compared_texts(tree: ast.AST) -> set[str]:
    """Texts that something is compared with, or that choose an entry of a mapping written down in the code."""
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
def test_nobody_else_has_a_list_of_methods(path):
    assert not compared_texts(ast.parse(path.read_text())) & set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_a_description_fits_its_method(name):
    method, config = METHODS[name], RunConfig(method=name)
    assert set(method.fields) <= set(RunConfig.model_fields)
    assert set(method.options) <= set(RunConfig.model_fields)
    assert method.fields_without_effect(config) <= {*method.fields, *method.options}
    assert config.label.partition("(")[0] in method.families
    assert method.cost(config, 1) >= 0
    assert method.about


@pytest.mark.parametrize("part", ["symbol", "marker"])
def test_families_are_told_apart_by_their_symbols(part):
    taken = Counter(getattr(style, part) for style in FAMILIES.values())
    shared = {name: getattr(style, part) for name, style in FAMILIES.items() if taken[getattr(style, part)] > 1}
    assert not shared, f"take another {part} than these: {', '.join(sorted(taken))}"


def test_options_are_told_apart():
    for one in METHODS.values():
        for other in METHODS.values():
            assert one is other or not set(one.options) & set(other.options)
