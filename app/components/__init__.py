"""Streamlit components that several pages use, and how any component is loaded.

`show_plot` shows a figure that keeps its zoom and selection while its data changes; `show_table` shows rows with numbers,
bars and buttons. A page with its own component has its JavaScript and CSS in its folder js/, and loads them with
`read_sources` and `register`. Every JavaScript file is an ES module; `solver.js`, `svg.js` and `controls.js` are shared.
"""

import json
import re
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import plotly
import plotly.graph_objects as go
import streamlit as st

from mgem_core.figures import PlainFigure

FOLDER = Path(__file__).parent
SERVED_PLOTLY = FOLDER.parent / "static" / "plotly.min.js"
INSTALLED_PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
INTERACTIVE_STYLE = FOLDER / "interactive.css"  # of pages whose pictures can be dragged
IMPORT = re.compile(r'^import \{[^}]*\} from "([^"]+)";\n', re.MULTILINE)
NAMED_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
SelectionCallback = Callable[[list[str]], None]


def bundle(entry: Path) -> str:
    """Join an ES module and all modules that it imports into one script, each once and after those that it imports.

    Streamlit loads the script of a component from a blob: URL, where no relative import can be resolved, and a component
    that is saved as one HTML file needs one script, too. So import lines and the word "export" are removed. All names of a
    script must therefore differ, which a test checks.
    """
    scripts: dict[Path, str] = {}

    def add(path: Path) -> None:
        if path in scripts:
            return
        text = path.read_text(encoding="utf-8")
        for name in IMPORT.findall(text):
            add((path.parent / name).resolve())
        scripts[path] = NAMED_EXPORT.sub("", IMPORT.sub("", text))

    add(entry.resolve())
    return "\n".join(scripts.values())


def read_sources(entry: Path, *styles: Path) -> dict[str, str]:
    """Read the script of a component, with all that it imports, and its style sheets."""
    css = "\n".join(style.read_text(encoding="utf-8") for style in styles)
    return {"js": bundle(entry)} | ({"css": css} if css else {})


def register(name: str, html: str | None, sources: dict[str, str]) -> Any:
    """Register a component; its styles apply to the page, and those of the page to it."""
    return st.components.v2.component(name, html=html, isolate_styles=False, **sources)


PLOT_HTML = '<div class="plot" role="group"></div><div class="plot-note" role="status"></div>'
_plot = register("plot", PLOT_HTML, read_sources(FOLDER / "plot.js", FOLDER / "plot.css"))
TABLE_HTML = '<div class="configurations"></div>'
_table = register("table", TABLE_HTML, read_sources(FOLDER / "table.js", FOLDER / "table.css"))


def provide_plotly() -> None:
    """Copy plotly.js from the installed package to the folder from which this server serves it to the browser.

    Where that folder cannot be written, as in an installation for all users, plotly.js is sent with the page instead.
    """
    if SERVED_PLOTLY.exists() and SERVED_PLOTLY.stat().st_size == INSTALLED_PLOTLY.stat().st_size:
        return
    try:
        SERVED_PLOTLY.parent.mkdir(exist_ok=True)
        partial = SERVED_PLOTLY.with_suffix(".partial")
        shutil.copyfile(INSTALLED_PLOTLY, partial)
        partial.replace(SERVED_PLOTLY)
    except OSError:
        _plotly_in_page()(key="plotly")


@cache
def _plotly_in_page() -> Any:
    return st.components.v2.component("plotly", js=f"{INSTALLED_PLOTLY.read_text()}\nexport default () => {{}};")


def show_plot(
    figure: PlainFigure | go.Figure,
    key: str,
    description: str,
    selected: Sequence[str] = (),
    on_select: SelectionCallback = lambda keys: None,
    revision: str = "",
    height: int = 420,
) -> None:
    """Show a figure, with a description for screen readers; `on_select` gets the keys (customdata) of selected points.

    The plot keeps its zoom as long as `revision` stays the same.
    """
    data = {
        "figure": json.dumps(figure) if isinstance(figure, dict) else figure.to_json(),
        "description": re.sub("<.*?>", "", description),
        "selected": list(selected),
        "height": height,
        "revision": revision,
    }
    _plot(key=key, data=data, on_selected_change=_selection_callback(key, on_select))


def show_table(
    columns: list[dict[str, Any]],
    rows: list[dict[str, Any]],
    key: str,
    description: str,
    selected: Sequence[str] = (),
    on_select: SelectionCallback | None = None,
    on_press: Callable[[str], None] = lambda key: None,
    is_whole: bool = False,
) -> None:
    """Show rows, with a description for screen readers; `on_select` gets the keys of the selected rows, if they can be.

    A column has a name, title, kind (text, number, progress, curve or action) and perhaps a help text; a row has a key, a
    cell per column ({text, value, bold}), perhaps a color, and may be marked as active. A cell of an action is a button
    ({text, label, disabled}); `on_press` gets the key of its row. A table that `is_whole` is as high as its rows.
    """
    content = {"columns": columns, "rows": rows, "description": description}
    data = json.dumps({**content, "selected": list(selected), "selectable": on_select is not None, "whole": is_whole})
    callbacks = {
        "on_selected_change": _selection_callback(key, on_select or (lambda keys: None)),
        "on_pressed_change": lambda: on_press(str(st.session_state[key]["pressed"])),
    }
    _table(key=key, data=data, **callbacks)


def _selection_callback(key: str, on_select: SelectionCallback) -> Callable[[], None]:
    return lambda: on_select(list(st.session_state[key]["selected"]["keys"]))
