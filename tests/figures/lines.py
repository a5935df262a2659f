"""Lines in printed figures."""

from typing import Any


def drawn_line(axes: Any, color: str) -> tuple[Any, dict[str, int]]:
    """The joined line of this colour, and the number of its markers by the colour of their faces."""
    lines = [line for line in axes.lines if line.get_color() == color or line.get_markeredgecolor() == color]
    (joined,) = (line for line in lines if line.get_linestyle() != "None")
    markers = [line for line in lines if line.get_linestyle() == "None"]
    return joined, {line.get_markerfacecolor(): len(line.get_xdata()) for line in markers}


def legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.figure.legends[0].texts]
