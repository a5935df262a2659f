"""Compare trained lines: `python -m studies.trained_lines STORE` writes the study "trained-lines" and `equal_sweeps.csv`.

It trains the sweeps of docs/comparisons.md that the store lacks, 648 runs, and prints the tables of that document.
"""

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from mgem_core.analysis import aggregate, frames, measurements, paired
from mgem_core.analysis.aggregate import View
from mgem_core.analysis.significance import Estimate
from mgem_core.config.sweeps import SweepSpec
from mgem_core.paper.published.studies import write_study
from mgem_core.store import Store
from mgem_core.text import MISSING, signed
from studies.equal_sweeps import FILE
from studies.pictures import comparisons, train

COLUMNS = {
    "at_equal_x": "learned at equal retention, %",
    "at_equal_x_other": "the same on raw axes, %",
    "fwd_at_equal_bwd": "FWD at equal BWD",
    "acc": "ACC at equal q",
    "best_acc": "ACC at the best q",
}


def runs_to_compare(path: Path, spec: SweepSpec, name: str) -> pd.DataFrame:
    """Return the runs of a sweep, as `aggregate.runs_to_compare` does; train it if the store lacks it."""
    store = Store(path)
    sweep = store.find_sweep(spec) or train(path, spec, name)
    runs = frames.runs(store, sweep)
    measured = measurements.read_measurements(store, runs["id"].tolist())
    store.close()
    return aggregate.runs_to_compare(runs, measured, View())


def cell(found: Estimate | None, is_significant: bool) -> str:
    if found is None:
        return MISSING
    text = f"{signed(found.mean, 2)} ({signed(found.low, 2)} to {signed(found.high, 2)})"
    return f"**{text}**" if is_significant else text


def main() -> None:
    path, rows, splits = Path(sys.argv[1]), list[dict[str, Any]](), []
    for name, spec in comparisons().items():
        runs = runs_to_compare(path, spec, name)
        verdicts = paired.compare(runs, "GEM")
        partition, _, trigger = name.removesuffix(".png").partition("-")
        if partition == "splits":
            splits.append(runs.drop(columns="is_finished").assign(trigger=trigger))
        print(f"\n{partition}, {trigger}\n\n| line | {' | '.join(COLUMNS.values())} |\n{'|---' * (len(COLUMNS) + 1)}|")
        for one in verdicts:
            cells = [cell(one.estimate(column), one.significant and column == one.primary) for column in COLUMNS]
            print(f"| {one.line} | {' | '.join(cells)} |")
            for column in COLUMNS:
                if found := one.estimate(column):
                    where = {"line": one.line, "partition": partition, "trigger": trigger, "difference": column}
                    rows.append({**where, **found._asdict()})
        print("\nbest mean ACC")
        means = runs.groupby(["line", "q"])["acc"].mean()
        best = means[means.groupby("line").idxmax()].items()
        print("\n".join(f"{line}: {acc:.1f} at q = {q:g}" for (line, q), acc in best))
        print("\n".join(["", *map(paired.in_words, verdicts), paired.about_branches(verdicts)]))
        print(pd.Series([one.common for one in verdicts]).describe()[["min", "max"]].round(2).to_dict())
    pd.concat(splits).to_csv(FILE, index=False, float_format="%.6g")
    write_study("trained-lines", "python -m studies.trained_lines STORE", rows)


if __name__ == "__main__":
    main()
