"""Write the tables and claims of docs/reproduction.md from the published results: `python -m studies.reproduction`.

It also stores the answers to the claims for the page Paper. In the document, the text between the markers of a section
(`<!-- table-1 -->` and `<!-- end -->`) is replaced; the rest is written by hand.
"""

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd

from mgem_core.figures.paper_table import PAPER, SHIPPED, entries
from mgem_core.metrics import MEASURES
from mgem_core.paper import claims, published
from mgem_core.paper.claims.evidence import MNIST, compare_lines, compared_settings, results
from mgem_core.paper.differences import row_differences
from mgem_core.paper.selection import published_results
from mgem_core.paper.tables import PRINTED_MEASURES, TABLES, VALIDATION, Scale
from mgem_core.text import MISSING, mean_and_error, signed

FILE = Path(__file__).parents[1] / "docs" / "reproduction.md"
SECTION = re.compile(r"<!-- (?P<name>[\w-]+) -->\n.*?<!-- end -->", re.DOTALL)
WIDTH = 136
SHORT = ("table-1-cifar", "table-2-digit-five")
SEARCHED = ("single", "independent", "ewc", "mer", "agem", "er", "gem")
SHORT_NAMES = {"strength": "q", "lr": "learning rate", "ewc_lambda": "λ", "mer_beta": "β"}
EXTRA = {"ewc": "ewc_lambda", "mer": "mer_beta"}  # what was searched besides the learning rate
STRENGTHS = (0.0, 0.1, 0.3, 1.0, 3.0)
IN_BOTH_ORDERS = {"lr": 0.01, "ewc_lambda": 10.0, "ewc_fisher": "sample"}  # of the rotations
CLOSE = 0.3  # points of accuracy on held-out images: so small a lead over the second configuration is chance


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a table."""
    head = [*head]
    return [f"| {' | '.join(cells)} |" for cells in (head, *([["---"] * len(head)]), *rows)]


def compact(mean: float, error: float) -> str:
    """Write a mean and its error without spaces, because the tables are wide."""
    return mean_and_error(mean, error).replace(" ", "")


def seeds_in_words(seeds: Sequence[int]) -> str:
    """Write seeds: 1–6, or 0, 2, 3 if some are missing."""
    is_range = len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1
    return f"{seeds[0]}–{seeds[-1]}" if is_range else ", ".join(map(str, seeds))


def printed_and_ours(name: str, scale: Scale) -> list[str]:
    """Return the paper's cells and ours, row by row; ours are bold where the difference in ACC is significant."""
    table = TABLES[name]
    head = [
        table.title.partition(" · ")[2],
        "paper: ACC",
        "FWD",
        "BWD",
        "ours: ACC",
        "FWD",
        "BWD",
        "q",
        "lr",
        "chosen from",
        "seeds",
    ]
    rows: dict[str, dict[str, list[str]]] = {}
    for entry in entries(table, scale, {SHIPPED: published_results(name, scale)}):
        texts = {name: compact(*entry.cells[name]) if name in entry.cells else MISSING for name in PRINTED_MEASURES}
        clear = {name for name, found in entry.differences.items() if found.significant}
        cells = [f"**{text}**" if name in clear else text for name, text in texts.items()]
        of_row = rows.setdefault(f"{entry.row.label}†" if entry.row.note else entry.row.label, {})
        of_row[entry.source] = cells
        if entry.result:
            config = entry.result.config
            q = f"{config.strength:g}" if config.method == "gem" else MISSING
            compared = f"{entry.result.compared}" if entry.result.compared else MISSING
            of_row["how"] = [q, f"{config.lr:g}", compared, seeds_in_words(entry.result.seeds)]
    parts = {PAPER: 3, SHIPPED: 3, "how": 4}  # their columns
    cells_of = [
        [label, *(text for part, columns in parts.items() for text in of_row.get(part, [MISSING] * columns))]
        for label, of_row in rows.items()
    ]
    notes = [f"\n† {note}" for note in dict.fromkeys(row.note for row in table.rows if row.note)]
    return [*markdown(head, cells_of), *notes]


def table_1() -> list[str]:
    return [line for name in MNIST for line in (*printed_and_ours(name, "paper"), "")][:-1]


