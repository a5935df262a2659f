"""Find places for labels in a plot, next to the ends of lines and along reference lines, so that no two overlap.

A place is given as shares of the plot's width and height, from 0 to 1. A plot on the screen may be wide or narrow, while a
label always takes the same number of pixels, so labels are placed to fit all given sizes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Size = tuple[float, float]  # width and height, in pixels or points
Place = tuple[float, float]
Obstacles = NDArray[np.float64]  # [n, 3]: x and y of a place, and the space around it
SCREEN: tuple[Size, ...] = ((450, 300), (210, 300))  # approximate sizes on a desktop and on a phone
MARKER, LINE = 7.0, 2.0  # the space that a marker and a line take on each side
PIECES = 16  # number of pieces into which a line between two points is cut to find what it crosses
OFFSET = 12.0  # distance of a label from the end of its line


class Label(NamedTuple):
    """A label whose lower left corner is `offset` pixels away from a place."""

    place: Place
    offset: Size
    size: Size

    def box(self, plot: Size) -> tuple[float, float, float, float]:
        """Return left, bottom, right and top in a plot of this size."""
        left, bottom = (share * whole + shift for share, whole, shift in zip(self.place, plot, self.offset, strict=True))
        return left, bottom, left + self.size[0], bottom + self.size[1]


def end_labels(ends: Sequence[Place], sizes: Sequence[Size]) -> list[Label]:
    """Put labels to the right of these places, and move them up or down, towards the middle, where they would overlap."""
    is_high = sum(y for _, y in ends) > len(ends) / 2
    labels: dict[int, Label] = {}
    for i in sorted(range(len(ends)), key=lambda i: ends[i][1], reverse=is_high):
        label = Label(ends[i], (OFFSET, -sizes[i][1] / 2), sizes[i])
        while any(overlap(label, other, SCREEN) for other in labels.values()):
            label = label._replace(offset=(OFFSET, label.offset[1] + (-1 if is_high else 1)))
        labels[i] = label
    return [labels[i] for i in range(len(ends))]


def overlap(one: Label, other: Label, plots: Sequence[Size]) -> bool:
    boxes = [(one.box(plot), other.box(plot)) for plot in plots]
    return any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for a, b in boxes)


def free_label(
    places: Sequence[Place],
    size: Size,
    obstacles: Obstacles,
    labels: Sequence[Label],
    plots: Sequence[Size] = SCREEN,
) -> Label | None:
    """Put a label to the upper right of the first place where it covers nothing; None if there is no such place."""
    for place in places:
        label = Label(place, (2, 1), size)
        boxes = [(label.box(plot), plot) for plot in plots]
        is_inside = all(right <= plot[0] and top <= plot[1] for (_, _, right, top), plot in boxes)
        is_covered = any(overlap(label, other, plots) for other in labels)
        if is_inside and not is_covered and not any(_covers(box, obstacles, plot) for box, plot in boxes):
            return label
    return None


def _covers(box: tuple[float, float, float, float], obstacles: Obstacles, plot: Size) -> bool:
    left, bottom, right, top = box
    x, y, room = obstacles.T * [[plot[0]], [plot[1]], [1.0]]
    return bool(((left - room < x) & (x < right + room) & (bottom - room < y) & (y < top + room)).any())


def along(ends: Sequence[Place]) -> list[Place]:
    """Return places along a line, beginning with those near its ends."""
    (x0, y0), (x1, y1) = ends
    shares = sorted(np.linspace(0, 1, 25), key=lambda share: (min(share, 1 - share), share))
    return [(x0 + share * (x1 - x0), y0 + share * (y1 - y0)) for share in shares]


def obstacles_of(points: Sequence[Place], marker: float = MARKER) -> Obstacles:
    """Return the markers of a line and closely spaced places between them."""
    at = np.array(points, float).reshape(-1, 2)
    shares = np.linspace(0, 1, PIECES, endpoint=False)[:, None, None]
    between = (at[:-1] + shares * (at[1:] - at[:-1])).reshape(-1, 2)
    return np.vstack([np.insert(between, 2, LINE, axis=1), np.insert(at, 2, marker, axis=1)])
