"""The report of a comparison of devices: one JSON file that a user can send to the project.

It contains versions, devices, speeds and the comparison, but no names of folders, users or computers, unless they are part
of the error message of a device.
"""

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from mgem_core.doctor.check import Check

FORMAT = 1  # of the file
ANONYMOUS = ("versions", "device", "torch", "speed", "compare", "rows")  # checks without names of folders or users


def make_report(checks: Sequence[Check], comparison: dict[str, Any]) -> dict[str, Any]:
    """Return the report as plain data."""
    shown = [check for check in checks if check.name in ANONYMOUS]
    agree = not any(check.is_broken for check in shown if check.name in ("compare", "rows"))
    head = {"mgem_report": FORMAT, "created": datetime.now(UTC).isoformat(timespec="seconds"), "devices_agree": agree}
    return {**head, "checks": [check.document() for check in shown], "comparison": comparison}


def to_json(value: Any) -> str:
    """Return an indented JSON document; numbers that are not finite become null."""
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
