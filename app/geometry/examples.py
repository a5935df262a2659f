"""The methods and the example vectors of the page Geometry."""

from typing import Any, NamedTuple

from mgem_core.config import RunConfig
from mgem_core.figures.style import family, of_family

SETTINGS: tuple[dict[str, Any], ...] = ({}, {"modules": 2}, {"splits": 2}, {"splits": 2, "solver": "approx"})


class Preset(NamedTuple):
    """Example vectors in space; in the plane, the last coordinate is left out. The name describes both views."""

    name: str
    about: str
    g: tuple[float, float, float]
    g1: tuple[float, float, float]
    g2: tuple[float, float, float]
    methods: tuple[str, ...]  # the families that are shown


def methods() -> list[dict[str, Any]]:
    """Return the methods with the names, colours and symbols that they have on all pages."""
    found = []
    for settings in SETTINGS:
        config = RunConfig(**settings)
        name, style = family(config.label), of_family(family(config.label))
        look = {"label": config.label, "family": name, "color": style.color, "symbol": style.symbol}
        knobs = {"modules": config.modules, "splits": config.splits, "solver": config.solver}
        found.append({**look, **knobs, "restriction": config.restriction.as_json()})
    return found


FAMILIES = tuple(method["family"] for method in methods())

PRESETS = (
    Preset(
        "Conflict",
        "g hurts the memory, and every method finds a different z.",
        g=(-1.5, 1.3, 1.0),
        g1=(1.2, 0.9, -0.4),
        g2=(0.9, -0.2, -0.5),
        methods=FAMILIES,
    ),
    Preset(
        "Agreement",
        "g helps both splits of the memory, and no method changes it.",
        g=(0.6, 1.1, 0.5),
        g1=(1.4, 0.5, 0.8),
        g2=(0.2, 1.4, 0.6),
        methods=FAMILIES,
    ),
    Preset(
        "Counterexample to Proposition 2",
        "g hurts one split but helps the memory as a whole: d-mGEM keeps less of ⟨ĝₛ,z⟩ than GEM.",
        g=(-1.0, 1.0, 0.8),
        g1=(1.0, 0.0, 0.0),
        g2=(-3.0, 1.0, 0.0),
        methods=("GEM", "d-mGEM"),
    ),
    Preset(
        "Over-correction by approx-GEM",
        "The rows of the splits are nearly parallel: the closed form corrects g for each, and goes farther than necessary.",
        g=(-1.4, 0.9, 0.4),
        g1=(1.2, 0.5, 0.3),
        g2=(1.0, 0.7, 0.2),
        methods=("d-mGEM", "approx-GEM"),
    ),
)
