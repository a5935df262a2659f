"""The command `mgem compare`, which compares the lines of a sweep with a baseline, paired by seed."""

import argparse
import json
import math
import sys
from dataclasses import asdict
from typing import Any

from mgem_core import UsageError
from mgem_core.analysis import aggregate, frames, measurements, paired
from mgem_core.analysis.paired import Verdict
from mgem_core.cli import _recorded_differences
from mgem_core.cli._recorded_differences import RecordedDifferences, interval, numbers, read_differences, without_results
from mgem_core.cli._report import printable, table_lines
from mgem_core.cli._view import add_view_options, read_view
from mgem_core.cli.runs import find_runs
from mgem_core.errors import check_choice
from mgem_core.home import store_path
from mgem_core.store import Store
from mgem_core.text import pluralize

COLUMNS = ("at_equal_x", "at_equal_x_other", "fwd_at_equal_bwd", "acc", "best_acc")
LEGEND = """\
Differences from {baseline}, mean over {seeds} [95 % CI]. Runs with the same seed are paired.
learned    ⟨g_t,z⟩ at equal ⟨g_s,z⟩, in percent; common: the fraction of the range that both lines cover
FWD        at equal BWD, in points
ACC        at equal strengths, in points; best ACC: at the best strength of the previous seed
*          significant after Holm's correction for the number of lines. One difference per line is tested: learned or, if
           common is below 0.5, best ACC. The other columns have intervals only."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_compare)
    parser.add_argument("sweep", metavar="SWEEP", help="a sweep like s3")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    add_view_options(parser)


def _compare(options: argparse.Namespace) -> int:
    store = Store(store_path())
    runs = frames.runs(store, ids=find_runs(store, [options.sweep]))
    view = read_view(options, aggregate.benchmarks(runs))
    rows = aggregate.runs_to_compare(runs, measurements.read_measurements(store, runs["id"].tolist()), view)
    baseline = view.baseline or aggregate.default_baseline(rows)
    check_choice("baseline", baseline, dict.fromkeys(rows["line"]))
    verdicts = paired.compare(rows, baseline, aggregate.OTHER_AXES[view.axes])
    try:
        recorded = read_differences(store, runs, view)
    except UsageError as error:  # such as runs of another version; the trained results can still be compared
        print(f"The recorded steps cannot be used: {printable(str(error))}", file=sys.stderr)
        recorded = None
    if options.json:
        print(json.dumps(_documents(verdicts, recorded), indent=2, allow_nan=False))
        return 0
    if recorded:
        print(_recorded_differences.printable_table(recorded), end="\n\nTrained runs:\n")
    print(printable_table(verdicts, baseline))
    return 0


def _documents(verdicts: list[Verdict], recorded: RecordedDifferences | None) -> list[dict[str, Any]]:
    """Return the verdicts for JSON, each with the difference at recorded steps, and lines that have only the latter."""
    if not recorded:
        return [{**_document(verdict), "at_recorded_steps": None} for verdict in verdicts]
    known = {verdict.line for verdict in verdicts}
    others = [without_results(line, recorded.baseline) for line in recorded.of_line if line not in known]
    return [
        {**_document(verdict), "at_recorded_steps": _recorded_differences.document(recorded, verdict.line)}
        for verdict in (*verdicts, *others)
    ]


def _document(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict for JSON."""
    return {
        **asdict(verdict),
        **{name: numbers(verdict.estimate(name)) for name in paired.ESTIMATES},
        "interpolation": verdict.interpolation if math.isfinite(verdict.interpolation) else None,
        "primary": verdict.primary,
        "detectable": verdict.detectable,
        "seeds_needed": verdict.seeds_needed,
        "words": paired.in_words(verdict),
    }


def printable_table(verdicts: list[Verdict], baseline: str) -> str:
    """Format a table with one line per verdict, the verdicts in words, and a legend."""
    if not verdicts:
        return f"Nothing can be compared with {printable(baseline)}: no seed has finished in every configuration."
    other = {"raw": "learned, raw, %", "unit": "learned per ‖z‖, %"}[verdicts[0].other_axes]
    header = ("line", "learned, %", other, "FWD", "ACC", "best ACC", "common")
    table = table_lines([header, *map(_cells, verdicts)])
    seeds = pluralize(len(verdicts[0].seeds), "seed")
    words = [printable(paired.in_words(verdict)) for verdict in verdicts]
    branches = [line for line in (paired.about_branches(verdicts),) if line]
    return "\n".join([*table, "", *words, *branches, "", LEGEND.format(baseline=printable(baseline), seeds=seeds)])


def _cells(verdict: Verdict) -> tuple[str, ...]:
    cells = [
        interval(verdict.estimate(name)) + (" *" if verdict.significant and name == verdict.primary else "")
        for name in COLUMNS
    ]
    return printable(verdict.line), *cells, f"{100 * verdict.common:.0f} %"
