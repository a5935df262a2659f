"""Legends of printed figures: below the axes, or inside them where they cover nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mgem_core.errors import UsageError
from mgem_core.figures.page import Page

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.path import Path
    from matplotlib.transforms import Bbox

MOST_COLUMNS = 8
LETTERS = 19  # of a legend's entry that fit in an inch
LOOK: dict[str, Any] = {"handlelength": 2.4, "columnspacing": 1.2}
PLACES: tuple[Any, ...] = (
    "upper right",
    "upper left",
    "lower left",
    "lower right",
    "center right",
    "center left",
    "upper center",
)
MOST_OF_AXES = 0.6  # the largest share of the height of the axes that a legend may take
CLEARANCE = 3.0  # least distance of a legend from what is drawn, in points


def draw_legend(figure: Figure, handles: Sequence[Artist], page: Page) -> None:
    """Draw a legend of all handles; call this last, because the figure grows by the height that the legend needs."""
    if not handles:
        return
    for handle in handles:
        handle.set_label(textwrap.fill(str(handle.get_label()), round(LETTERS * page.width)))
    (_draw_inside if page.legend == "inside" else _draw_below)(figure, handles)


def _draw_below(figure: Figure, handles: Sequence[Artist]) -> None:
    def draw(columns: int) -> Legend:
        return figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, **LOOK)

    legend = _widest(draw, len(handles), figure.bbox.width)
    _grow(figure, legend.get_window_extent().height)


def _draw_inside(figure: Figure, handles: Sequence[Artist]) -> None:
    """Put the legend where it covers nothing; if there is no such place, make one above everything."""
    axes = figure.axes[0]
    look = {"framealpha": 0.9, "edgecolor": "none", "borderaxespad": 0.4, **LOOK}

    def draw(columns: int) -> Legend:
        return axes.legend(handles=handles, loc="upper center", ncols=columns, **look)

    figure.draw_without_rendering()  # gives the axes their final size
    space = CLEARANCE * figure.dpi / 72
    for columns in (1, 2, 3):
        legend = draw(columns)
        size = legend.get_window_extent()
        for place in PLACES if size.width <= axes.bbox.width and size.height <= axes.bbox.height else ():
            legend.set_loc(place)
            if not _covers(axes, legend.get_window_extent().padded(space)):
                return
    legend = _widest(draw, len(handles), axes.bbox.width)
    needed = legend.get_window_extent().height + 3 * space
    height = axes.bbox.height + needed / len(figure.axes)  # after the figure has grown
    if needed > MOST_OF_AXES * height:
        raise UsageError(f"legend is 'inside', but its {len(handles)} entries do not fit into the axes; use outside.")
    low, high = axes.get_ylim()
    axes.set_ylim(low, low + (high - low) * height / (height - needed))
    _grow(figure, needed)


def _widest(draw: Callable[[int], Legend], entries: int, width: float) -> Legend:
    """Draw a legend in as many columns as fit, and no more than its number of rows needs."""
    for most in range(min(entries, MOST_COLUMNS), 0, -1):
        rows = -(-entries // most)
        legend = draw(-(-entries // rows))
        if most == 1 or legend.get_window_extent().width <= width:
            break
        legend.remove()
    return legend


def _grow(figure: Figure, pixels: float) -> None:
    figure.set_figheight(figure.get_figheight() + pixels / figure.dpi)


def _covers(axes: Axes, box: Bbox) -> bool:
    """Test whether lines, markers, error bars, areas, bars or texts of the axes reach into a box, in pixels."""
    from matplotlib.collections import LineCollection, PathCollection

    def reaches(artist: Any, path: Path, filled: bool) -> bool:
        return bool(artist.get_transform().transform_path(path).intersects_bbox(box, filled))

    return (
        any(reaches(line, line.get_path(), filled=False) for line in axes.lines)
        or any(reaches(patch, patch.get_path(), filled=True) for patch in axes.patches)
        or any(text.get_window_extent().overlaps(box) for text in axes.texts)
        or any(
            box.count_contains(markers.get_offset_transform().transform(markers.get_offsets()))
            for markers in axes.collections
            if isinstance(markers, PathCollection)
        )
        or any(
            reaches(collection, path, filled=not isinstance(collection, LineCollection))
            for collection in axes.collections
            if not isinstance(collection, PathCollection)
            for path in collection.get_paths()
        )
    )
