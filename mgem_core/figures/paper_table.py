"""A table of the paper next to our runs: its entries, and all of them as a frame or in LaTeX."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from mgem_core.analysis import frames
from mgem_core.figures import _latex
from mgem_core.learners import uses
from mgem_core.metrics import MEASURES
from mgem_core.paper.selection import Difference, Result, difference, find_results, judge, published_results, settings
from mgem_core.paper.tables import POST_HOC, PRINTED_MEASURES, Cell, Row, Scale, Table
from mgem_core.store import Store

PAPER, SHIPPED, OWN = "paper", "ours", "your runs"  # the sources: printed, published with the tool, in the user's store


class Entry(NamedTuple):
    """The numbers of one source in one row of a table."""

    row: Row
    source: str  # PAPER, or a source of runs; empty: no source has numbers for this row
    cells: dict[str, Cell]  # by measure
    differences: dict[str, Difference]  # from the paper
    result: Result | None  # the result with these numbers, if they come from runs


def read_entries(store: Store, table: Table, scale: Scale) -> list[Entry]:
    """Return the entries of the paper, of the results that come with the tool, and of the runs in the store."""
    ids = [run for run, benchmark in store.run_values(["id", "benchmark"]) if benchmark == table.benchmark]
    own = find_results(frames.with_forgetting(store, frames.runs(store, ids=ids)), table, scale) if ids else {}
    return entries(table, scale, {SHIPPED: published_results(table.name, scale), OWN: own})


def entries(table: Table, scale: Scale, sources: Mapping[str, Mapping[str, Result]]) -> list[Entry]:
    """Return for each row the paper's numbers, and those of each source of runs (results by label) that has some.

    The differences from the paper in ACC are tested, for each source in all rows together. Other measures are not tested,
    nor is the short scale, which trains less than the paper, or a table with another protocol.
    """
    found: list[Entry] = []
    for row in table.rows:
        printed = {name: cell for name in PRINTED_MEASURES if (cell := row.printed(name))}
        of_row = [Entry(row, PAPER, printed, {}, None)] if printed else []
        for source, results in sources.items():
            if result := results.get(row.label):
                cells = {name: Cell(mean.mean, mean.error) for name, mean in result.means.items()}
                of_row.append(Entry(row, source, cells, _differences(result, row), result))
        found += of_row or [Entry(row, "", {}, {}, None)]
    return _judged(found, sources) if scale == "paper" and table.is_protocol else found


def _differences(result: Result, row: Row) -> dict[str, Difference]:
    found = {name: difference(mean, row.printed(name)) for name, mean in result.means.items()}
    return {name: one for name, one in found.items() if one}


def _judged(found: Sequence[Entry], sources: Iterable[str]) -> list[Entry]:
    """Test the differences in ACC of each source."""
    judged = [*found]
    for source in sources:
        tested = [i for i, entry in enumerate(found) if entry.source == source and "acc" in entry.differences]
        for i, acc in zip(tested, judge([found[i].differences["acc"] for i in tested]), strict=True):
            judged[i] = found[i]._replace(differences={**found[i].differences, "acc": acc})
    return judged


def strength_of(entry: Entry) -> Any:
    """Return the chosen strength; None if the method has none."""
    config = entry.result.config if entry.result else None
    return config.strength if config and uses(config.method, "strength") else None


def tidy(table: Table, scale: Scale, found: Sequence[Entry]) -> pd.DataFrame:
    """Return a row per entry that has numbers; nothing is rounded."""
    return pd.DataFrame([_record(table, scale, entry) for entry in found if entry.source])


def _record(table: Table, scale: Scale, entry: Entry) -> dict[str, Any]:
    result = entry.result
    record: dict[str, Any] = {"table": table.name, "method": entry.row.label, "source": entry.source}
    record["scale"] = PAPER if result is None else scale
    for name in MEASURES:
        record[name], record[f"{name}_error"] = entry.cells.get(name, (math.nan, math.nan))
    for name in PRINTED_MEASURES:
        one = entry.differences.get(name)
        record[f"{name}_difference"], record[f"{name}_difference_error"] = one[:2] if one else (math.nan, math.nan)
    record["acc_difference_is_significant"] = "acc" in entry.differences and entry.differences["acc"].significant
    return {
        **record,
        "seeds": " ".join(map(str, result.seeds)) if result else "",
        "chosen_on_seeds": " ".join(map(str, result.chosen_on)) if result else "",
        "settings": ", ".join(settings(result.config)) if result else "",
        "note": entry.row.note if entry.source == PAPER else "",
    }


def latex(table: Table, scale: Scale, found: Sequence[Entry]) -> str:
    """Write a group of rows per method; a dagger marks printed numbers that contradict each other."""
    groups: dict[str, list[list[str]]] = {}
    for entry in found:
        if entry.source:
            dagger = r"$^\dagger$" if entry.row.note and entry.source == PAPER else ""
            seeds = str(len(entry.result.seeds)) if entry.result else "---"
            cells = [_latex.mean_cell(*entry.cells.get(name, (math.nan, math.nan)), 2) for name in MEASURES]
            names = [_latex.escape(entry.row.label) + dagger, _latex.escape(entry.source)]
            groups.setdefault(entry.row.label, []).append([*names, *cells, seeds])
    notes = "".join(f"% {row.label}: {row.note}\n" for row in table.rows if row.note) + f"% {POST_HOC}\n"
    about = f"{table.title}, our runs at {scale} scale: mean ± standard error over seeds; the paper's as printed; percent"
    head = ["method", "source", *MEASURES.values(), "seeds"]
    return notes + _latex.tabular(about, head, groups.values())
