"""Checks of the folder of results and of the data sets."""

import os
from collections.abc import Iterator
from pathlib import Path

from mgem_core.doctor.check import Check
from mgem_core.doctor.machine import existing_parent
from mgem_core.home import data_root, home
from mgem_core.streams import BENCHMARKS, Dataset


def check_home() -> Iterator[Check]:
    """Check MGEM_HOME, in which runs.db and checkpoints are written."""
    folder, remedy = home(), "allow this user to change it, or set MGEM_HOME to another folder"
    if folder.exists() and not folder.is_dir():
        yield Check("folder", f"{folder} is not a folder", "set MGEM_HOME to a folder", True)
    elif problem := _access_problem(existing_parent(folder), os.R_OK | os.W_OK | os.X_OK):
        yield Check("folder", problem, remedy, True)
    elif not folder.exists():
        yield Check("folder", f"results will be in {folder}, which does not exist yet")
    else:
        yield Check("folder", f"results are in {folder}")


def check_data(thorough: bool) -> Iterator[Check]:
    """Check MGEM_DATA and all data sets in it; if `thorough`, read their files and compare checksums."""
    root = data_root()
    if os.environ.get("MGEM_DATA") and not root.is_dir():
        state = "not a folder" if root.exists() else "missing"
        yield Check(
            "data",
            f"MGEM_DATA is {root}, which is {state}",
            "create it, or set MGEM_DATA to the folder of the data sets",
            True,
        )
        return
    if root.exists() and (problem := _access_problem(root, os.R_OK | os.X_OK)):
        yield Check("data", problem, "allow this user to read it, or set MGEM_DATA to another folder", True)
        return
    problems = {one: one.problem(thorough) for one in all_datasets()}
    for one, problem in problems.items():
        if problem and not _is_missing(problem):
            yield Check(f"data {one.name}", f"{one.title} is unusable: its {_rest(problem)}", one.remedy_for(problem), True)
    available = [one.name for one, problem in problems.items() if not problem]
    missing = [one.name for one, problem in problems.items() if _is_missing(problem)]
    details = {"folder": str(root), "available": available, "missing": missing}
    built_in = sum(not one.datasets() for one in BENCHMARKS.values())
    finding = f"{built_in} benchmarks are built in; {len(available)} of {len(problems)} data sets are in {root}"
    yield Check("data", finding, "mgem data list says how to get the others" if missing else "", details=details)


def all_datasets() -> list[Dataset]:
    found = [one for benchmark in BENCHMARKS.values() for one in benchmark.datasets()]
    return list({one.name: one for one in found}.values())


def _is_missing(problem: str) -> bool:
    """Return whether a problem (`Dataset.problem`) is that there are no files at all."""
    return problem.partition(" ")[0] == "which"


def _rest(problem: str) -> str:
    return problem.partition(" ")[2]


def _access_problem(folder: Path, mode: int) -> str:
    """Return why this user cannot use a folder; empty if that is possible."""
    if os.access(folder, mode):
        return ""
    can_read = os.access(folder, os.R_OK | os.X_OK)
    return f"{folder} cannot be {'written' if can_read else 'read'}"
