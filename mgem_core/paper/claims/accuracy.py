"""Claims about accuracies in the paper's tables and with its architectures."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

from mgem_core.analysis.significance import POWER, Estimate, are_significant, detectable, from_deviation
from mgem_core.metrics import BY_CHANCE, MEASURES
from mgem_core.paper import published
from mgem_core.paper.claims.evidence import (
    FOLDER,
    MNIST,
    OTHER_ORDER,
    Deciding,
    Finding,
    Verdict,
    compared_settings,
    interval,
    judge,
    listed,
    results,
    span,
)
from mgem_core.paper.differences import RowDifference, row_difference, row_differences
from mgem_core.paper.selection import Result
from mgem_core.paper.tables import TABLES, Cell
from mgem_core.streams import BENCHMARKS
from mgem_core.text import mean_and_error, signed

FINER = ("d-GEM", "m-GEM", "md-GEM")
APPROX = ("approx-GEM(4,1)", "approx-GEM(4,2)")


def mgem_beats_gem() -> Finding:
    """Compare ACC and BWD of the finer rows of Table 1 with those of GEM, on MNIST at the paper's scale."""
    found = _compare(FINER, ("acc", "bwd"))
    sentences = [_on_benchmark(found, table) for table in MNIST if found.of(table)]
    seeds = [one.estimate.seeds for one in found.differences.values() if one.estimate]
    sentences.append(
        f"At the paper's scale, {span(seeds, 0)} seeds, corrected for all {len(seeds)} comparisons of this claim. "
        f"{OTHER_ORDER} The other benchmarks were trained at the short scale, with too few seeds for a comparison."
    )
    sentences.append(_searches(("GEM", *FINER)))
    best = _highest(found)
    higher = sum(one.significant and one.estimate.mean > 0 for one in found.differences.values() if one.estimate)
    also = f"; of all {len(seeds)} differences in ACC and BWD, {higher} are significantly higher"
    return Finding(found.verdict, best._replace(about=best.about + also), found.numbers, tuple(sentences))


def approx_beats_gem() -> Finding:
    """Compare ACC of approx-GEM with that of GEM on MNIST at the paper's scale."""
    found = _compare(APPROX, ("acc",))
    numbers, sentences = found.numbers, []
    for table, title in MNIST.items():
        rows = results(table)
        alone = [label for label in APPROX if label in rows and (table, "acc", label) not in found.differences]
        numbers |= {f"{title}, {label}: ACC": rows[label].means["acc"].mean for label in alone}
        texts = [_on_benchmark(found, table)] if found.of(table) else []
        texts += [f"Not compared: {'; '.join(_alone(label, rows) for label in alone)}."] if alone else []
        sentences += [" ".join(texts)] if texts else []
    sentences.append(
        f"{OTHER_ORDER} The paper does not say how many splits approx-GEM has, nor whether it corrects them one after "
        "another; ours corrects all rows of a module at once."
    )
    sentences.append(_searches(("GEM", *APPROX)))
    return Finding(found.verdict, _highest(found), numbers, tuple(sentences))


class _Compared(NamedTuple):
    """Differences from GEM by table, measure and label of the row, corrected for all of them together."""

    differences: dict[tuple[str, str, str], RowDifference]
    printed: dict[tuple[str, str, str], float]  # the paper's differences
    below: frozenset[tuple[str, str, str]]  # those that are significantly below the paper's, where its order is ours

    @property
    def verdict(self) -> Verdict:
        """Return what the differences say: one that is neither above zero nor below the paper's decides nothing."""
        checks: list[bool | None] = []
        for key, one in self.differences.items():
            is_above = bool(one.significant and one.estimate and one.estimate.mean > 0)
            is_below = key in self.below or one.significant
            checks.append((is_above or (False if is_below else None)) if TABLES[key[0]].is_protocol else None)
        return judge(checks)

    @property
    def numbers(self) -> dict[str, float]:
        return {
            f"{MNIST[table]}, {label}: {MEASURES[measure]} minus that of GEM": one.estimate.mean
            for (table, measure, label), one in self.differences.items()
            if one.estimate
        }

    def of(self, table: str, measure: str = "acc") -> list[tuple[str, str, str]]:
        return [key for key in self.differences if key[:2] == (table, measure)]


