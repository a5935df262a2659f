"""Claims with a proof in the paper, and the small problems that contradict them."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from mgem_core.paper.claims.evidence import Deciding, Finding, judge, listed
from mgem_core.paper.claims.frontier import EVERY_STEP, FLOOR, MARGIN, range_in_words
from mgem_core.paper.presets import EXAMPLE
from mgem_core.paper.published.studies import read_study

TOLERANCE = 1e-6


def proposition_2_modules() -> Finding:
    """Compare what p-mGEM and GEM leave of a memory gradient, with one past task and with two."""
    problems, case = read_study("one-past-task"), counterexample("p-mGEM")
    worse, count = int(problems["worse"].sum()), int(problems["problems"].sum())
    gem, p_mgem = case["product"]["GEM"], case["product"]["p-mGEM"]
    sentences = (
        f"As stated, for one past task, it {'does not hold' if worse else 'holds'}: p-mGEM leaves less than GEM in {worse} "
        f"of {count:,} random problems, half of them with margins.",
        f"The generalisation to several past tasks, which the paper calls straightforward, "
        f"{'holds in our example' if p_mgem >= gem - TOLERANCE else 'does not hold'}: with the memory gradients "
        f"{_vectors(case['rows'].iloc[0])}, the gradient {_vector(case['gradient'].iloc[0])}, no margin and a module per "
        f"parameter, GEM leaves {gem:g} of the first, p-mGEM {p_mgem:g}.",
        "The proposition is about margins γ and says nothing about a floor q, which our tables have.",
    )
    numbers = {"random problems with less than GEM": float(worse), "GEM": gem, "p-mGEM": p_mgem}
    about = (
        f"⟨ĝ_s,z⟩ of p-mGEM and of GEM with two past tasks; with one, p-mGEM is below GEM in {worse} of {count:,} problems"
    )
    deciding = Deciding(f"{p_mgem:g} against {gem:g}", about, "figure-1")
    return Finding(judge([worse == 0, p_mgem >= gem - TOLERANCE]), deciding, numbers, sentences)


def proposition_2_splits() -> Finding:
    """Compare what d-mGEM and GEM leave of a memory gradient with two splits."""
    case = counterexample("d-mGEM")
    gem, d_mgem = case["product"]["GEM"], case["product"]["d-mGEM"]
    sentence = (
        f"With one past task, its splits {_vectors(case['rows'].iloc[0])}, the gradient "
        f"{_vector(case['gradient'].iloc[0])} and no margin, GEM leaves ⟨ĝ_s,z⟩ = {gem:g}, d-mGEM {d_mgem:g}."
    )
    deciding = Deciding(
        f"{d_mgem:g} against {gem:g}", "⟨ĝ_s,z⟩ of d-mGEM and of GEM in a problem with two splits", "figure-1"
    )
    return Finding(judge([d_mgem >= gem - TOLERANCE]), deciding, {"GEM": gem, "d-mGEM": d_mgem}, (sentence,))


def floor_is_margin() -> Finding:
    """Compare what a floor and a margin of the same size leave of a memory gradient."""
    case = counterexample("strength")
    floor, margin, q = case["product"]["dual-floor"], case["product"]["margin"], case["strength"].iloc[0]
    sentence = (
        "Not for any fixed γ > 0: where a violation needs v > q, the floor does nothing, and ⟨ĝ_s,z⟩ = 0. With the memory "
        f"gradient {_vectors(case['rows'].iloc[0])} and the gradient {_vector(case['gradient'].iloc[0])}, a floor of {q:g} "
        f"leaves {floor:g}, a margin of {q:g} leaves {margin:g}. The tool has both (strength kind)."
    )
    study = read_study("equal-retention").dropna(subset=["mean"])
    recorded = study[(study["benchmark"] == EXAMPLE) & (study["trigger"] == EVERY_STEP)]
    floors, margins = (recorded[recorded["strength_kind"] == kind] for kind in (FLOOR, MARGIN))
    at_steps = (
        "At the recorded steps that come with the tool, learning at equal retention minus that of GEM is "
        f"{range_in_words(floors, ' %')}, with a floor in the dual and every step restricted, so that all lines are nearly "
        f"on one curve. With a margin it is {range_in_words(margins, ' %')}."
    )
    numbers = {"floor": floor, "margin": margin}
    numbers |= {f"{one.line}, {one.strength_kind}": float(one.mean) for one in recorded.itertuples()}
    about = f"⟨ĝ_s,z⟩ with a floor of {q:g} in one problem; a requirement ⟨ĝ_s,z⟩ ≥ γ needs γ > 0"
    deciding = Deciding(f"{floor:g}", about)
    return Finding(judge([abs(floor - margin) <= TOLERANCE]), deciding, numbers, (sentence, at_steps))


def counterexample(about: str) -> pd.DataFrame:
    """Return the cases of a small problem by method, with its memory gradients ("rows"), gradient and ⟨ĝ_s,z⟩."""
    study = read_study("counterexamples")
    return study[study["about"] == about].set_index("method")


def _vectors(rows: Sequence[Sequence[Any]]) -> str:
    return listed([*map(_vector, rows)])


def _vector(values: Sequence[Any]) -> str:
    return f"({', '.join(f'{value:g}' for value in values)})".replace("-", "−")
