"""The command `mgem publish`: add finished runs to a file in the format of the results that come with the tool."""

import argparse
import math
from pathlib import Path

from mgem_core import UsageError
from mgem_core.analysis import frames
from mgem_core.cli._report import printable
from mgem_core.cli.runs import find_runs
from mgem_core.home import store_path
from mgem_core.paper.published import append, pack
from mgem_core.paper.selection import belongs_to_table
from mgem_core.paper.tables import TABLES
from mgem_core.store import Store
from mgem_core.text import pluralize


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_publish)
    parser.add_argument("stores", nargs="*", metavar="STORE", help="a runs.db or its folder [the one of MGEM_HOME]")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="a .jsonl file; runs that it does not have yet are added. If it has the name of a table of the paper "
        f"({', '.join(TABLES)}), only runs of this table are added",
    )
    parser.add_argument("--only", default="", metavar="X", help="sweeps or runs, such as s3,r12 [all finished runs]")
    help = "measured peak memory of the process that trained these runs; it is added to their lines"
    parser.add_argument("--peak-memory-mb", type=float, metavar="X", help=help)


def _publish(options: argparse.Namespace) -> int:
    path = Path(options.output)
    if path.suffix != ".jsonl":
        raise UsageError(f"output is {options.output!r}; it must be a file whose name ends with .jsonl.")
    if options.peak_memory_mb is not None and not 0 < options.peak_memory_mb < math.inf:
        raise UsageError(f"peak-memory-mb is {options.peak_memory_mb}; it must be a number above 0.")
    measured_outside = {"peak_memory_mb": options.peak_memory_mb} if options.peak_memory_mb else {}
    written = found = 0
    for store in [_open(Path(name)) for name in options.stores] or [Store(store_path())]:
        runs = frames.runs(store, ids=find_runs(store, options.only.split(",")) if options.only else None)
        runs = runs[runs["status"] == "finished"]
        if path.stem in TABLES:
            runs = runs[belongs_to_table(runs, TABLES[path.stem])]
        found += len(runs)
        lines = pack(store, runs["id"].tolist())
        written += append(path, [{**line, **measured_outside} for line in lines])
        store.close()
    rest = f"; {found - written} were there already" if found > written else ""
    print(printable(f"{pluralize(written, 'run')} added to {path}{rest}."))
    return 0


def _open(path: Path) -> Store:
    path = path / "runs.db" if path.is_dir() else path
    if not path.exists():
        raise UsageError(f"store is {str(path)!r}, but there is no such file.")
    return Store(path)
