"""The documents name files that exist, and show the imports that the code has."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_architecture import PACKAGES, imported, place_of, sources

from studies.import_graph import PICTURE, graph_in, read_graph

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FOLDERS = "mgem_core|app|tests|perf|studies|examples|docs"
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/[\w./-]*[\w/]")
MODULE = re.compile(r"python -m ([\w.]+)")
PLACEHOLDER = "NAME"  # as in mgem_core/learners/NAME.py, a file that the reader will write


def links(document):
    """The relative links of a document: the file and the heading that each names."""
    for target in LINK.findall(document.read_text()):
        if not re.match(r"[a-z]+:", target):
            file, _, heading = target.partition("#")
            yield (document.parent / file if file else document), heading


def headings(document):
    """The anchors that GitHub gives to the headings of a document."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def missing_paths(text):
    named = {path for path in PATH.findall(text) if PLACEHOLDER not in path}
    return {path for path in named if not (ROOT / path).exists()}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_existing_files_and_headings(document):
    for target, heading in links(document):
        assert target.exists(), f"{document.name} links to {target}"
        assert not heading or heading in headings(target), f"{document.name} links to #{heading} of {target.name}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_named_files_and_modules_exist(document):
    text = document.read_text()
    assert not missing_paths(text)
    assert not [name for name in MODULE.findall(text) if not find_spec(name)]


def test_the_search_for_paths_finds_a_missing_file():
    text = "See `mgem_core/no_file.py`, `mgem_core/metrics.py`, `tests/` and `mgem_core/learners/NAME.py`."
    assert missing_paths(text) == {"mgem_core/no_file.py"}


def test_every_picture_is_used_by_a_document():
    pictures = {path for path in (ROOT / "docs").iterdir() if path.suffix in (".png", ".svg")}
    used = {target.resolve() for document in DOCUMENTS for target, _ in links(document)}
    assert not {path.name for path in pictures - used}


def test_the_picture_shows_the_imports_of_the_code():
    shown = graph_in(PICTURE.read_text())
    assert shown == read_graph(), "draw it again with: python -m studies.import_graph"
    assert set(shown) == set(PACKAGES)


def test_the_graph_agrees_with_the_order_of_the_packages():
    """The script reads imports by itself; it must find the same ones as the test of the order."""
    graph = read_graph()
    for package in PACKAGES:
        places = {place_of(module) for path in sources(f"mgem_core/{package}") for module in imported(path)}
        assert {PACKAGES[place - 1] for place in places if place} - {package} == set(graph[package])
