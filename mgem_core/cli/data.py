"""The commands about data: which benchmarks could run now, and bringing what the others need."""

import argparse
import io
import socket
import sys
from contextlib import redirect_stdout
from typing import Any

from mgem_core import UsageError
from mgem_core.report import printable
from mgem_core.streams import BENCHMARKS, Dataset

PATIENCE = 30.0  # seconds without a byte after which a download has failed


def add_commands(commands: Any) -> None:
    data = commands.add_parser("data", help="list the benchmarks and their data, or fetch it", allow_abbrev=False)
    actions = data.add_subparsers(required=True, metavar="list|fetch")
    listing = actions.add_parser("list", help="which benchmarks have their data", allow_abbrev=False)
    listing.set_defaults(command=_list)
    fetch = actions.add_parser("fetch", help="download what a benchmark needs", allow_abbrev=False)
    fetch.set_defaults(command=_fetch)
    fetch.add_argument("name", metavar="NAME", help="a dataset or a benchmark, as mgem data list names them")


def _list(options: argparse.Namespace) -> int:
    for name, benchmark in BENCHMARKS.items():
        dataset = benchmark.dataset
        state = "built in" if dataset is None else f"missing: mgem data fetch {dataset.name}" if dataset.lack() else "here"
        print(f"{name:<24} {benchmark.title:<36} {state}")
    return 0


def _fetch(options: argparse.Namespace) -> int:
    dataset = _dataset(options.name)
    if dataset is None:
        print(f"{options.name} is built in; there is nothing to fetch.")
    elif not dataset.lack():
        print(printable(f"{dataset.title} is in {dataset.folder()} already."))
    elif failure := _failure(dataset):
        to_do = "try again with a network connection, or put its unpacked files there yourself"
        sentence = f"mgem: {dataset.title} could not be downloaded to {dataset.folder()} ({failure}); {to_do}."
        print(printable(sentence), file=sys.stderr)
        return 1
    else:
        print(printable(f"{dataset.title} is in {dataset.folder()} now."))
    return 0


def _dataset(name: str) -> Dataset | None:
    """What a dataset's or a benchmark's name stands for; None if it is built in."""
    if name in BENCHMARKS:
        return BENCHMARKS[name].dataset
    known = {one.dataset.name: one.dataset for one in BENCHMARKS.values() if one.dataset}
    if name not in known:
        raise UsageError(f"there is no data {name!r}; it must be one of {', '.join([*known, *BENCHMARKS])}.")
    return known[name]


def _failure(dataset: Dataset) -> str:
    """Download; why that failed, on one line, or empty."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        with redirect_stdout(io.StringIO()):  # torchvision's own remarks; its progress goes to stderr
            dataset.fetch()
        return dataset.lack()
    except Exception as error:  # a download may raise anything
        return " ".join(str(error).split()) or type(error).__name__
    finally:
        socket.setdefaulttimeout(before)
