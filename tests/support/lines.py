"""Read the content of a printed figure from matplotlib's objects."""

from collections import Counter
from typing import Any

from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex


def drawn_line(axes: Any, color: str) -> tuple[Any, dict[str, int]]:
    """Return the joined line of this colour, and the number of its markers by face colour."""
    (joined,) = (line for line in axes.lines if line.get_color() == color)
    markers = [found for found in axes.collections if isinstance(found, PathCollection)]
    of_line = [found for found in markers if to_hex(found.get_edgecolors()[0]).upper() == color]
    return joined, Counter(to_hex(face).upper() for found in of_line for face in found.get_facecolors())


def legend(axes: Any) -> list[str]:
    """Return the entries of the legend, which is outside or inside the axes."""
    return [text.get_text() for text in (axes.get_legend() or axes.figure.legends[0]).texts]
