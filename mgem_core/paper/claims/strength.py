"""Claims about memory strength."""

from mgem_core.analysis.significance import Estimate, are_significant, estimate
from mgem_core.paper.claims.evidence import (
    BUILT_IN,
    MNIST,
    OTHER_ORDER,
    Deciding,
    Finding,
    interval,
    judge,
    listed,
    runs_of_choice,
    span,
    strength_effect,
)
from mgem_core.paper.published.studies import read_study
from mgem_core.paper.tables import STRENGTH_GAINS, TABLES
from mgem_core.text import signed


def backward_transfer() -> Finding:
    """Compare ⟨g_s,z⟩/‖z‖ (truth) with ⟨ĝ_s,z⟩/‖z‖ (memory) over the strengths of a study on built-in digits."""
    study = read_study("generalisation")
    numbers: dict[str, float] = {}
    sentences: list[str] = []
    rises: list[Estimate | None] = []
    gaps: dict[str, Estimate] = {}
    for benchmark, of in study.groupby("benchmark", sort=False):
        truth, memory = (of.pivot(index="seed", columns="strength", values=name) for name in ("truth", "memory"))
        low, high = truth.columns.min(), truth.columns.max()
        rises += [estimate((table[high] - table[low]).to_numpy()) for table in (truth, memory)]
        gap = estimate((truth[low] - memory[low]).to_numpy())
        assert gap, "all runs of the study have ended"
        gaps[BUILT_IN[str(benchmark)]] = gap
        shown = [low, 1.0, high]
        numbers |= {f"{benchmark}: truth at q = {q:g}": float(truth[q].mean()) for q in shown}
        numbers |= {f"{benchmark}: memory at q = {q:g}": float(memory[q].mean()) for q in shown}
        numbers[f"{benchmark}: truth minus memory at q = {low:g}"] = gap.mean
        on_task, on_memory = (listed([f"{table[q].mean():.2f}" for q in shown]) for table in (truth, memory))
        strengths = f"q = {listed([f'{q:g}' for q in shown])}"
        sentences.append(
            f"On {BUILT_IN[str(benchmark)]}, ⟨g_s,z⟩/‖z‖ on the past task is {on_task} at {strengths}; "
            f"⟨ĝ_s,z⟩/‖z‖ on the memory is {on_memory}. At q = {low:g}, the first minus the second is "
            f"{interval(gap)}."
        )
    has_risen = all(are_significant(rises)) and all(one and one.mean > 0 for one in rises)
    has_gap = all(are_significant([*gaps.values()])) and all(one.mean < 0 for one in gaps.values())
    answer = f"Both products {'rise' if has_risen else 'do not both rise'} with the strength. "
    answer += "There is a gap to narrow." if has_gap else "A gap that a strength could narrow is not significant."
    setting = (
        f"GEM, 2 tasks × 100 steps, every step restricted, z as long as the gradient, {study['seed'].nunique()} seeds; "
        "each strength is its own run. The gap of the proposition contains the largest ‖z‖ that is allowed, which is "
        "infinite for GEM."
    )
    effects = {name: strength_effect(name, "bwd") for name in MNIST}
    transfer = [f"{interval(one)} on {MNIST[name]} (q = {q:g})" for name, (q, one) in effects.items() if one]
    in_runs = f"BWD of GEM with a strength minus BWD without one, at the paper's scale: {listed(transfer)}; not tested."
    where = min(gaps, key=lambda name: gaps[name].mean)
    about = f"⟨g_s,z⟩/‖z‖ minus ⟨ĝ_s,z⟩/‖z‖ without strength on {where}; a gap to narrow is below 0"
    deciding = Deciding(interval(gaps[where]), about)
    return Finding(judge([has_risen, has_gap]), deciding, numbers, (answer, *sentences, setting, in_runs))


def raises_acc() -> Finding:
    """Compare GEM at the strength chosen for it with GEM at strength 0."""
    found = {name: effect for name in MNIST if (effect := strength_effect(name))[1]}
    significant = dict(zip(found, are_significant([one for _, one in found.values()]), strict=True))
    checks: list[bool | None] = []
    numbers, sentences = {}, []
    for name, (q, one) in found.items():
        assert one, "tables without an effect are left out"
        checks.append(significant[name] and one.mean > 0 if TABLES[name].is_protocol else None)
        numbers[f"{MNIST[name]}: ACC at q = {q:g} minus ACC at 0"] = one.mean
        verdict = "significant" if significant[name] else "not significant"
        sentences.append(
            f"{MNIST[name]}: ACC at q = {q:g} minus ACC at 0 is {interval(one, 1)}, {verdict} ({one.seeds} seeds)."
        )
    sentences.append(OTHER_ORDER)
    gains = {name: one for name, (_, one) in found.items() if one and TABLES[name].is_protocol}
    least = min(gains, key=lambda name: gains[name].mean)
    q, one = found[least][0], gains[least]
    words = "significant" if significant[least] else "not significant"
    about = (
        f"points of ACC of GEM by strength {q:g} on {MNIST[least]}, {words}; the paper: {signed(STRENGTH_GAINS[least], 2)}"
    )
    return Finding(judge(checks), Deciding(interval(one), about, least), numbers, (*sentences, collapse_sentence()))


def collapse_sentence() -> str:
    """Say from which sum of strengths on ACC of the exact solver collapses on MNIST, with seed 0."""
    runs = [runs_of_choice(name) for name in MNIST]
    exact = [(total, acc) for of in runs for total, acc in of.loc[of["solver"] != "approx", ["total", "acc"]].to_numpy()]
    best = max(acc for _, acc in exact)
    harmless = max(total for total, acc in exact if acc > best / 2)
    low, high = ([acc for total, acc in exact if (total > harmless) == is_above] for is_above in (True, False))
    least = min(total for total, _ in exact if total > harmless)
    return (
        f"Much larger strengths hurt: with seed 0, ACC is {span(low, 0)} % in all {len(low)} runs of "
        f"the exact solver in which the strengths of all memory rows add up to {least:g} or more, and {span(high, 0)} % in "
        f"the {len(high)} runs with {harmless:g} or less."
    )
