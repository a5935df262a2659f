"""The commands `mgem data list`, which shows the benchmarks that have their data, and `mgem data fetch`."""

import argparse
import io
import socket
from contextlib import redirect_stdout

from mgem_core import UsageError
from mgem_core.cli._errors import print_error
from mgem_core.report import printable
from mgem_core.streams import BENCHMARKS, Dataset

TIMEOUT = 30.0  # seconds without any data after which a download has failed


def add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="list|fetch")
    list_parser = actions.add_parser("list", help="which benchmarks have their data", allow_abbrev=False)
    list_parser.set_defaults(command=_list)
    fetch_parser = actions.add_parser("fetch", help="download what a benchmark needs", allow_abbrev=False)
    fetch_parser.set_defaults(command=_fetch)
    fetch_parser.add_argument("name", metavar="NAME", help="a dataset or a benchmark, as mgem data list names them")


def _list(options: argparse.Namespace) -> int:
    for name, benchmark in BENCHMARKS.items():
        dataset = benchmark.dataset
        if dataset is None:
            state = "built in"
        else:
            state = f"missing: mgem data fetch {dataset.name}" if dataset.problem() else "here"
        print(f"{name:<24} {benchmark.title:<36} {state}")
    return 0


def _fetch(options: argparse.Namespace) -> int:
    dataset = _find_dataset(options.name)
    if dataset is None:
        print(f"{options.name} is built in; there is nothing to fetch.")
    elif not dataset.problem():
        print(printable(f"{dataset.title} is in {dataset.folder()} already."))
    elif failure := _download(dataset):
        remedy = "try again with a network connection, or put its unpacked files there yourself"
        return print_error(f"{dataset.title} could not be downloaded to {dataset.folder()} ({failure}); {remedy}.", 1)
    else:
        print(printable(f"{dataset.title} is in {dataset.folder()} now."))
    return 0


def _find_dataset(name: str) -> Dataset | None:
    """The dataset of that name, or of the benchmark of that name; None if the benchmark is built in."""
    if name in BENCHMARKS:
        return BENCHMARKS[name].dataset
    known = {benchmark.dataset.name: benchmark.dataset for benchmark in BENCHMARKS.values() if benchmark.dataset}
    if name not in known:
        raise UsageError(f"there is no data {name!r}; it must be one of {', '.join([*known, *BENCHMARKS])}.")
    return known[name]


def _download(dataset: Dataset) -> str:
    """Download a dataset; return why that failed, on one line, or an empty text."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        with redirect_stdout(io.StringIO()):  # hides what torchvision prints; its progress goes to stderr
            dataset.fetch()
        return dataset.problem()
    except Exception as error:  # a download may raise anything
        return " ".join(str(error).split()) or type(error).__name__
    finally:
        socket.setdefaulttimeout(before)
