"""Export figures to files, with the same numbers as on the screen."""

import io
import json
import re
from math import isfinite
from typing import Any

import pandas as pd

from mgem_core.analysis.aggregate import View
from mgem_core.errors import check_choice
from mgem_core.figures import FIGURES, Figure, _print, _screen
from mgem_core.figures.latex_figure import latex_figure
from mgem_core.figures.page import LATEX_FIGURE, ONE_COLUMN, PICTURES, Page, ending
from mgem_core.figures.selection import Selection


def export(selection: Selection, name: str, format: str, page: Page = ONE_COLUMN) -> bytes:
    """Return the content of a file with the figure of this name; raise a UsageError if it cannot be made.

    `page` decides how pictures are printed, and the caption of the web page and of the LaTeX figure with the picture.
    """
    check_choice("what", name, FIGURES)
    figure = FIGURES[name]
    check_choice(f"format of {name}", format, figure.formats)
    if figure.document:
        return _json(figure.document(selection))
    assert figure.data, "a figure without a document has data"
    return render(selection, figure, figure.data(selection), format, page)


def render(selection: Selection, figure: Figure, data: pd.DataFrame, format: str, page: Page = ONE_COLUMN) -> bytes:
    """Return the content of a file that shows this data of a figure."""
    view = selection.view
    if format in PICTURES and figure.printed:
        return _print.as_bytes(figure.printed(data, view, page), format)
    if format == LATEX_FIGURE:
        picture = file_name(selection.name(), figure, "pdf", view, page)
        return latex_figure(picture, page, caption(figure, data, view), figure.name).encode()
    if format == "html" and figure.screen:
        return _screen.as_page(figure.screen(data, view), figure.title, page.caption or caption(figure, data, view))
    if format == "latex" and figure.latex:
        return figure.latex(data, view, selection.source()).encode()
    return table_file(figure.tidy(data, view), format)


def table_file(frame: pd.DataFrame, format: str) -> bytes:
    """Return the frame as csv, json (a list of records) or parquet, with all digits of its numbers."""
    if format == "csv":
        return str(frame.to_csv(index=False, lineterminator="\n")).encode()
    if format == "json":
        records = frame.to_dict("records")
        return _json([{column: _json_value(value) for column, value in record.items()} for record in records])
    file = io.BytesIO()
    frame.to_parquet(file, engine="pyarrow", index=False)
    return file.getvalue()


def _json(document: Any) -> bytes:
    return (json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2) + "\n").encode()


def _json_value(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by None."""
    return None if isinstance(value, float) and not isfinite(value) else value


def caption(figure: Figure, data: pd.DataFrame, view: View) -> str:
    """Describe the figure as it does on the page, such as "Transfer: dashed: equal ACC; mean over 6 seeds."."""
    plain = re.sub("<.*?>", "", re.sub("<sub>(.*?)</sub>", r"_\1", figure.subtitle(data, view)))
    return ": ".join(filter(None, [figure.title, plain.replace(" · ", "; ")])) + "."


def file_name(runs: str, figure: Figure, format: str, view: View, page: Page = ONE_COLUMN) -> str:
    """Build a file name from runs, figure and view, such as quick-look-s3_frontier_per-unit_task1-task2.pdf."""
    parts = [runs, figure.name, *figure.name_parts(view)]
    if figure.uses_view:
        parts += [view.benchmark, "" if view.after is None else f"after-task{view.after}"]
    if format in (*PICTURES, LATEX_FIGURE):
        parts += page.name_parts()
    safe = (re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.") for part in parts)
    return f"{'_'.join(filter(None, safe))}.{ending(format)}"
