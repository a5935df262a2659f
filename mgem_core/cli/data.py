"""The commands `mgem data list`, which shows which data is available, and `mgem data fetch`, which downloads it."""

import argparse
import io
import socket
from collections.abc import Callable
from contextlib import redirect_stdout

from mgem_core import UsageError
from mgem_core.cli._report import print_error, printable
from mgem_core.streams import BENCHMARKS, Benchmark, Dataset

TIMEOUT = 30.0  # seconds without any data after which a download fails


def add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="list|fetch")
    list_parser = actions.add_parser("list", help="show which benchmarks have their data", allow_abbrev=False)
    list_parser.set_defaults(command=_list)
    list_parser.add_argument("--images", action="store_true", help="also open every image of DomainNet and PACS")
    fetch_parser = actions.add_parser("fetch", help="download the data of a benchmark", allow_abbrev=False)
    fetch_parser.set_defaults(command=_fetch)
    fetch_parser.add_argument("name", metavar="NAME", help="a dataset or benchmark from mgem data list")


def _list(options: argparse.Namespace) -> int:
    for name, benchmark in BENCHMARKS.items():
        if benchmark.dataset:
            _print_line(name, benchmark.title, _state(benchmark.dataset, _find_problem(benchmark.dataset)))
        elif benchmark.datasets():
            _list_domains(benchmark, options.images)
        else:
            _print_line(name, benchmark.title, "built in")
    return 0


def _list_domains(benchmark: Benchmark, images: bool) -> None:
    """Print a line about the benchmark, and one about each of its domains."""
    domains = benchmark.domains
    listed = [*domains, *benchmark.other_domains()]
    problems = {name: _find_problem(one, images) if (one := domains[name]) else "" for name in listed}
    summary = f"{sum(not problems[name] for name in domains)} of {len(domains)} domains are available"
    if benchmark.domain_root:
        summary += f"; any other folder DOMAIN/CLASS/ in {benchmark.domain_root()} can also be named"
    _print_line(benchmark.name, benchmark.title, summary)
    for name, problem in problems.items():
        dataset = domains[name]
        title = dataset.title if dataset else "rendered when needed"
        _print_line(f"  {name}", title, _state(dataset, problem) if dataset else "built in")


def _print_line(name: str, title: str, state: str) -> None:
    print(printable(f"{name:<24} {title:<36} {state}"))


def _find_problem(dataset: Dataset, images: bool = False) -> str:
    """Read all files and return what is wrong with them; with `images`, also open every image, which may take long."""
    return dataset.problem(True) or (dataset.find_bad_image() if images else "")


def _state(dataset: Dataset, problem: str) -> str:
    """Return whether a dataset is available and how large it is; if it is missing or damaged, how to get it."""
    if not problem:
        return f"available in {dataset.folder()} ({dataset.sample_size() or dataset.size})"
    word, _, rest = problem.partition(" ")  # "which is not in …" or "whose file … is damaged …"
    reason = f"missing: it {rest}" if word == "which" else f"unusable: its {rest}"
    return f"{reason}; {dataset.remedy_for(problem)} ({dataset.size})"


def _fetch(options: argparse.Namespace) -> int:
    datasets = _find_datasets(options.name)
    if not datasets:
        print(f"{options.name} is built in; nothing needs to be downloaded.")
    return max((_fetch_one(dataset) for dataset in datasets), default=0)


def _fetch_one(dataset: Dataset) -> int:
    if not (problem := _find_problem(dataset)):
        print(printable(f"{dataset.title} is already in {dataset.folder()}."))
    elif dataset.fetch is None:
        return print_error(f"there is no download of {dataset.title}, {problem}; {dataset.remedy_for(problem)}.", 1)
    elif failure := _download(dataset.fetch, dataset.problem):
        remedy = "try again with a network connection, or put its unpacked files there yourself"
        return print_error(f"{dataset.title} could not be downloaded to {dataset.folder()} ({failure}); {remedy}.", 1)
    else:
        print(printable(f"{dataset.title} has been downloaded to {dataset.folder()}."))
    return 0


def _find_datasets(name: str) -> list[Dataset]:
    """Return the dataset of that name, or the datasets that the benchmark of that name needs."""
    if name in BENCHMARKS:
        return BENCHMARKS[name].datasets()
    known = {dataset.name: dataset for benchmark in BENCHMARKS.values() for dataset in benchmark.datasets()}
    if name not in known:
        raise UsageError(f"there is no data {name!r}; it must be one of {', '.join([*known, *BENCHMARKS])}.")
    return [known[name]]


def _download(fetch: Callable[[], None], find_problem: Callable[[bool], str]) -> str:
    """Download a dataset; return on one line why it failed, or an empty string."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        with redirect_stdout(io.StringIO()):  # hides what torchvision prints; its progress goes to stderr
            fetch()
        return find_problem(True)
    except Exception as error:  # a download may raise anything
        return " ".join(str(error).split()) or type(error).__name__
    finally:
        socket.setdefaulttimeout(before)
