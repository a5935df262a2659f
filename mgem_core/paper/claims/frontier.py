"""The claim about the frontier: how much finer restrictions learn at equal retention."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from mgem_core.analysis.paired import Verdict as LineVerdict
from mgem_core.analysis.significance import Estimate, are_significant, critical_t, from_deviation
from mgem_core.lens.seed_curves import LARGEST_MARGIN
from mgem_core.paper.claims.evidence import BUILT_IN, Deciding, Finding, compare_lines, judge, listed, span
from mgem_core.paper.presets import EXAMPLE
from mgem_core.paper.published.studies import read_study
from mgem_core.text import signed

EVERY_STEP, ON_CONFLICT = "always", "violation"
FLOOR, MARGIN = "dual-floor", "margin"
RECORDED = {**BUILT_IN, EXAMPLE: "the recordings that come with the tool"}  # in the study, by benchmark


def better_frontier() -> Finding:
    """Compare finer lines with GEM: at recorded steps, in trained runs, and in Figures 2 and 3."""
    verdicts_2, verdicts_3 = compare_lines("figure-2"), compare_lines("figure-3")
    figure_2 = differences(verdicts_2, "at_equal_x").assign(benchmark="Figure 2", strength_kind=FLOOR, trigger=EVERY_STEP)
    known = together([read_study("equal-retention").dropna(subset=["mean"]), figure_2])
    study, figure_2 = known[known["benchmark"] != "Figure 2"], known[known["benchmark"] == "Figure 2"]
    floors, on_conflict, margins = (
        study[(study["strength_kind"] == kind) & (study["trigger"] == trigger)]
        for kind, trigger in ((FLOOR, EVERY_STEP), (FLOOR, ON_CONFLICT), (MARGIN, EVERY_STEP))
    )
    numbers = {
        f"{one.line}, {one.benchmark}, {one.strength_kind}, {one.trigger}": float(one.mean) for one in known.itertuples()
    }
    raw = on_raw_axes([study, differences(verdicts_2, "at_equal_x_other").assign(benchmark="Figure 2")], known)
    trained = read_study("trained-lines")
    differences_3 = together([differences(verdicts_3, "best_acc").assign(interpolation=0.0)])
    seeds = span([*study["seeds"], len(verdicts_2[0].seeds)], 0)
    sentences = (
        "Learning at equal retention minus that of GEM, with a floor in the dual and every step restricted: "
        f"{_by_benchmark(floors)}; on Split CIFAR100 at GEM's steps (Figure 2), {in_words(figure_2, ' %')}. Everything is "
        f"at recorded steps, on axes per ‖z‖, with {seeds} seeds, and corrected for all {len(known)} comparisons of this "
        "claim.",
        "With margins, ⟨ĝ,z⟩ ≥ γ for every row and module (one γ for all modules, where the paper allows one for each), "
        f"from 0 to {LARGEST_MARGIN:g} times the median ‖g_s‖²: {_by_benchmark(margins)}. Split CIFAR100 has no results "
        "with margins.",
        f"The paper draws raw products. {_raw_in_words(raw)}",
        "With margins, the range matters, too. Up to the median ‖g_s‖², the differences are "
        f"{_by_line(read_study('small-margins'))}; these are not tested.",
        f"With a floor, and steps restricted only on conflict as in GEM's code: {_by_benchmark(on_conflict)}. {_unmoved()}",
        f"In trained runs on built-in rotations ({span(trained['seeds'], 0)} seeds), each line at the best strength of the "
        f"previous seed, ACC minus that of GEM is {_trained(trained)}. Lines are not compared at equal strength, because a "
        "floor on each of K splits acts about K times as much.",
        f"Figure 3 at the short scale ({len(verdicts_3[0].seeds)} seeds): {_at_equal_bwd(verdicts_3)} ACC at the best "
        f"strength of the previous seed minus that of GEM is {in_words(differences_3, ' points')}.",
        "Each line is compared over the range that it shares with GEM. The envelope of all lines, and how far a line "
        "reaches beyond GEM's range, are not tested.",
    )
    checks = [bool(one.significant and one.mean > 0) for one in known.itertuples()]
    less = int((known["significant"] & (known["mean"] < 0)).sum())
    in_figure = f"the differences in Figure 2 are {range_in_words(figure_2, ' %')}"
    more_raw = int((raw["significant"] & (raw["raw_mean"] > 0)).sum())
    about = (
        f"comparisons in which a line learns significantly more than GEM at equal retention, per ‖z‖ (less: {less}); on "
        f"raw axes {more_raw}; {in_figure}"
    )
    # The claim is about all lines, so few that are higher do not outweigh as many that are lower.
    return Finding(
        judge([all(checks), sum(checks) > less]),
        Deciding(f"{sum(checks)} of {len(checks)}", about, "figure-2"),
        numbers,
        sentences,
    )


def differences(verdicts: Sequence[LineVerdict], name: str) -> pd.DataFrame:
    """Return one estimate of every line as a frame: line, the fields of the estimate, and the interpolation error."""
    found = [(one, one.estimate(name)) for one in verdicts]
    return pd.DataFrame([{"line": one.line, "interpolation": one.interpolation, **e._asdict()} for one, e in found if e])


def on_raw_axes(parts: Sequence[pd.DataFrame], known: pd.DataFrame) -> pd.DataFrame:
    """Test the same differences on raw axes, from their intervals, with those per ‖z‖ in the column `mean`."""
    study, figure = parts
    figure = figure.rename(columns={name: f"raw_{name}" for name in ("mean", "low", "high")})
    raw = pd.concat([study, figure], ignore_index=True)
    raw["mean"] = known["mean"]
    tested = []
    for one in raw.itertuples():
        half_width = (one.raw_high - one.raw_low) / 2
        deviation = half_width / critical_t(one.seeds, 1) * math.sqrt(one.seeds)
        tested.append(from_deviation(one.raw_mean, deviation, one.seeds))
    explained = raw["raw_mean"].abs() <= raw["interpolation"]
    return raw.assign(significant=np.array(are_significant(tested)) & ~explained)


def _raw_in_words(raw: pd.DataFrame) -> str:
    """Say how many differences are significant on raw axes, and which change their sign there."""
    found = raw[raw["significant"]]
    higher, lower = (found[(found["raw_mean"] * sign) > 0] for sign in (1, -1))
    turned = found[found["mean"] * found["raw_mean"] < 0]
    titles = turned["benchmark"].replace(RECORDED)
    texts = [
        f"{one.line} on {title} from {signed(one.mean)} to {signed(one.raw_mean)} %"
        for one, title in zip(turned.itertuples(), titles, strict=True)
    ]
    signs = f" The sign changes for {listed(texts)}." if texts else ""
    return (
        f"There, of the same {len(raw)} comparisons, {len(higher)} are significantly higher and {len(lower)} lower.{signs}"
    )


def _at_equal_bwd(verdicts: Sequence[LineVerdict]) -> str:
    """Give the range of FWD at equal BWD, which is not tested; say so if BWD rises with the strength in too few seeds."""
    found = differences(verdicts, "fwd_at_equal_bwd")
    if found.empty:
        return "FWD cannot be compared at equal BWD, because too few seeds have a common range."
    return f"FWD at equal BWD minus that of GEM is {range_in_words(found, ' points')}."


def together(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Test all differences of a claim as one family; those that interpolation may explain are not significant."""
    known = pd.concat(parts, ignore_index=True)
    significant = are_significant([Estimate(*row) for row in known[[*Estimate._fields]].itertuples(index=False)])
    return known.assign(significant=np.array(significant) & (known["mean"].abs() > known["interpolation"]))