def orders() -> list[str]:
    """Return ACC, FWD and BWD of plain SGD and of EWC with settings that were tried in both orders of the rotations."""
    tables = {"angles rise": "table-1-rotations", "shuffled": "table-1-rotations-shuffled"}
    settings = {f"Single, lr {IN_BOTH_ORDERS['lr']:g}": ("single", {"lr"}), "EWC, λ 10": ("ewc", {*IN_BOTH_ORDERS})}
    rows = []
    for row, (label, (method, fields)) in enumerate(settings.items()):
        for order, name in tables.items():
            runs = published.read(name)[0]
            of = runs[(runs["method"] == method) & (runs["tasks"] == 20)]
            for field in fields:
                of = of[of[field] == IN_BOTH_ORDERS[field]]
            cells = [compact(of[measure].mean(), of[measure].sem()) for measure in PRINTED_MEASURES]
            rows.append([label, order, *cells, seeds_in_words(sorted(of["seed"]))])
        paper = TABLES["table-1-rotations"].rows[0 if row == 0 else 2]
        printed = [compact(*one) for name in PRINTED_MEASURES if (one := paper.printed(name))]
        rows.append([label.partition(",")[0], "the paper", *printed, MISSING])
    return markdown(["", "order", *(MEASURES[name] for name in PRINTED_MEASURES), "seeds"], rows)


def minus_gem() -> list[str]:
    """Return ACC, BWD and Forgetting minus those of GEM within seeds; bold where that in ACC is significant."""
    return [line for table in MNIST for line in (*_minus_gem(table), "")][:-1]


def _minus_gem(table: str) -> list[str]:
    found = {measure: row_differences(results(table), measure) for measure in ("acc", "bwd", "forgetting")}
    rows = []
    for row in TABLES[table].rows:
        of_row = {measure: of.get(row.label) for measure, of in found.items()}
        texts = []
        for measure, one in of_row.items():
            e = one.estimate if one else None
            text = f"{signed(e.mean, 2)} ({signed(e.low, 2)} to {signed(e.high, 2)})" if e else MISSING
            texts.append(f"**{text}**" if one and one.significant and measure == "acc" else text)
        if any(of_row.values()):
            rows.append([row.label, *texts])
    return markdown([f"{MNIST[table]}: minus GEM", *(MEASURES[measure] for measure in found)], rows)


def close_choices() -> list[str]:
    """List the rows whose settings were chosen by a lead that is chance, with the configuration that came second."""
    lines = []
    for table, title in MNIST.items():
        for label, found in results(table).items():
            if found.compared < 2:
                continue
            tried = validation_accuracies(table, "paper", found.chosen_on)
            tried = tried[tried["configuration"].isin(compared_settings(table, label)["configuration"])]
            first, second = tried.nlargest(2, "validation_acc").to_dict("records")
            lead = first["validation_acc"] - second["validation_acc"]
            if lead < CLOSE:
                names = [name for name in SHORT_NAMES if first[name] != second[name] and not pd.isna(first[name])]
                settings = [", ".join(f"{SHORT_NAMES[name]} {one[name]:g}" for name in names) for one in (first, second)]
                lines.append(f"{label} on {title}: {settings[0]} was {lead:.2f} points above {settings[1]}.")
    return paragraphs(lines)


def validation_accuracies(name: str, scale: Scale, seeds: Sequence[int]) -> pd.DataFrame:
    """Return a run of each configuration at this scale that has these seeds, with its mean accuracy on held-out images."""
    runs, fields = published.read(name)[0], TABLES[name].scale(scale)
    of_scale = (runs["tasks"] == fields["tasks"]) & (runs["iterations"] == fields["iterations"])
    runs = runs[of_scale & runs["seed"].isin(seeds) & (runs["validation"] == VALIDATION)]
    by_configuration = runs.drop_duplicates(["configuration", "seed"]).groupby("configuration")["validation_acc"]
    means = by_configuration.mean()[by_configuration.count() == len(seeds)]
    found = runs.drop_duplicates("configuration").set_index("configuration").loc[means.index]
    return found.assign(validation_acc=means).reset_index()


def chosen_on(name: str, scale: Scale) -> pd.DataFrame:
    """Return the configurations at this scale with their accuracies on the seeds that chose the settings of rows."""
    seeds = max((found.chosen_on for found in published_results(name, scale).values()), key=len)
    return validation_accuracies(name, scale, seeds)


def in_bold(values: pd.Series, texts: list[str]) -> list[str]:
    return [f"**{text}**" if value == values.max() else text for value, text in zip(values, texts, strict=True)]


