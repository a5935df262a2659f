"""The interactive figure of the page Geometry, which runs in the browser."""

from pathlib import Path
from typing import Any

from components import INTERACTIVE_STYLE, read_sources, register

JS = Path(__file__).with_name("js")
SOURCES = read_sources(JS / "geometry.js", INTERACTIVE_STYLE, JS / "geometry.css")
_geometry = register("geometry", '<div class="interactive geometry"></div>', SOURCES)


def show_geometry(methods: list[dict[str, Any]], presets: list[dict[str, Any]], start: dict[str, Any], key: str) -> None:
    """Show gradients that can be dragged, and z of each method; `start` overrides values of the first preset.

    The browser computes everything and writes the state into the URL; it sends no message to the server.
    """
    content = {"methods": methods, "presets": presets}
    _geometry(key=key, data={"content": content, "start": start, "standalone": SOURCES})
