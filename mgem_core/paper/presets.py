"""The presets: sweeps that come with mGEM Explorer, as data."""

from typing import Any, NamedTuple

from mgem_core.config.sweeps import SweepSpec
from mgem_core.paper.tables import GRIDS, SCALES, SHORT_STRENGTHS, TABLES, VALIDATION, Scale, sweep_of
from mgem_core.restriction.restriction import CONVENTIONS


class Preset(NamedTuple):
    title: str
    description: str
    spec: SweepSpec


def _spec(base: dict[str, Any], *grids: dict[str, list[Any]], **common: list[Any]) -> SweepSpec:
    return SweepSpec(base=base, grid=[{**grid, **common} for grid in grids or ({},)])


def _recorded_spec(base: dict[str, Any], *grids: dict[str, list[Any]], **common: list[Any]) -> SweepSpec:
    """Return a sweep with recordings, for the curves of the lens."""
    return _spec({**base, **CONVENTIONS["on-conflict"].fields}, *grids, **common).with_default_record()


STRENGTHS = [0.0, 0.1, 0.3, 1.0, 3.0, 10.0]  # the trade-off begins beyond 1
SHORT: dict[str, Any] = {"benchmark": "mnist5k-rotations", "tasks": 3, "iterations": 100, "memory": 240, "probe_every": 5}

EXAMPLE = "rotated-digits"  # its finished results come with the tool (published/example.py), and *Run it live* trains it
_FAMILY: tuple[dict[str, list[Any]], ...] = ({"modules": [1, 2, 4, 6]}, {"splits": [2, 3, 6]})  # GEM, p-mGEM and d-mGEM

_BUILT_IN: dict[str, Preset] = {
    EXAMPLE: Preset(
        "Rotated digits",
        "GEM, p-mGEM, d-mGEM and ER on three tasks of rotated digits, with recordings of GEM",
        _recorded_spec(
            {**SHORT, "memory": 252},  # which can be divided into 2, 3 and 6
            *({**lines, "strength": STRENGTHS} for lines in _FAMILY),
            {"method": ["er"]},
            seed=[0, 1, 2, 3, 4, 5],
        ),
    ),
    "quick-look": Preset(
        "Quick look",
        "Plain SGD, GEM and d-mGEM(2) with six memory strengths, on three tasks of rotated digits",
        _recorded_spec(
            {**SHORT, "iterations": 60, "memory": 128},
            {"method": ["single"]},
            {"splits": [1, 2], "strength": STRENGTHS},
            seed=[0, 1, 2, 3],
        ),
    ),
    "modules-against-strength": Preset(
        "Modules against strength",
        "GEM and p-mGEM with two to six modules and six memory strengths, on three tasks of rotated digits",
        _recorded_spec(SHORT, modules=[1, 2, 3, 4, 5, 6], strength=STRENGTHS, seed=[0, 1, 2, 3, 4, 5]),
    ),
    "splits-against-strength": Preset(
        "Splits against strength",
        "GEM and d-mGEM with two, three and six memory splits and six strengths, on three tasks of rotated digits",
        _recorded_spec(SHORT, splits=[1, 2, 3, 6], strength=STRENGTHS, seed=[0, 1, 2, 3, 4, 5]),
    ),
    "digit-domains": Preset(
        "Digits of four domains",
        "The paper's methods on a small Digit-Five of built-in and rendered digits; strengths can be chosen by validation",
        _spec(
            {"benchmark": "digits-domains", "iterations": 40, "validation": VALIDATION, "probe_every": 0},
            {"method": ["single", "independent", "ewc"]},
            {"modules": [1, 4], "splits": [1, 2], "strength": [0.0, 0.3, 1.0, 3.0]},
            seed=[0, 1, 2, 3],
        ),
    ),
    "pacs-pairs": Preset(
        "Two pairs of domains of PACS",
        "Photographs first, then cartoons or sketches: 5 classes each, 25 steps per task",
        _spec(
            {"benchmark": "pacs", "iterations": 25, "validation": VALIDATION, "probe_every": 0},
            {"method": ["single", "independent"]},
            {"strength": [0.0, 0.3, 1.0]},
            {"modules": ["layers"], "splits": [2], "strength": [0.0, 0.3, 1.0], "solver": ["exact", "approx"]},
            domains=["photo+cartoon", "photo+sketch"],
            seed=[0, 1],
        ),
    ),
    "built-in-digits": Preset(
        "The paper's methods on built-in digits",
        "The paper's methods on all built-in benchmarks",
        _spec(
            {},
            benchmark=["mnist5k-permutations", "mnist5k-rotations", "mnist5k-split"],
            method=["single", "independent", "ewc", "mer", "gem"],
            modules=[1, 4],
            splits=[1, 2],
            seed=[0, 1, 2],
        ),
    ),
}