def rates() -> list[str]:
    """Return the validation accuracies of the learning rates that were tried, at the best λ or β; the best in bold."""
    scales: dict[str, Scale] = {**dict.fromkeys(MNIST, "paper"), **dict.fromkeys(SHORT, "short")}
    rows = []
    for method in SEARCHED:
        cells = [_rates(chosen_on(name, scale), method) for name, scale in scales.items()]
        labels = {"agem": "A-GEM", "gem": "GEM, q = 0.3", "single": "Single", "independent": "Independent"}
        rows.append([labels.get(method, method.upper()), *(cell or MISSING for cell in cells)])
    return markdown(["method", *(TABLES[name].title.partition(" · ")[2] for name in scales)], rows)


def _rates(runs: pd.DataFrame, method: str) -> str:
    runs = runs[runs["method"] == method]
    if method == "gem":
        runs = runs[(runs["label"] == "GEM") & (runs["strength"] == 0.3)]
    extra = EXTRA.get(method)
    best = runs.groupby("lr")["validation_acc"].transform("max")
    runs = runs[runs["validation_acc"] == best].drop_duplicates("lr").sort_values("lr")
    more = [f" ({value:g})" for value in runs[extra]] if extra else [""] * len(runs)
    each = zip(runs["lr"], more, runs["validation_acc"], strict=True)
    return ", ".join(in_bold(runs["validation_acc"], [f"{lr:g}{other}: {acc:.1f}" for lr, other, acc in each]))


def strengths() -> list[str]:
    """Return the validation accuracies of the strengths that were tried on MNIST at the rate 0.1, the best in bold."""
    runs = {name: chosen_on(name, "paper") for name in MNIST}
    of = {name: found[(found["method"] == "gem") & (found["lr"] == 0.1)] for name, found in runs.items()}
    rows = []
    for label in dict.fromkeys(label for found in of.values() for label in found["label"]):
        cells = []
        for found in of.values():
            accuracies = found[found["label"] == label].set_index("strength")["validation_acc"].reindex(STRENGTHS)
            texts = [MISSING if pd.isna(value) else f"{value:.1f}" for value in accuracies]
            cells.append(", ".join(in_bold(accuracies, texts)))
        rows.append([label, *cells])
    tried = ", ".join(f"{q:g}" for q in STRENGTHS)
    return markdown(["method", *(f"{title}: q = {tried}" for title in MNIST.values())], rows)


def figure_2() -> list[str]:
    """Return by how much each line of Figure 2 differs from GEM at equal retention, per ‖z‖ and on raw axes."""
    rows = []
    for one in compare_lines("figure-2"):
        found = (one.at_equal_x, one.at_equal_x_other)
        texts = [f"{signed(e.mean, 3)} ({signed(e.low, 3)} to {signed(e.high, 3)})" if e else MISSING for e in found]
        rows.append([one.line, f"**{texts[0]}**" if one.significant else texts[0], texts[1]])
    return markdown(["learned at equal retention minus GEM, %", "per ‖z‖", "raw"], rows)


def all_claims() -> list[str]:
    """Return every claim with its verdict, the paper's evidence and what we find."""
    lines: list[str] = []
    for claim, finding in claims.findings():
        head = f"**{claim.claim}** *{finding.verdict.capitalize()}.* Paper: {claim.evidence}"
        lines += ["", *textwrap.wrap(head, WIDTH, break_long_words=False, break_on_hyphens=False), ""]
        lines += paragraphs(finding.sentences)
    return lines[1:]


def paragraphs(sentences: Iterable[str]) -> list[str]:
    """Return a list in Markdown, one item per sentence."""
    options = {"initial_indent": "- ", "subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}
    return [line for one in sentences for line in textwrap.wrap(one, WIDTH, **options)]  # type: ignore[arg-type]


SECTIONS: dict[str, Callable[[], list[str]]] = {
    "table-1": table_1,
    "orders": orders,
    "minus-gem": minus_gem,
    "close-choices": close_choices,
    "rates": rates,
    "strengths": strengths,
    "figure-2": figure_2,
    "claims": all_claims,
}


def filled(text: str) -> str:
    """Return the document with every section computed again."""
    return SECTION.sub(lambda found: _section(found["name"]), text)


def _section(name: str) -> str:
    return "\n".join([f"<!-- {name} -->", "", *SECTIONS[name](), "", "<!-- end -->"])


def main() -> None:
    claims.store()
    FILE.write_text(filled(FILE.read_text()))


if __name__ == "__main__":
    main()
