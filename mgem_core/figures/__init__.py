"""The figures that can be exported. To add one, write a file here that calls `register`, and its test.

In: a `Selection` of stored runs. Out: a frame with its data, a plotly figure for the screen, a matplotlib figure for paper,
and files. A figure imports plotly and matplotlib inside its functions, because these imports are slow. Files whose names
begin with an underscore hold code that several figures share.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from mgem_core.errors import UsageError
from mgem_core.figures.page import LATEX_FIGURE, PICTURES, Page

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    from matplotlib.figure import Figure as PrintedFigure

    from mgem_core.analysis.aggregate import View
    from mgem_core.figures.selection import Selection
else:
    PrintedFigure = Any  # in annotations, so that no figure imports matplotlib for them

PlainFigure = dict[str, Any]  # a plotly figure as a dictionary: a list of traces, and the layout
FORMATS = {  # name on the command line → title in menus
    **{"png": "PNG", "svg": "SVG", "pdf": "PDF", "html": "HTML", "csv": "CSV", "latex": "LaTeX"},
    **{"json": "JSON", "parquet": "Parquet", LATEX_FIGURE: "LaTeX figure"},
}


@dataclass(frozen=True)
class Figure:
    """A figure: its data, and a function for each version. The versions that it has decide its formats."""

    name: str  # on the command line
    title: str  # in menus
    # Everything that the versions show. Without data, raise UsageError("nothing to show yet: no run has ….")
    data: Callable[[Selection], pd.DataFrame] | None = None
    tidy: Callable[[pd.DataFrame, View], pd.DataFrame] = lambda data, view: data  # the data for csv, json and parquet
    screen: Callable[[pd.DataFrame, View], PlainFigure | go.Figure] | None = None  # for html, and for pages
    printed: Callable[[pd.DataFrame, View, Page], PrintedFigure] | None = None  # for pictures; see _print.py
    latex: Callable[[pd.DataFrame, View, str], str] | None = None  # a table; the string names the source
    subtitle: Callable[[pd.DataFrame, View], str] = lambda data, view: ""  # text next to the title on the page
    name_parts: Callable[[View], list[str]] = lambda view: []  # parts of file names, besides benchmark and task
    has_data: Callable[[Selection], bool] | None = None  # the answer of `is_available` by one quick query
    document: Callable[[Selection], Any] | None = None  # for json, if there is no data
    uses_view: bool = True  # False: it shows all runs, whatever benchmark and task the view has
    has_legend: bool = False  # the printed version
    export_title: str = ""  # in the export dialog, where all figures stand next to each other; default: the title
    is_first: bool = False  # the export dialog opens with it if it has something to show
    place: int | None = None  # position among the plots on the page Explore; None: not shown there
    controls: tuple[str, ...] = ()  # fields of the view that this plot uses, but not every plot

    def is_available(self, selection: Selection) -> bool:
        """Test whether `data` works without a UsageError. Pages call this in every rerun; `has_data` makes it quick."""
        if self.has_data:
            return self.has_data(selection)
        try:
            if self.data:
                self.data(selection)
        except UsageError:
            return False
        return True

    def drawn(self, selection: Selection) -> tuple[PlainFigure, str]:
        """Return the version for the screen, and the subtitle as plain text."""
        assert self.data, "a figure for pages has data"
        assert self.screen, "a figure for pages can be shown"
        data, view = self.data(selection), selection.view
        return cast("PlainFigure", self.screen(data, view)), re.sub("<.*?>", "", self.subtitle(data, view))

    @property
    def formats(self) -> tuple[str, ...]:
        version = {
            **dict.fromkeys((*PICTURES, LATEX_FIGURE), self.printed),
            **dict.fromkeys(("csv", "parquet"), self.data),
            **{"html": self.screen, "latex": self.latex, "json": self.data or self.document},
        }
        return tuple(format for format in FORMATS if version[format])


FIGURES: dict[str, Figure] = {}


def register(figure: Figure) -> None:
    FIGURES[figure.name] = figure


def load_figures() -> None:
    """Import every file of this folder, so that each registers its figure; those with the most formats come first."""
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__name__}.{module.name}")
    figures = sorted(FIGURES.values(), key=lambda figure: -len(figure.formats))
    FIGURES.clear()
    FIGURES.update({figure.name: figure for figure in figures})


def sweep_plots() -> dict[str, Figure]:
    """Return the figures that the page Explore offers, in their order there."""
    found = sorted((figure.place, name) for name, figure in FIGURES.items() if figure.place is not None)
    return {name: FIGURES[name] for _, name in found}


def mark_points(figure: PlainFigure, keys: Collection[str]) -> PlainFigure:
    """Return the figure with larger, thick-rimmed markers for the points with these keys."""

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
