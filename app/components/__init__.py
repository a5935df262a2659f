"""Streamlit components: a plot that keeps zoom and selection while its data changes, a table, the lens, the geometry."""

import hashlib
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
SelectionCallback = Callable[[list[str]], None]


def _register(name: str, html: str, sources: dict[str, str] | None = None) -> Any:
    """A component of NAME.js and NAME.css, or of other sources."""
    return st.components.v2.component(name, html=html, isolate_styles=False, **(sources or _sources([name], [name])))


def _sources(scripts: Sequence[str], styles: Sequence[str]) -> dict[str, str]:
    """Scripts and styles, each joined to one."""
    js = "\n".join((FOLDER / f"{name}.js").read_text() for name in scripts)
    return {"js": js, "css": "\n".join((FOLDER / f"{name}.css").read_text() for name in styles)}


_plot = _register("plot", '<div class="plot" role="group"></div><div class="plot-note" role="status"></div>')
_table = _register("table", '<div class="configurations"></div>')
LENS_SCRIPTS = (
    *("solver", "svg", "controls", "frontier", "surgery", "lens_plot"),
    *("lens_rules", "lens_trained", "lens_view", "lens_panels", "lens"),
)
LENS_SOURCES = _sources(LENS_SCRIPTS, ("interactive", "lens"))
_lens = _register("lens", '<div class="interactive lens"></div>', LENS_SOURCES)
GEOMETRY_SCRIPTS = (
    *("solver", "svg", "controls", "geometry_methods", "geometry_words"),
    *("geometry_labels", "geometry_picture", "geometry_view", "geometry"),
)
GEOMETRY_SOURCES = _sources(GEOMETRY_SCRIPTS, ("interactive", "geometry"))
_geometry = _register("geometry", '<div class="interactive geometry"></div>', GEOMETRY_SOURCES)

_trained = st.components.v2.component("trained", js=(FOLDER / "trained.js").read_text())
_form_memory = st.components.v2.component("form_memory", js=(FOLDER / "form_memory.js").read_text())


def remember_form(sweep: str, values: str, edited: bool, on_restore: Callable[[str], None]) -> None:
    """Let the browser keep the values of a form that was edited while it showed this sweep.

    If this session shows the same sweep and the form has not been edited in it, `on_restore` gets the values kept before.
    """
    data = {"sweep": sweep, "values": values, "edited": edited}
    _form_memory(key="form memory", data=data, on_restored_change=lambda: on_restore(_restored_form()))


def _restored_form() -> str:
    return str(st.session_state["form memory"]["restored"])


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


def preload_plotly() -> None:
    """Let the browser load plotly.js before the first plot is shown."""
    _plot(key="preload plotly", data=None)


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


def show_lens(payload: dict[str, Any], key: str, on_train: Callable[[dict[str, Any]], None] | None) -> None:
    """Show recorded steps (`lens.payload`) through the lens; `on_train` gets the settings that somebody wants to train.

    All dragging happens in the browser; only the button to train sends a message to the server.
    """
    text = json.dumps(payload)
    data = {"payload": text, "key": hashlib.sha256(text.encode()).hexdigest(), "canTrain": on_train is not None}
    train = on_train or (lambda settings: None)
    callback = {"on_train_change": lambda: train(json.loads(st.session_state[key]["train"]))}
    _lens(key=key, data={**data, "standalone": LENS_SOURCES}, **callback)


def show_geometry(methods: list[dict[str, Any]], presets: list[dict[str, Any]], start: dict[str, Any], key: str) -> None:
    """Show gradients that can be dragged, and z of these methods; the first preset is shown first, as `start` changes it.

    All happens in the browser, which also puts what is shown into the URL; no message goes to the server.
    """
    content = {"methods": methods, "presets": presets}
    _geometry(key=key, data={"content": content, "start": start, "standalone": GEOMETRY_SOURCES})


def show_trained(trained: dict[str, Any], key: str) -> None:
    """Bring runs that were trained with settings of the lens (`lens.trained`) to the lens on this page."""
    _trained(key=key, data=json.dumps(trained))


def _selection_callback(key: str, on_select: SelectionCallback) -> Callable[[], None]:
    return lambda: on_select(list(st.session_state[key]["selected"]["keys"]))