def in_words(found: pd.DataFrame, unit: str) -> str:
    """Describe differences from GEM: which lines are significantly above and below it, and what is not significant."""
    groups = {
        "significantly higher for": found[found["significant"] & (found["mean"] > 0)],
        "significantly lower for": found[found["significant"] & (found["mean"] < 0)],
        "not significant for": found[~found["significant"].astype(bool)],
    }
    texts: list[str] = []
    for words, of in groups.items():
        names = [*dict.fromkeys(of["line"])]
        if len(names) > 3 and len(of) == len(found):
            texts.append(f"{words} {'all lines' if of['significant'].all() else 'any line'} ({range_in_words(of, unit)})")
        elif len(names) > 3 and texts:
            texts.append(f"{words} the others")
        elif names:
            texts.append(f"{words} {listed(names)} ({range_in_words(of, unit)})")
    return " and ".join(texts)


def range_in_words(found: pd.DataFrame, unit: str) -> str:
    """Write the smallest and largest mean, and the range that covers all intervals."""
    low, high, lowest, highest = map(signed, (*found["mean"].agg(["min", "max"]), found["low"].min(), found["high"].max()))
    means = f"{low}{unit}" if low == high else f"{low} to {high}{unit}"
    return f"{means}, 95 % CI{'' if len(found) == 1 else 's within'} {lowest} to {highest}"


def _by_benchmark(study: pd.DataFrame) -> str:
    """Describe the differences on each benchmark of the study."""
    texts = []
    for benchmark, title in RECORDED.items():
        known = study[study["benchmark"] == benchmark]
        found = in_words(known, " %") if len(known) else "there is no common range"
        texts.append(f"on {title}, {found}")
    return "; ".join(texts)


def _by_line(study: pd.DataFrame) -> str:
    """Give the means of each line over the benchmarks."""
    known = study.dropna(subset=["mean"]).groupby("line", sort=False)["mean"]
    return listed([f"{signed(of.min())} to {signed(of.max())} % for {line}" for line, of in known])


def _unmoved() -> str:
    """Say that strengths hardly move GEM at the recorded steps of Split CIFAR100."""
    rows = read_study("figure-2-violation").pivot(index="seed", columns="strength", values="x")
    low, high = rows.columns.min(), rows.columns.max()
    seeds = [f"from {one[low]:g} to {one[high]:g}" for _, one in rows.iterrows()]
    return (
        f"On Split CIFAR100 there is no common range: from q = {low:g} to {high:g}, ⟨g_s,z⟩/‖z‖ of GEM goes "
        f"{listed(seeds)} in {len(rows)} seeds, of which only these numbers are published."
    )


def _trained(trained: pd.DataFrame) -> str:
    """Describe ACC of modules and of splits with each trigger; it has intervals, but is not tested."""
    titles = {EVERY_STEP: "with every step restricted", ON_CONFLICT: "with GEM's own trigger"}
    texts = [
        f"{range_in_words(of, ' points')} for {partition} {titles[str(trigger)]}"
        for (partition, trigger), of in trained[trained["difference"] == "best_acc"].groupby(["partition", "trigger"])
    ]
    return "; ".join(texts)
