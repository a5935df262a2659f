"""Options of printed figures: how wide they are, where the legend is, and the caption."""

import argparse

from mgem_core import UsageError
from mgem_core.figures.page import LATEX_FIGURE, LEGENDS, PICTURES, WIDTHS, WITH_CAPTION, Page

PRINTED = (*PICTURES, LATEX_FIGURE)


def add_page_options(parser: argparse.ArgumentParser) -> None:
    columns = f"width of a printed figure, in columns of a paper: {' or '.join(map(str, WIDTHS))} [1]"
    parser.add_argument("--columns", metavar="X", help=columns)
    parser.add_argument("--legend", metavar="X", help=f"place of the legend: {', '.join(LEGENDS)} the axes [outside]")
    caption = f"caption of --format {' and '.join(WITH_CAPTION)}; $…$ is mathematics [a description of the figure]"
    parser.add_argument("--caption", metavar="TEXT", help=caption)


def read_page(options: argparse.Namespace, what: str, format: str | None, has_legend: bool) -> Page:
    """Return the page that the options describe; raise a UsageError if one has no effect on this figure or format."""
    given = {name: value for name in ("columns", "legend", "caption") if (value := getattr(options, name)) is not None}
    for name, value in given.items():
        formats = WITH_CAPTION if name == "caption" else PRINTED
        if format not in formats:
            raise UsageError(f"{name} is {value!r}, which has an effect only with --format {', '.join(formats)}.")
    if "legend" in given and not has_legend:
        raise UsageError(f"legend is {given['legend']!r}, but {what} has no legend; leave it out.")
    if given.get("columns", "").isdecimal():
        given["columns"] = int(given["columns"])
    return Page(**given)
