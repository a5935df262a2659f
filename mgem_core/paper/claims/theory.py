"""Claims with a proof in the paper, and the small problems that contradict them."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from mgem_core.paper.claims.evidence import Deciding, Finding, judge, listed
from mgem_core.paper.published.studies import read_study

TOLERANCE = 1e-6


def proposition_2_modules() -> Finding:
    """Compare what p-mGEM and GEM leave of a memory gradient, with one past task and with two."""
    problems, case = read_study("one-past-task"), counterexample("p-mGEM")
    worse, count = int(problems["worse"].sum()), int(problems["problems"].sum())
    gem, p_mgem = case["product"]["GEM"], case["product"]["p-mGEM"]
    sentences = (
        f"With one past task, p-mGEM leaves less than GEM in {worse} of {count:,} random problems. With two past tasks it "
        f"can leave less: with the memory gradients {_vectors(case['rows'].iloc[0])}, the gradient "
        f"{_vector(case['gradient'].iloc[0])}, no margin and a module per parameter, GEM leaves {gem:g} of the first, "
        f"p-mGEM {p_mgem:g}.",
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
        f"With the splits {_vectors(case['rows'].iloc[0])}, the gradient {_vector(case['gradient'].iloc[0])} and no "
        f"margin, GEM leaves ⟨ĝ_s,z⟩ = {gem:g}, d-mGEM {d_mgem:g}."
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
    deciding = Deciding(f"{floor:g} against {margin:g}", f"⟨ĝ_s,z⟩ with a floor and with a margin of {q:g}, in one problem")
    return Finding(judge([abs(floor - margin) <= TOLERANCE]), deciding, {"floor": floor, "margin": margin}, (sentence,))


def counterexample(about: str) -> pd.DataFrame:
    """Return the cases of a small problem by method, with its memory gradients ("rows"), gradient and ⟨ĝ_s,z⟩."""
    study = read_study("counterexamples")
    return study[study["about"] == about].set_index("method")


def _vectors(rows: Sequence[Sequence[Any]]) -> str:
    return listed([*map(_vector, rows)])


def _vector(values: Sequence[Any]) -> str:
    return f"({', '.join(f'{value:g}' for value in values)})".replace("-", "−")
