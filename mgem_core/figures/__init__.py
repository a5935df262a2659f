"""The figures that can be exported. A new one is one new file here that calls `register`, and its test.

Importing a file must import neither plotly nor matplotlib, which take long: figures import them inside their functions.
Code that figures share is in the files with an underscore.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas as pd
    import plotly.graph_objects as go

    from mgem_core.analysis.aggregate import View
    from mgem_core.figures.selection import Selection

PlainFigure = dict[str, Any]  # a plotly figure as plain data: a list of traces, and the layout
FORMATS = {  # as the command line writes them, and as menus do
    **{"png": "PNG", "svg": "SVG", "pdf": "PDF", "html": "HTML", "csv": "CSV", "latex": "LaTeX"},
    **{"json": "JSON", "parquet": "Parquet"},
}


@dataclass(frozen=True)
class Figure:
    """A figure: its data, and a function for each version of it. The versions that it has decide its formats."""

    name: str  # as the command line writes it
    title: str  # in menus
    # Does `data` (or `document`) raise no UsageError? Pages ask at every rerun, so the answer must be quick.
    is_available: Callable[[Selection], bool]
    # All that the versions show. If there is nothing: UsageError("nothing to show yet: no run has ….")
    data: Callable[[Selection], pd.DataFrame] | None = None
    tidy: Callable[[pd.DataFrame, View], pd.DataFrame] = lambda data, view: data  # the data as csv, json and parquet
    screen: Callable[[pd.DataFrame, View], PlainFigure | go.Figure] | None = None  # html; pages may draw it, too
    printed: Callable[[pd.DataFrame, View], matplotlib.figure.Figure] | None = None  # png, svg, pdf; see _print.py
    latex: Callable[[pd.DataFrame, View, str], str] | None = None  # a table; the text names the source of the numbers
    document: Callable[[Selection], Any] | None = None  # json of a figure that has no data
    uses_view: bool = True  # it shows the benchmark and the task of the view; otherwise, all runs as they are
    name_parts: Callable[[View], list[str]] = lambda view: []  # parts of the names of its files, besides benchmark and task
    place: int | None = None  # among the plots of a sweep on the page Explore; None: it is not there
    controls: tuple[str, ...] = ()  # fields of the view that only some plots use, and this one does
    subtitle: Callable[[pd.DataFrame, View], str] = lambda data, view: ""  # what the page says of it besides its title

    @property
    def formats(self) -> tuple[str, ...]:
        version = {
            **dict.fromkeys(("png", "svg", "pdf"), self.printed),
            **dict.fromkeys(("csv", "parquet"), self.data),
            **{"html": self.screen, "latex": self.latex, "json": self.data or self.document},
        }
        return tuple(format for format in FORMATS if version[format])


FIGURES: dict[str, Figure] = {}


def register(figure: Figure) -> None:
    FIGURES[figure.name] = figure


def load_figures() -> None:
    """Import every file of this folder, so that each figure registers itself; those with the most formats come first."""
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__name__}.{module.name}")
    figures = sorted(FIGURES.values(), key=lambda figure: -len(figure.formats))
    FIGURES.clear()
    FIGURES.update({figure.name: figure for figure in figures})


def sweep_plots() -> dict[str, Figure]:
    """The figures that the page Explore offers, in their order there."""
    found = sorted((figure.place, name) for name, figure in FIGURES.items() if figure.place is not None)
    return {name: FIGURES[name] for _, name in found}


def mark_points(figure: PlainFigure, keys: Collection[str]) -> PlainFigure:
    """The figure with larger points, in a thick rim, where their keys are among these."""

    def marked(trace: dict[str, Any]) -> dict[str, Any]:
        if "marker" not in trace or not chosen.intersection(trace.get("customdata", ())):
            return trace
        is_marked = [key in chosen for key in trace["customdata"]]
        marker = trace["marker"]
        sizes = [size * (1.5 if one else 1) for size, one in zip(marker["size"], is_marked, strict=True)]
        rim = {**marker["line"], "width": [3 if one else 1 for one in is_marked]}
        return {**trace, "marker": {**marker, "size": sizes, "line": rim}}

    chosen = set(keys)
    return {**figure, "data": [marked(trace) for trace in figure["data"]]}


load_figures()
