"""Parts of pages that Streamlit lacks: a plot that keeps zoom and selection over updates, a table with pictures."""

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

HERE = Path(__file__).parent
Choose = Callable[[list[str]], None]
STATIC = HERE.parent / "static" / "plotly.min.js"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


def _part(name: str, html: str) -> Any:
    text = {kind: (HERE / f"{name}.{kind}").read_text() for kind in ("js", "css")}
    return st.components.v2.component(name, html=html, isolate_styles=False, **text)


_plot = _part("plot", '<div class="plot" role="group"></div>')
_table = _part("table", '<div class="configurations"></div>')


def provide_plotly() -> None:
    """The browser loads plotly.js from this server; it is copied from the installed package.

    Where this folder cannot be written, as in an installation for all users, it is sent with the page instead.
    """
    if STATIC.exists() and STATIC.stat().st_size == PLOTLY.stat().st_size:
        return
    try:
        STATIC.parent.mkdir(exist_ok=True)
        partial = STATIC.with_suffix(".partial")
        shutil.copyfile(PLOTLY, partial)
        partial.replace(STATIC)
    except OSError:
        _plotly_in_page()(key="plotly")


@cache
def _plotly_in_page() -> Any:
    return st.components.v2.component("plotly", js=f"{PLOTLY.read_text()}\nexport default () => {{}};")


def prepare() -> None:
    """Have the browser load plotly.js while somebody still reads."""
    _plot(key="prepare", data=None)


def plot(
    figure: PlainFigure | go.Figure,
    key: str,
    about: str,
    selected: Sequence[str] = (),
    on_select: Choose = lambda keys: None,
    revision: str = "",
    height: int = 420,
) -> None:
    """Show a figure, said in words by `about`; `on_select` gets the keys (customdata) of points as they are selected.

    Zoom stays while `revision` does.
    """
    data = {
        "figure": json.dumps(figure) if isinstance(figure, dict) else figure.to_json(),
        "about": re.sub("<.*?>", "", about),
        "selected": list(selected),
        "height": height,
        "revision": revision,
    }
    _plot(key=key, data=data, on_selected_change=_telling(key, on_select))


def table(
    columns: list[dict[str, Any]],
    rows: list[dict[str, Any]],
    key: str,
    about: str,
    selected: Sequence[str] = (),
    on_select: Choose = lambda keys: None,
) -> None:
    """Show rows, said in words by `about`; `on_select` gets the keys of the rows that are selected.

    A column has name, title, help and kind: text, number, progress or curve; a row has a key, a cell per column
    ({text, value, bold}), perhaps a color, and may be marked as active.
    """
    data = json.dumps({"columns": columns, "rows": rows, "about": about, "selected": list(selected)})
    _table(key=key, data=data, on_selected_change=_telling(key, on_select))


def _telling(key: str, on_select: Choose) -> Callable[[], None]:
    return lambda: on_select(list(st.session_state[key]["selected"]["keys"]))
