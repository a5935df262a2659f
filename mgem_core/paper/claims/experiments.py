"""What tests each claim: sweeps to train, and pictures of the dashboard in which anybody can try it."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from mgem_core.config.sweeps import SweepSpec
from mgem_core.paper.claims.theory import counterexample
from mgem_core.paper.presets import PRESETS
from mgem_core.paper.tables import TABLES, sweep_of

SEEDS = list(range(6))  # of short sweeps; comparisons need at least four seeds that chose no settings
BUILT_IN = {"table-1-permutations": "mnist5k-permutations", "table-1-rotations-shuffled": "mnist5k-rotations"}
GENERALISATION = SweepSpec(  # of the study "generalisation"
    base={"tasks": 2, "iterations": 100, "memory": 240, "probe_every": 10, "trigger": "always", "step_length": "gradient"},
    grid={"benchmark": [*BUILT_IN.values()][::-1], "strength": [0.0, 0.1, 0.3, 1.0, 3.0, 10.0], "seed": SEEDS},
)


COMPARED = "Explore then compares every line with GEM, under “Trained lines compared with GEM”."
AGAINST_STRENGTH = "Explore then shows ACC over the strengths, in the tab “Against strength”."
IN_TABLE = "Explore then lists ACC of every method, in its table."
SECONDS = "The page Runs then lists the seconds of every run; other work on the computer distorts them."
NETWORKS = "“Export” on Explore then has the figure “Networks”."


class Experiment(NamedTuple):
    """One way to test a claim: a sweep to train, or else an address on the dashboard."""

    title: str
    about: str  # what is trained or shown
    look: str = ""  # where the result is, once it is trained
    spec: SweepSpec | None = None
    address: str = ""  # "geometry?g=-1,1&…"; without a page, it is one of the page Explore


def generalisation() -> tuple[Experiment, ...]:
    about, look = "GEM with six strengths, with recordings.", "Explore then has the tab “Memory against truth”."
    return (Experiment("Built-in digits", about, look, GENERALISATION.with_default_record()),)


def frontier() -> tuple[Experiment, ...]:
    """Return the finished example, which needs no training, and Figure 2."""
    about = "Curves of all partitions, and their differences from GEM at equal retention. Nothing needs to be trained."
    short, paper = map(preset, ("figure-2-short", "figure-2"))
    assert short.spec
    enough = f"{short.about}; here with {len(SEEDS)} seeds"  # the preset has too few for a comparison
    return (
        Experiment("The finished example", about, address="?of=example"),
        short._replace(spec=_with_seeds(short.spec), about=enough, look=COMPARED),
        paper._replace(look=COMPARED),
    )


def times_of_networks() -> tuple[Experiment, ...]:
    return preset("figure-4-short"), preset("figure-4")


def accuracies_of_networks() -> tuple[Experiment, ...]:
    """Return Figure 4 as in the paper; at the short scale, networks learn nothing."""
    return (preset("figure-4"),)


def preset(name: str) -> Experiment:
    return Experiment(PRESETS[name].title, PRESETS[name].description, NETWORKS, PRESETS[name].spec)


def rows(table: str, labels: Sequence[str], look: str = COMPARED) -> tuple[Experiment, ...]:
    """Return sweeps of these rows of a table: on built-in digits, at the short scale, and as in the paper."""
    of, names = TABLES[table], ", ".join(labels)
    wanted = [row for row in of.rows if row.label in labels]
    benchmark = of.title.partition(" · ")[2]
    short = _with_seeds(sweep_of(of, "short", wanted))
    built_in = SweepSpec(base={**short.base, "benchmark": BUILT_IN[table]}, grid=short.grid)
    return (
        Experiment("Built-in digits", f"{names} on 5,000 digits that come with the tool. {of.cut}", look, built_in),
        Experiment(f"{benchmark}, short", f"{names}. {of.cut}", look, short),
        Experiment(
            f"{benchmark}, as in the paper", f"{names}, at the scale of the paper.", look, sweep_of(of, "paper", wanted)
        ),
    )


def _with_seeds(spec: SweepSpec) -> SweepSpec:
    return SweepSpec(base=spec.base, grid=[{**grid, "seed": SEEDS} for grid in spec.grids])


def over_correction() -> tuple[Experiment, ...]:
    """Return a picture in which approx-GEM goes too far, and the rows that compare it with md-GEM."""
    about = "Two nearly parallel memory gradients, which you can drag: approx-GEM goes farther than necessary."
    query = {"g": "-1.4,0.9", "g1": "1.2,0.5", "g2": "1,0.7", "methods": "d-mGEM,approx-GEM"}
    return _geometry(about, query), *rows("table-1-permutations", ["md-GEM", "approx-GEM(4,2)"], IN_TABLE)


def proposition(family: str) -> tuple[Experiment, ...]:
    """Return a picture of GEM and this family: with the counterexample, if the family has one with a single past task."""
    query, about = {"methods": f"GEM,{family}"}, f"Drag the gradients and compare ⟨ĝ_s,z⟩ of {family} with that of GEM."
    case = counterexample(family).iloc[0]
    if family == "d-mGEM":
        query |= _vectors(case["gradient"], case["rows"])
        about = f"The counterexample. {about}"
    return (_geometry(about, query),)


def floor_or_margin() -> tuple[Experiment, ...]:
    case = counterexample("strength").iloc[0]
    [row] = case["rows"]
    query = {**_vectors(case["gradient"], [row, row]), "strength": f"{case['strength']:g}", "methods": "GEM"}
    return (_geometry("Switch between a floor and a margin, and compare ⟨ĝ_s,z⟩.", query),)


def _geometry(about: str, query: dict[str, str]) -> Experiment:
    return Experiment("Geometry", about, address=f"geometry?{urlencode(query)}")


def _vectors(gradient: Sequence[float], rows: Sequence[Sequence[float]]) -> dict[str, str]:
    named = {"g": gradient, **{f"g{number}": row for number, row in enumerate(rows, 1)}}
    return {name: ",".join(f"{value:g}" for value in vector) for name, vector in named.items()}
