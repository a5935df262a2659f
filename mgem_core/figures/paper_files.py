"""Export the tables and figures of the paper, next to our runs, to files."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from mgem_core.analysis.aggregate import Axes, View
from mgem_core.errors import UsageError
from mgem_core.figures import FIGURES, cones, samples
from mgem_core.figures.files import export, table_file
from mgem_core.figures.latex_figure import latex_figure
from mgem_core.figures.page import LATEX_FIGURE, ONE_COLUMN, PICTURES, Page, ending
from mgem_core.figures.paper_differences import with_differences
from mgem_core.figures.paper_table import Entry, latex, tidy
from mgem_core.figures.published_selection import select_published
from mgem_core.paper import published
from mgem_core.paper.tables import FIGURES as PAPER_FIGURES
from mgem_core.paper.tables import Scale, Table

FORMATS = ("csv", "latex", "json", "parquet")  # of tables
WITHOUT_RUNS: dict[str, tuple[tuple[str, ...], Callable[[str, Page], bytes]]] = {  # figures: formats, and what draws them
    "figure-1": (cones.FORMATS, cones.as_file),
    "figure-5": (samples.FORMATS, samples.as_file),
}


def as_file(table: Table, scale: Scale, found: Sequence[Entry], format: str) -> bytes:
    """Return the content of a file with a table of the paper, in one of FORMATS."""
    if format == "latex":
        return latex(table, scale, found).encode()
    return table_file(with_differences(tidy(table, scale, found), found), format)


def file_name(table: Table, scale: Scale, format: str) -> str:
    return f"{table.name}_{scale}.{ending(format)}"


def figure_file_name(name: str, axes: Axes, format: str, page: Page = ONE_COLUMN) -> str:
    parts = [name, axes if PAPER_FIGURES[name].has_axes else ""]
    parts += page.name_parts() if format in (*PICTURES, LATEX_FIGURE) else []
    return f"{'_'.join(filter(None, parts))}.{ending(format)}"


def figure_formats(name: str) -> tuple[str, ...]:
    """Return the formats of a figure of the paper."""
    shown_by = PAPER_FIGURES[name].shown_by
    return FIGURES[shown_by].formats if shown_by else WITHOUT_RUNS[name][0]


def figure_has_legend(name: str) -> bool:
    shown_by = PAPER_FIGURES[name].shown_by
    return bool(shown_by) and FIGURES[shown_by].has_legend


def figure_file(name: str, axes: Axes, format: str, page: Page = ONE_COLUMN) -> bytes:
    """Return the content of a file with a figure of the paper, drawn from the results that come with the tool."""
    shown_by, described = PAPER_FIGURES[name].shown_by, PAPER_FIGURES[name].caption
    page = replace(page, caption=page.caption or described)
    if format == LATEX_FIGURE:
        return latex_figure(figure_file_name(name, axes, "pdf", page), page, described, name).encode()
    if not shown_by:
        return WITHOUT_RUNS[name][1](format, page)
    if published.read(name)[0].empty:
        raise UsageError(f"no results of ours for {name} come with this version; run its preset and export the sweep.")
    return export(select_published(name, View(axes=axes)), shown_by, format, page)
