"""Draw which packages of mgem_core import which: `python -m studies.import_graph` writes docs/import-graph.svg.

A package stands one row below the lowest of those that it imports. An import that follows from others (A imports B, and B
imports C, so A → C) is not drawn. The picture holds the whole graph as JSON in its `<metadata>`, which a test compares with
the code.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "import-graph.svg"
ROW, MARGIN, BOX, TALL = 66, 30, 120, 30  # pixels: from row to row, around all, width and height of a box
WIDTH = 620

Graph = dict[str, list[str]]  # package → the packages that it imports, sorted by name


def imported_modules(source: str) -> Iterator[str]:
    """Yield what a file imports, also within functions, except for what only type checkers see."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def read_graph(core: Path = ROOT / "mgem_core") -> Graph:
    """Read the imports between packages from the code."""
    packages = sorted(path.parent.name for path in core.glob("*/__init__.py"))
    graph: Graph = {}
    for package in packages:
        sources = [path.read_text() for path in (core / package).rglob("*.py")]
        modules = {module for source in sources for module in imported_modules(source)}
        found = {module.split(".")[1] for module in modules if module.startswith("mgem_core.")}
        graph[package] = sorted(found.intersection(packages) - {package})
    return graph


def row_of(package: str, graph: Graph) -> int:
    """The length of the longest chain of imports from a package, which is 0 if it imports no other."""
    return max((row_of(other, graph) + 1 for other in graph[package]), default=0)


def reached(package: str, graph: Graph) -> set[str]:
    """All packages that a package imports, directly or through others."""
    return set(graph[package]).union(*(reached(other, graph) for other in graph[package]))


def needed(package: str, graph: Graph) -> list[str]:
    """The imports of a package that do not follow from its other imports."""
    return [other for other in graph[package] if not any(other in reached(between, graph) for between in graph[package])]


def place(graph: Graph) -> dict[str, tuple[float, float]]:
    """The centre of each box. In a row, packages are sorted by the mean place of their imports, to avoid crossings."""
    rows: dict[int, list[str]] = {}
    for package in graph:
        rows.setdefault(row_of(package, graph), []).append(package)
    places: dict[str, tuple[float, float]] = {}
    for row in sorted(rows):
        above = {package: [places[other][0] for other in needed(package, graph)] for package in rows[row]}
        means = {package: sum(xs) / len(xs) if xs else 0.0 for package, xs in above.items()}
        for number, package in enumerate(sorted(rows[row], key=lambda package: (means[package], package))):
            x = WIDTH * (number + 1) / (len(rows[row]) + 1)
            places[package] = (x, MARGIN + TALL / 2 + ROW * row)
    return places


def svg(graph: Graph) -> str:
    """Draw the packages as boxes, and an arrow from each to those that it imports and needs to name."""
    places = place(graph)
    arrows = [arrow(places[package], places[other]) for package in graph for other in needed(package, graph)]
    boxes = [
        f'<rect x="{x - BOX / 2:.0f}" y="{y - TALL / 2:.0f}" width="{BOX}" height="{TALL}" rx="5" fill="#e8f1f8" '
        f'stroke="#0072B2"/><text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{package}</text>'
        for package, (x, y) in places.items()
    ]
    height = max(y for _, y in places.values()) + TALL / 2 + MARGIN
    title = "The packages of mgem_core; an arrow leads from a package to one that it imports"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{title}">',
        f"<title>{title}</title>",
        f"<metadata>{json.dumps(graph)}</metadata>",
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 10 5 0 10z" fill="#555"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="white"/>',
        *arrows,
        '<g font-family="DejaVu Sans, Verdana, sans-serif" font-size="14" font-weight="600" fill="#1a1a1a">',
        *boxes,
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A curve from the top of a box to the bottom of one in a row above."""
    (x, y), (to_x, to_y) = (start[0], start[1] - TALL / 2), (end[0], end[1] + TALL / 2)
    x += max(-0.4 * BOX, min(0.4 * BOX, 0.35 * (to_x - x)))  # away from the middle, where a box may be in the way
    bend = (y - to_y) * 0.3
    path = f"M{x:.0f} {y:.0f} C{x:.0f} {y - bend:.0f} {to_x:.0f} {to_y + bend:.0f} {to_x:.0f} {to_y + 1:.0f}"
    return f'<path d="{path}" fill="none" stroke="#555" stroke-width="1.4" marker-end="url(#head)"/>'


def graph_in(picture: str) -> Graph:
    """Read back the graph that a picture shows."""
    found = re.search("<metadata>(.*?)</metadata>", picture)
    if not found:
        raise ValueError("the picture holds no graph")
    graph: Graph = json.loads(found[1])
    return graph


def main() -> None:
    PICTURE.write_text(svg(read_graph()))
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
