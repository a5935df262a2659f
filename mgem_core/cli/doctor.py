"""The command `mgem doctor`: check this installation, and compare a GPU with the CPU."""

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mgem_core import UsageError
from mgem_core.cli._report import printable
from mgem_core.config.keys import expected_device
from mgem_core.doctor import Check, Checks, run_checks
from mgem_core.doctor.access import check_access
from mgem_core.doctor.folders import check_data, check_home
from mgem_core.doctor.machine import check_descriptors, check_device, check_disk, check_versions
from mgem_core.doctor.report import make_report, to_json
from mgem_core.doctor.stored import check_store
from mgem_core.home import check_writable, replace_file
from mgem_core.text import pluralize

REPORT = "mgem-report.json"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_doctor)
    parser.add_argument("--quick", action="store_true", help="leave out speed and devices, and do not read all data files")
    compare = "compare two devices on the same steps, a few minutes [cpu,cuda if there is a GPU]"
    parser.add_argument("--compare", metavar="A,B", help=compare)
    output = f"write the report of the comparison to this file [{REPORT}]"
    parser.add_argument("-o", "--output", default=REPORT, metavar="FILE", help=output)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _doctor(options: argparse.Namespace) -> int:
    if options.quick and options.compare:
        raise UsageError("quick leaves out the comparison of devices; leave out --quick or --compare.")
    checks: list[Check] = []
    comparison: dict[str, Any] = {}  # filled by the last check
    if devices := _read_devices(options):
        if Path(options.output).is_dir():
            raise UsageError(f"output is {options.output!r}, which is a folder; give the name of a file.")
        check_writable("output", Path(options.output))
    for check in run_checks(_named_checks(options.quick, devices, comparison)):
        checks.append(check)
        if not options.json:
            _print_check(check)
    _show("")
    if comparison:
        report = make_report(checks, comparison)
        replace_file(Path(options.output), f"{to_json(report)}\n".encode())
        privacy = "apart from error messages, it contains no names of folders, users or computers"
        line = f"The report is in {options.output}; {privacy}."
        print(printable(line), file=sys.stderr if options.json else sys.stdout)
    broken = sum(check.is_broken for check in checks)
    if options.json:
        level = "broken" if broken else "advice" if any(check.advice for check in checks) else "ok"
        document = {"level": level, "checks": [check.document() for check in checks], "comparison": comparison or None}
        print(to_json(document))
    elif broken:
        print(f"{pluralize(broken, 'problem')} found.")
    return 1 if broken else 0


def _named_checks(quick: bool, devices: str, comparison: dict[str, Any]) -> dict[str, Checks]:
    """Return the checks in their order; those that import torch come last."""
    named: dict[str, Checks] = {
        "versions": check_versions,
        "device": check_device,
        "folder": check_home,
        "disk": check_disk,
        "descriptors": check_descriptors,
        "store": check_store,
        "data": partial(check_data, thorough=not quick),
        "access": check_access,
    }
    if not quick:
        named |= {"torch": _check_torch, "speed": _check_speed}
    if devices:
        named["compare"] = partial(_compare, devices, comparison)
    return named


def _check_torch() -> Iterator[Check]:
    _show("importing torch")
    from mgem_core.doctor.speed import check_torch

    yield from check_torch()


def _check_speed() -> Iterator[Check]:
    _show("measuring the speed of three networks")
    from mgem_core.doctor.speed import check_speed

    yield from check_speed()


def _compare(devices: str, comparison: dict[str, Any]) -> Iterator[Check]:
    from mgem_core.doctor.comparison import NETWORKS, STEPS, checks_of, compare_devices, parse_devices

    comparison |= compare_devices(*parse_devices(devices), NETWORKS, STEPS, _show)
    yield from checks_of(comparison)


def _read_devices(options: argparse.Namespace) -> str:
    """Return the devices to compare; empty if there is only one, or if the comparison is left out."""
    if not options.compare:
        return "cpu,cuda" if expected_device("auto") == "cuda" and not options.quick else ""
    try:
        from mgem_core.doctor.comparison import parse_devices
    except Exception as error:  # a broken build of torch may raise anything
        problem = f"compare needs torch, which cannot be imported ({error})"
        raise UsageError(f"{problem}; leave it out to check the installation.") from None
    parse_devices(options.compare)  # raises UsageError
    return str(options.compare)


def _print_check(check: Check) -> None:
    _show("")
    print(printable(f"{check.level:<7} {check.name:<12} {check.finding}"))
    if check.advice:
        print(printable(f"{'':<20} {check.advice}"), flush=True)


def _show(doing: str) -> None:
    """Show on stderr what is being measured; on a terminal, the next call overwrites it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{doing}", end="", file=sys.stderr, flush=True)
    elif doing:
        print(doing, file=sys.stderr, flush=True)
