"""The report of a comparison of devices: one JSON file that a user can send to the project.

It contains versions, devices, speeds and the comparison, but no names of folders, users or computers, unless they are part
of the error message of a device.
"""

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mgem_core.doctor.check import Check
from mgem_core.errors import UsageError
from mgem_core.home import partial_of, replace_file

FORMAT = 1  # of the file
ANONYMOUS = ("versions", "device", "torch", "speed", "compare", "rows")  # checks without names of folders or users


def make_report(checks: Sequence[Check], comparison: dict[str, Any]) -> dict[str, Any]:
    """Return the report as plain data."""
    shown = [check for check in checks if check.name in ANONYMOUS]
    agree = not any(check.is_broken for check in shown if check.name in ("compare", "rows"))
    head = {"mgem_report": FORMAT, "created": datetime.now(UTC).isoformat(timespec="seconds"), "devices_agree": agree}
    return {**head, "checks": [check.document() for check in shown], "comparison": comparison}


def check_writable(path: Path) -> None:
    """Raise UsageError if the report cannot be written, before minutes are spent on measuring."""
    if path.is_dir():
        raise UsageError(f"output is {str(path)!r}, which is a folder; give the name of a file.")
    try:
        partial_of(path).touch()
        partial_of(path).unlink()
    except OSError as error:
        raise UsageError(f"output is {str(path)!r}, but it cannot be written: {error.strerror}.") from None


def write_report(path: Path, report: dict[str, Any]) -> None:
    replace_file(path, f"{to_json(report)}\n".encode())


def to_json(value: Any) -> str:
    """Return an indented JSON document; numbers that are not finite become null."""
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
