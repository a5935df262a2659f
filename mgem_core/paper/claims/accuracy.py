"""Claims about accuracies in the paper's tables and with its architectures."""

from collections.abc import Mapping, Sequence
from itertools import product

from mgem_core.analysis.significance import Estimate, are_significant
from mgem_core.metrics import BY_CHANCE
from mgem_core.paper import published
from mgem_core.paper.claims.evidence import (
    FOLDER,
    MNIST,
    Deciding,
    Finding,
    compared_settings,
    interval,
    judge,
    listed,
    results,
    span,
)
from mgem_core.paper.differences import RowDifference, row_difference, row_differences
from mgem_core.paper.selection import Result
from mgem_core.streams import BENCHMARKS
from mgem_core.text import mean_and_error, signed

FINER = ("d-GEM", "m-GEM", "md-GEM")
APPROX = ("approx-GEM(4,1)", "approx-GEM(4,2)")


def mgem_beats_gem() -> Finding:
    """Compare ACC and BWD of the finer rows of Table 1 with those of GEM, on MNIST at the paper's scale."""
    checks: list[bool | None] = []
    numbers, sentences = {}, []
    found = _differences_together(FINER, ("acc", "bwd"))
    for table, title in MNIST.items():
        acc, bwd = ({label: found[table, measure, label] for label in FINER} for measure in ("acc", "bwd"))
        for label in FINER:
            for measure, one in (("ACC", acc[label]), ("BWD", bwd[label])):
                assert one.estimate, "the rows of the GEM family have enough seeds"
                checks.append(one.significant and one.estimate.mean > 0)
                numbers[f"{title}, {label}: {measure} minus that of GEM"] = one.estimate.mean
        changes = ", ".join(f"{label} {signed(e.mean, 2)}" for label in FINER if (e := bwd[label].estimate))
        significant = [label for label in FINER if bwd[label].significant]
        sentences.append(
            f"{title}: ACC minus that of GEM is {_in_groups([acc[label] for label in FINER])}. BWD minus that of GEM is "
            f"{changes}; {_significance(significant)}."
        )
    seeds = [len(one.seeds) for table in MNIST for label, one in results(table).items() if label in ("GEM", *FINER)]
    sentences.append(
        f"At the paper's scale, {span(seeds, 0)} seeds, each row at the learning rate and strength that were chosen for it "
        f"on held-out images of other seeds; corrected for all {len(checks)} comparisons of this claim. The other "
        "benchmarks were trained at the short scale, with too few seeds for a comparison."
    )
    sentences.append(_searches(("GEM", *FINER)))
    best = _highest({key: one for key, one in found.items() if key[1] == "acc"})
    also = f"; of all {len(checks)} differences in ACC and BWD, {sum(map(bool, checks))} are significantly higher"
    return Finding(judge(checks), best._replace(about=best.about + also), numbers, tuple(sentences))


def approx_beats_gem() -> Finding:
    """Compare ACC of approx-GEM with that of GEM on MNIST at the paper's scale."""
    checks: list[bool | None] = []
    numbers, sentences = {}, []
    together = _differences_together(APPROX, ("acc",))
    for table, title in MNIST.items():
        found = results(table)
        differences = {label: together[table, "acc", label] for label in APPROX}
        for label in APPROX:
            one = differences[label]
            checks.append(one.significant and one.estimate.mean > 0 if one.estimate else None)
            if one.estimate:
                numbers[f"{title}, {label}: ACC minus that of GEM"] = one.estimate.mean
        known = [differences[label] for label in APPROX if differences[label].estimate]
        few = [label for label in APPROX if not differences[label].estimate]
        alone = f" Not compared: {'; '.join(_alone(label, found) for label in few)}." if few else ""
        numbers |= {f"{title}, {label}: ACC": found[label].means["acc"].mean for label in few}
        sentences.append(f"{title}: ACC minus that of GEM is {_in_groups(known)}.{alone}")
    sentences.append(_searches(("GEM", *APPROX)))
    return Finding(judge(checks), _highest(together), numbers, tuple(sentences))


def _searches(labels: Sequence[str]) -> str:
    """Say which strengths and learning rates were compared for which rows, to choose the settings of each."""
    texts = []
    for table, title in MNIST.items():
        rows: dict[str, list[str]] = {}
        for label in labels:
            tried = compared_settings(table, label).groupby("lr")["strength"]
            rates = [f"{lr:g} (q = {', '.join(f'{q:g}' for q in sorted(of.astype(float)))})" for lr, of in tried]
            rows.setdefault(" and ".join(rates), []).append(label)
        each = listed([f"{rates} for {listed(of)}" for rates, of in rows.items()])
        texts.append(f"on {title}, {each}")
    return f"Tried learning rates (and strengths): {'; '.join(texts)}."


def _highest(differences: Mapping[tuple[str, str, str], RowDifference]) -> Deciding:
    """Return the highest difference from GEM in ACC: the best case for a claim of more ACC."""
    known = {key: one.estimate for key, one in differences.items() if one.estimate}
    key = max(known, key=lambda one: known[one].mean)
    words = "significant" if differences[key].significant else "not significant after correction"
    about = f"points of ACC: {key[2]} minus GEM on {MNIST[key[0]]}, the highest of {len(known)}; {words}"
    return Deciding(interval(known[key]), about, key[0])


def _differences_together(labels: Sequence[str], measures: Sequence[str]) -> dict[tuple[str, str, str], RowDifference]:
    """Compare rows of both MNIST tables with GEM, by table, measure and label, corrected for all these comparisons."""
    found = {
        (table, measure, label): row_differences(results(table), measure)[label]
        for table, measure, label in product(MNIST, measures, labels)
    }
    significant = are_significant([one.estimate for one in found.values()])
    return {key: one._replace(significant=is_one) for (key, one), is_one in zip(found.items(), significant, strict=True)}


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
        others = row_differences(found, baseline="MER")  # the other rows minus MER
        known = {label: one for label, one in others.items() if one.estimate}
        close = [label for label, one in known.items() if not (one.significant and one.estimate and one.estimate.mean < 0)]
        checks.append(not close)
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
    table = min(leads, key=lambda one: (not unclear[one], leads[one][0].mean))
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


def _in_groups(found: list[RowDifference]) -> str:
    """List differences, the significant ones first."""
    groups = {"significant": [one for one in found if one.significant]}
    groups["not significant"] = [one for one in found if not one.significant]
    texts = [
        f"{words} for {listed([f'{one.label}: {interval(one.estimate)}' for one in of if one.estimate])}"
        for words, of in groups.items()
        if of
    ]
    return "; ".join(texts)


def _significance(labels: list[str]) -> str:
    return f"significant for {listed(labels)}" if labels else "none is significant"