def _compare(labels: Sequence[str], measures: Sequence[str]) -> _Compared:
    """Compare rows of the MNIST tables with GEM, and the differences with the paper's, both errors combined."""
    found = {
        (table, measure, label): one
        for table, measure in product(MNIST, measures)
        for label, one in row_differences(results(table), measure).items()
        if label in labels and one.estimate
    }
    significant = are_significant([one.estimate for one in found.values()])
    differences = {
        key: one._replace(significant=is_one) for (key, one), is_one in zip(found.items(), significant, strict=True)
    }
    printed, from_paper = {}, {}
    for key, one in differences.items():
        gain = printed_difference(*key)
        if gain and one.estimate:
            printed[key] = gain.mean
            error = math.hypot(one.estimate.deviation / math.sqrt(one.estimate.seeds), gain.error)
            deviation = error * math.sqrt(one.estimate.seeds)
            from_paper[key] = from_deviation(one.estimate.mean - gain.mean, deviation, one.estimate.seeds)
    tested = zip(from_paper.items(), are_significant([*from_paper.values()]), strict=True)
    below = (key for (key, one), is_one in tested if is_one and one.mean < 0 and TABLES[key[0]].is_protocol)
    return _Compared(differences, printed, frozenset(below))


def printed_difference(table: str, measure: str, label: str) -> Cell | None:
    """Return what the paper prints for a row minus what it prints for GEM, with both errors combined."""
    rows = {row.label: row.printed(measure) for row in TABLES[table].rows}
    row, gem = rows[label], rows["GEM"]
    return Cell(row.mean - gem.mean, math.hypot(row.error, gem.error)) if row and gem else None


def _on_benchmark(found: _Compared, table: str) -> str:
    """Describe the differences on one benchmark, next to the paper's, and which differences these seeds would find."""
    measures = dict.fromkeys(key[1] for key in found.differences if key[0] == table)
    texts = [
        f"{MEASURES[measure]} minus that of GEM is {_in_groups(found, found.of(table, measure))}" for measure in measures
    ]
    least = [
        detectable(one.estimate, len(found.differences))
        for key in found.of(table)
        if (one := found.differences[key]).estimate
    ]
    power = f"A difference in ACC of {span(least, 1)} points would be found with {100 * POWER:.0f} % probability."
    below = [f"{label} in {MEASURES[measure]}" for of, measure, label in found.below if of == table]
    against = f" Significantly below the paper's difference: {listed(sorted(below))}." if below else ""
    if not below and TABLES[table].is_protocol:
        against = " None is significantly below the paper's difference."
    return f"{MNIST[table]}: {'; '.join(texts)}. {power}{against}"


def _searches(labels: Sequence[str]) -> str:
    """Say which strengths and learning rates were compared for which rows, to choose the settings of each."""
    texts = []
    for table, title in MNIST.items():
        rows: dict[str, list[str]] = {}
        found = results(table)
        for label in labels:
            if label in found and found[label].chosen_on:
                tried = compared_settings(table, label).groupby("lr")["strength"]
                rates = [f"{lr:g} (q = {', '.join(f'{q:g}' for q in sorted(of.astype(float)))})" for lr, of in tried]
                rows.setdefault(listed(rates), []).append(label)
        if rows:
            each = listed([f"{rates} for {listed(of)}" for rates, of in rows.items()])
            texts.append(f"on {title}, {each}")
    return f"Tried learning rates (and strengths): {'; '.join(texts)}. The paper tries q from 0 to 1, and names no rate."


def _highest(found: _Compared) -> Deciding:
    """Return the highest difference from GEM in ACC: the best case for a claim of more ACC."""
    known = {key: one.estimate for key, one in found.differences.items() if one.estimate and key[1] == "acc"}
    key = max(known, key=lambda one: (TABLES[one[0]].is_protocol, known[one].mean))
    words = "significant" if found.differences[key].significant else "not significant after correction"
    paper = f" (the paper: {signed(found.printed[key], 2)})" if key in found.printed else ""
    about = f"points of ACC: {key[2]} minus GEM on {MNIST[key[0]]}{paper}, the highest there; {words}"
    return Deciding(interval(known[key]), about, key[0])


def _alone(label: str, found: Mapping[str, Result]) -> str:
    """Describe a row that has too few seeds, or a collapsed one, next to GEM."""
    of, gem = found[label], found["GEM"].means["acc"]
    if of.collapsed:
        seeds = ", ".join(f"{value:.1f}" for value in of.by_seed["acc"].values())
        return f"{label} has an ACC of {seeds} in its {len(of.seeds)} seeds, of which {len(of.collapsed)} collapsed"
    means = [mean_and_error(mean.mean, mean.error) for mean in (of.means["acc"], gem)]
    return f"{label} has an ACC of {means[0]} ({len(of.seeds)} seeds), GEM {means[1]}"


