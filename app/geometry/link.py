"""The state of the page Geometry in its URL; the browser writes it (js/geometry.js)."""

from collections.abc import Mapping
from typing import Any

from text import quote

from geometry.examples import FAMILIES
from mgem_core import UsageError

VECTORS = ("g", "g1", "g2")
LARGEST = 100.0  # limit of a coordinate
MOST_STRENGTH = 3.0  # the end of the slider
CHOICES = {"kind": ("dual-floor", "margin"), "trigger": ("violation", "always")}


def read_link(query: Mapping[str, str]) -> dict[str, Any]:
    """Parse the state that the URL sets; raise an error that names the first invalid parameter."""
    start: dict[str, Any] = {}
    vectors = {name: _numbers(name, query[name], (2, 3), LARGEST) for name in VECTORS if name in query}
    if vectors:
        if len(vectors) < len(VECTORS) or len({len(vector) for vector in vectors.values()}) > 1:
            raise UsageError("g, g1 and g2 must be given together, all with 2 numbers or all with 3")
        start = {name: [*vector, 0.0][:3] for name, vector in vectors.items()} | {"dimensions": len(vectors["g"])}
    if "strength" in query:
        [start["strength"]] = _numbers("strength", query["strength"], (1,), MOST_STRENGTH, least=0.0)
    if "turn" in query:
        turn, tilt = _numbers("turn", query["turn"], (2,), 180.0)
        start["turn"] = [turn, min(90.0, max(0.0, tilt))]
    for name, allowed in CHOICES.items():
        if name in query:
            if query[name] not in allowed:
                raise UsageError(f"{name} is “{quote(query[name])}”; it must be {' or '.join(allowed)}")
            start[name] = query[name]
    if "methods" in query:
        chosen = query["methods"].split(",") if query["methods"] else []
        if not set(chosen) <= set(FAMILIES):
            raise UsageError(f"methods is “{quote(query['methods'])}”; it must be some of {', '.join(FAMILIES)}")
        start["methods"] = [name for name in FAMILIES if name in chosen]
    return start


def _numbers(name: str, text: str, counts: tuple[int, ...], most: float, least: float | None = None) -> list[float]:
    least = -most if least is None else least
    try:
        numbers = [round(float(part), 3) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in counts or not all(least <= number <= most for number in numbers):
        count = " or ".join(map(str, counts))
        wanted = f"{count} numbers" if counts != (1,) else "a number"
        raise UsageError(f"{name} is “{quote(text)}”; it must be {wanted} from {least:g} to {most:g}")
    return numbers
