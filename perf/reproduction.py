"""The tables of docs/reproduction.md: `python -m perf.reproduction` prints them from what comes with the tool."""

import pandas as pd

from mgem_core.analysis.paired import estimate
from mgem_core.figures.paper_differences import row_differences, with_interval
from mgem_core.figures.paper_table import PAPER, SHIPPED, entries
from mgem_core.paper import published
from mgem_core.paper.claims import CLAIMS
from mgem_core.paper.tables import MEASURES, TABLES, VALIDATION, Scale
from mgem_core.text import MISSING, mean_and_error

MNIST = ("table-1-permutations", "table-1-rotations")
RATES = {"single": "Single", "independent": "Independent", "ewc": "EWC", "mer": "MER", "agem": "A-GEM", "er": "ER"}
STRENGTHS = (0.0, 0.3, 1.0, 3.0)


def print_table(name: str, scale: Scale) -> None:
    """The paper's cells and ours, row by row; ours are bold where the 95 % interval of the difference excludes zero."""
    table = TABLES[name]
    print(f"\n| {table.title.partition(' · ')[2]} | paper: ACC | FWD | BWD | ours: ACC | FWD | BWD | q | lr | seeds |")
    print("|---" * 10 + "|")
    rows: dict[str, dict[str, str]] = {}
    for entry in entries(table, scale, {SHIPPED: published.read(name)[0]}):
        cells = {}
        for measure in MEASURES:
            text = mean_and_error(*entry.cells[measure]) if measure in entry.cells else MISSING
            is_clear = (found := entry.differences.get(measure)) and found.is_clear
            cells[measure] = f"**{text}**" if is_clear else text
        label = f"{entry.row.label}†" if entry.row.note else entry.row.label
        rows.setdefault(label, {})[entry.source] = " | ".join(cells.values())
        if entry.source != PAPER and entry.result:
            config, seeds = entry.result.config, ", ".join(map(str, entry.result.seeds))
            q = f"{config.strength:g}" if config.method == "gem" else MISSING
            rows[label]["how"] = f"{q} | {config.lr:g} | {seeds}"
    nothing = " | ".join([MISSING] * 3)
    for label, cells in rows.items():
        print(f"| {label} | {' | '.join(cells.get(name, nothing) for name in (PAPER, SHIPPED, 'how'))} |")


def print_differences() -> None:
    """Each measure minus that of GEM within seeds; bold where a difference can be told after Holm's correction."""
    for measure in MEASURES:
        print(f"\n| {measure.upper()} minus that of GEM | permutations | rotations |\n|---|---|---|")
        cells: dict[str, list[str]] = {}
        for name in MNIST:
            found = entries(TABLES[name], "paper", {SHIPPED: published.read(name)[0]})
            for one in row_differences(found, SHIPPED, measure):
                text = with_interval(one.estimate) if one.estimate else MISSING
                cells.setdefault(one.label, []).append(f"**{text}**" if one.is_distinct else text)
        for label, texts in cells.items():
            print(f"| {label} | {' | '.join(texts)} |")


def print_effect_of_strength(strength: float = 0.3) -> None:
    """ACC of GEM at this strength minus that without one, within the seeds on which nothing was chosen."""
    print(f"\n| GEM, ACC at q = {strength:g} minus that at 0 | difference |\n|---|---|")
    for name in MNIST:
        runs, _ = published.read(name)
        runs = runs[(runs["label"] == "GEM") & (runs["lr"] == 0.1) & (runs["seed"] > 0)]
        by_seed = runs.pivot(index="seed", columns="strength", values="acc").reindex(columns=[0.0, strength]).dropna()
        found = estimate((by_seed[strength] - by_seed[0.0]).to_numpy(float))
        print(f"| {TABLES[name].title.partition(' · ')[2]} | {with_interval(found) if found else MISSING} |")


def chosen_on(name: str) -> pd.DataFrame:
    """The runs of seed 0, on whose held-out images everything was chosen; of equal ones the first, as in the tables."""
    runs, _ = published.read(name)
    runs = runs[(runs["seed"] == 0) & (runs["validation"] == VALIDATION)]
    return runs.drop_duplicates("configuration")


def in_bold(values: pd.Series, texts: list[str]) -> list[str]:
    return [f"**{text}**" if value == values.max() else text for value, text in zip(values, texts, strict=True)]


def print_rates() -> None:
    print("\n| method | permutations | rotations |\n|---|---|---|")
    for method, title in {**RATES, "gem": "GEM, q = 0.3"}.items():
        cells = []
        for name in MNIST:
            runs = chosen_on(name)
            runs = runs[runs["method"] == method]
            if method == "gem":
                runs = runs[(runs["label"] == "GEM") & (runs["strength"] == 0.3)]
            extra = {"ewc": "ewc_lambda", "mer": "mer_beta"}.get(method)
            runs = runs.sort_values(["lr", *([extra] if extra else [])])
            others = [f" ({value:g})" for value in runs[extra]] if extra else [""] * len(runs)
            each = zip(runs["lr"], others, runs["validation_acc"], strict=True)
            cells.append(", ".join(in_bold(runs["validation_acc"], [f"{lr:g}{more}: {acc:.1f}" for lr, more, acc in each])))
        print(f"| {title} | {cells[0] or MISSING} | {cells[1] or MISSING} |")


def print_strengths(name: str, lr: float = 0.1) -> None:
    print(
        f"\n{name}, learning rate {lr:g}\n| method | {' | '.join(f'q = {q:g}' for q in STRENGTHS)} |\n|---|---|---|---|---|"
    )
    runs = chosen_on(name)
    runs = runs[(runs["method"] == "gem") & (runs["lr"] == lr)]
    for label in dict.fromkeys(runs["label"]):
        by_strength = runs[runs["label"] == label].set_index("strength")["validation_acc"].reindex(STRENGTHS)
        texts = [MISSING if pd.isna(value) else f"{value:.1f}" for value in by_strength]
        print(f"| {label} | {' | '.join(in_bold(by_strength, texts))} |")


def print_claims() -> None:
    for one in CLAIMS:
        print("\n".join([f"\n**{one.claim}** *{one.verdict.capitalize()}.*", f"\nThe paper: {one.evidence} We find:\n"]))
        print("\n".join(f"- {point}" for point in one.measured))


def main() -> None:
    for name in MNIST:
        print_table(name, "paper")
    print_differences()
    print_effect_of_strength()
    print_rates()
    for name in MNIST:
        print_strengths(name)
    for name in TABLES:
        if name not in MNIST and len(published.read(name)[0]):
            print_table(name, "short")
    print_claims()


if __name__ == "__main__":
    main()