def architectures() -> Finding:
    """Compare ACC of md-GEM with that of GEM on four networks, unless no ACC is above chance."""
    runs = published.read("figure-4", FOLDER)[0]
    chance = 100 / BENCHMARKS[runs["benchmark"].iloc[0]].classes_per_task
    numbers = {f"{one.network}, {one.label}": float(one.acc) for one in runs.itertuples()}
    distance = float((runs["acc"] - chance).max())
    tasks, steps = (int(runs[name].max()) for name in ("tasks", "iterations"))
    by_network = runs.assign(kind=runs["label"].str.partition("(")[0]).pivot_table("acc", "network", "kind")
    checks = [None if distance < BY_CHANCE else bool(one["md-GEM"] > one["GEM"]) for _, one in by_network.iterrows()]
    learned = "so no network learned anything" if distance < BY_CHANCE else "one seed each"
    sentence = f"Ours were trained on {tasks} tasks × {steps} steps. The highest ACC is {distance:.2f} points above chance "
    about = (
        f"points by which the highest ACC is above chance ({chance:g} %), after {tasks} tasks × {steps} steps; {learned}"
    )
    deciding = Deciding(f"{distance:.2f}", about, "figure-4")
    return Finding(judge(checks), deciding, numbers, (f"{sentence}({chance:g} %), {learned}.",))


def mer_is_best() -> Finding:
    """Compare ACC of MER with that of GEM and of the next best row, and look for it on Split CIFAR100."""
    checks: list[bool | None] = []
    numbers, sentences = {}, []
    leads: dict[str, tuple[Estimate, str]] = {}  # table → ACC of MER minus that of the next best row, and which row that is
    unclear: dict[str, list[str]] = {}  # table → rows that MER is not significantly above
    for table, title in MNIST.items():
        found = results(table)
        if "MER" not in found:
            continue
        others = row_differences(found, baseline="MER")  # the other rows minus MER
        known = {label: one for label, one in others.items() if one.estimate}
        close = [label for label, one in known.items() if not (one.significant and one.estimate and one.estimate.mean < 0)]
        checks.append(not close if TABLES[table].is_protocol else None)
        unclear[table] = close
        next_best = max(known, key=lambda one: found[one].means["acc"].mean)
        texts = []
        for label in dict.fromkeys(["GEM", next_best]):
            if one := row_difference(found, "MER", label):
                numbers[f"{title}: ACC of MER minus that of {label}"] = one.mean
                texts.append(f"minus that of {label} is {interval(one)}")
                leads[table] = one, label
        config, seeds = found["MER"].config, len(set(found["MER"].seeds) - set(found["GEM"].chosen_on))
        replays = config.mer_batches * config.mer_replays
        besides = f" but {listed(close)}" if close else ""
        sentences.append(
            f"{title}: ACC of MER {' and '.join(texts)}; corrected for all rows, it is significantly higher than every "
            f"other row that can be compared{besides} ({seeds} seeds, {replays} replays per sample)."
        )
    on_cifar = results("table-1-cifar", "short").get("MER")
    checks.append(None)
    sentences.append(f"Split CIFAR100 was {'trained at the short scale only' if on_cifar else 'not trained with MER'}.")
    sentences.append(
        "MER and ER divide the memory of all tasks among those seen so far; in the rows of GEM, each task has its own part "
        f"from the beginning. {OTHER_ORDER}"
    )
    table = min(leads, key=lambda one: (not TABLES[one].is_protocol, not unclear[one], leads[one][0].mean))
    lead, label = leads[table]
    over = (
        f"not significantly above {listed(unclear[table])} after correction"
        if unclear[table]
        else "significantly above all rows"
    )
    deciding = Deciding(
        interval(lead), f"points of ACC: MER minus {label}, the next best on {MNIST[table]}; MER is {over}", table
    )
    return Finding(judge(checks), deciding, numbers, tuple(sentences))


def _in_groups(found: _Compared, keys: Sequence[tuple[str, str, str]]) -> str:
    """List differences, the significant ones first, with the paper's."""
    groups: dict[str, list[str]] = {"significant": [], "not significant": []}
    for key in keys:
        one = found.differences[key]
        assert one.estimate, "differences without an estimate are left out"
        paper = f"; the paper {signed(found.printed[key], 2)})" if key in found.printed else ")"
        text = f"{one.label}: {interval(one.estimate)[:-1]}{paper}"
        groups["significant" if one.significant else "not significant"].append(text)
    return ", and ".join(f"{words} for {listed(texts)}" for words, texts in groups.items() if texts)