_CIFAR = {"benchmark": "split-cifar100", "validation": VALIDATION}
_SHORT_CIFAR = {**_CIFAR, "tasks": 3, "iterations": 20, "memory": 32, "lr": 0.003, "probe_every": 0}
# Every step is restricted, with a floor in the dual: with GEM's own trigger, all strengths give the same point where no
# restriction is violated.
_TWO_TASKS = {"benchmark": "split-cifar100", "tasks": 2, "trigger": "always"}
_SHORT_TEN = {"benchmark": "split-cifar100-10", "tasks": 2, "iterations": 10, "memory": 16, "probe_every": 0}
_PAPER_STRENGTHS = [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0]


def _lines(base: dict[str, Any], modules: list[int], splits: list[int], strengths: list[float], seeds: int) -> SweepSpec:
    """Return a sweep of GEM, p-mGEM with each number of modules, and d-mGEM with each number of splits."""
    partitions = {"modules": [1, *modules]}, {"splits": splits}
    return _spec(base, *partitions, strength=strengths, seed=list(range(seeds)))


def _architectures(base: dict[str, Any], seeds: int) -> SweepSpec:
    finer: dict[str, list[Any]] = {"modules": ["layers"], "splits": [2]}
    networks = ["alexnet", "vgg11-bn", "vgg16-bn", "resnet18"]
    return _spec(base, {}, finer, {**finer, "solver": ["approx"]}, network=networks, seed=list(range(seeds)))


# The runs of each figure, and what it shows or, at the short scale, what is left out.
_FIGURES: dict[str, dict[Scale, tuple[SweepSpec, str]]] = {
    "figure-2": {
        "paper": (
            _lines({**_TWO_TASKS, "probe_every": 10}, [2, 3, 5, 9], [2, 3], _PAPER_STRENGTHS, 4),
            "⟨g_s,z⟩ against ⟨g_t,z⟩ in the second task of Split CIFAR100",
        ),
        "short": (
            _lines({**_TWO_TASKS, "iterations": 20, "memory": 32, "probe_every": 10}, [9], [2], SHORT_STRENGTHS, 2),
            "20 of the 100 steps per task, half the memory, 3 of the 7 lines, 4 strengths, 2 seeds",
        ),
    },
    "figure-3": {
        "paper": (
            _lines({**_CIFAR, "probe_every": 0}, [2, 3, 5, 9], [2, 3], _PAPER_STRENGTHS, 3),
            "BWD against FWD after 20 tasks of Split CIFAR100",
        ),
        "short": (
            _lines(_SHORT_CIFAR, [9], [2], SHORT_STRENGTHS, 4),
            "3 of the 20 tasks, 20 of the 100 steps per task, half the memory, 3 of the 7 lines, 4 strengths, 4 seeds",
        ),
    },
    "figure-4": {
        "paper": (
            _architectures({"benchmark": "split-cifar100-10", "probe_every": 0}, 3),
            "GEM, md-GEM and approx-GEM with four networks on 10 × 10 classes of CIFAR100",
        ),
        "short": (
            _architectures(_SHORT_TEN, 1),
            "2 of the 10 tasks, 10 of the 100 steps per task, a quarter of the memory, one of the three seeds",
        ),
    },
}


def _figure_preset(name: str, scale: Scale) -> Preset:
    spec, what = _FIGURES[name][scale]
    title = f"Figure {name[-1]}"
    if scale == "paper":
        return Preset(f"{title} (as in the paper)", what, spec)
    return Preset(f"{title} (short)", f"{_FIGURES[name]['paper'][1]}: {what}", spec)


def _table_preset(name: str, scale: Scale) -> Preset:
    table = TABLES[name]
    whole = ("as in the paper", "At the scale of the paper.") if any(row.acc for row in table.rows) else ("whole", "")
    title, what = whole if scale == "paper" else ("short", table.cut)
    strengths, seeds = GRIDS[scale]
    runs = f"All rows of {table.title}, with {len(strengths)} strengths and {len(seeds)} seeds"
    return Preset(f"{table.title} ({title})", f"{what} {runs}".strip(), sweep_of(table, scale))


def _names(name: str) -> dict[str, Scale]:
    """Return the names of a table's or figure's presets with their scales: "figure-2" and "figure-2-short"."""
    return {name if scale == "paper" else f"{name}-{scale}": scale for scale in SCALES}


PRESETS: dict[str, Preset] = {
    **_BUILT_IN,
    **{preset: _table_preset(name, scale) for name in TABLES for preset, scale in _names(name).items()},
    **{preset: _figure_preset(name, scale) for name in _FIGURES for preset, scale in _names(name).items()},
}
