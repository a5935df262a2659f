"""The choices of a printed figure: as wide as a column or a page of a paper, the place of its legend, and its caption."""

from dataclasses import dataclass

from mgem_core.errors import check_choice

WIDTHS = {1: 3.5, 2: 7.0}  # inches, of one column and of both columns of a paper
HEIGHTS = {1: 2.35, 2: 2.9}  # inches, of axes with their titles, without legend
LEGENDS = ("outside", "inside")
PICTURES = ("png", "svg", "pdf")
LATEX_FIGURE = "latex-figure"
WITH_CAPTION = (LATEX_FIGURE, "html")


@dataclass(frozen=True)
class Page:
    columns: int = 1
    legend: str = "outside"  # outside: below the axes
    caption: str = ""  # of the LaTeX figure and the web page; empty: a description of the figure

    def __post_init__(self) -> None:
        check_choice("columns", self.columns, WIDTHS)
        check_choice("legend", self.legend, LEGENDS)

    @property
    def width(self) -> float:
        return WIDTHS[self.columns]

    @property
    def height(self) -> float:
        return HEIGHTS[self.columns]

    @property
    def axes_size(self) -> tuple[float, float]:
        """Return the approximate size of the axes without their titles, in points."""
        return 72 * self.width - 50, 72 * self.height - 40

    def name_parts(self) -> list[str]:
        """Return the parts of the names of pictures that differ from the default."""
        width = "two-columns" if self.columns == 2 else ""
        return [width, "legend-inside" if self.legend == "inside" else ""]


ONE_COLUMN = Page()


def ending(format: str) -> str:
    """Return the ending of the names of files in a format."""
    return {"latex": "tex", LATEX_FIGURE: "figure.tex"}.get(format, format)
