"""Bundles of curves that coincide in a plot, which get one label, as `app/explore/js/lines.js` does on the page."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def bundles_of(curves: Sequence[Floats], most: float) -> list[list[int]]:
    """Group curves [points, 2], in points of the page, that are nowhere farther apart than `most`; as indices."""
    bundles: list[list[int]] = []
    for i, curve in enumerate(curves):
        for bundle in bundles:
            first = curves[bundle[0]]
            if max(_farthest(curve, first), _farthest(first, curve)) <= most:
                bundle.append(i)
                break
        else:
            bundles.append([i])
    return bundles


def _farthest(points: Floats, curve: Floats) -> float:
    """Return the largest distance of points from a curve."""
    if not len(points) or len(curve) < 2:
        return float("inf")
    start, way = curve[:-1], np.diff(curve, axis=0)
    from_start = points[:, None] - start
    lengths = np.maximum((way**2).sum(axis=1), 1e-300)
    share = np.clip((from_start * way).sum(axis=2) / lengths, 0, 1)
    distances = np.linalg.norm(from_start - share[..., None] * way, axis=2)
    return float(distances.min(axis=1).max())


def join_names(names: Sequence[str], ordered: Sequence[str]) -> str:
    """Return one name for several lines: "p-mGEM(2–6)", or "d-mGEM(2, 6)" if numbers between them are other lines."""
    kinds = dict.fromkeys(name.partition("(")[0] for name in names)
    return ", ".join(_join_numbers(kind, names, ordered) for kind in kinds)


def _join_numbers(kind: str, names: Sequence[str], ordered: Sequence[str]) -> str:
    of_kind = [name for name in ordered if name.partition("(")[0] == kind]
    joined = [name for name in of_kind if name in names]
    if not all(re.fullmatch(r"[^(]*\([0-9]+\)", name) for name in joined):  # GEM, md-GEM(4,2), p-mGEM(2*)
        return ", ".join(joined)
    runs: list[list[int]] = []  # positions of neighbours
    for name in joined:
        place = of_kind.index(name)
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    numbers = [[of_kind[place][len(kind) + 1 : -1] for place in (run[0], run[-1])] for run in runs]
    return f"{kind}({', '.join(low if low == high else f'{low}–{high}' for low, high in numbers)})"
