"""Results that come with the tool: one file per table or figure of the paper, one line of JSON per finished run.

`mgem publish` writes these files from stores; do not edit them by hand. A line may also hold answers of the lens for a
configuration at the recorded steps of another run (`recorded.py`); such a line has no accuracies.
"""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mgem_core.analysis import frames
from mgem_core.analysis.aggregate import Measurements
from mgem_core.analysis.measurements import measurements, read_measurements
from mgem_core.config.sweeps import configuration_of
from mgem_core.errors import UsageError
from mgem_core.home import replace_file
from mgem_core.store import Store
from mgem_core.store.reader import forgetting_of
from mgem_core.version import VERSION

FOLDER = Path(__file__).parent
NUMBERS = ("acc", "fwd", "bwd", "validation_acc", "seconds", "seconds_per_step")
MEASURED_OUTSIDE = ("peak_memory_mb",)  # measured on the training process; only some lines have it
STEPS_OF = "steps_of"  # key of lines with answers of the lens: "4 recorded steps of GEM, strength 0.5"
Line = dict[str, Any]


def pack(store: Store, runs: Sequence[int] | None = None, statuses: Sequence[str] = ("finished",)) -> list[Line]:
    """Return a line for each run with one of these statuses, among these runs (default: all)."""
    records = [record for record in store.run_records(runs) if record["status"] in statuses]
    measured = read_measurements(store, [record["id"] for record in records])
    return [_line(record, measured[record["id"]]) for record in records]


def _line(record: dict[str, Any], measured: Measurements) -> Line:
    return {
        **{name: record[name] for name in ("label", "status")},
        **{name: rounded(record[name], 7) for name in NUMBERS},
        "matrix": [[value if value is None else round(value, 2) for value in row] for row in record["matrix"]],
        "pairs": {f"{s},{t}": [rounded(value, 6) for value in values] for (s, t), values in measured.pairs.items()},
        **{"fingerprint": record["fingerprint"], "version": VERSION, "config": record["config"]},
    }


def rounded(value: float | None, digits: int) -> float | None:
    """Round to this many significant digits; NaN and infinity, which JSON does not have, become None."""
    return None if value is None or not isfinite(value) else float(f"{value:.{digits}g}")


def append(path: Path, lines: Iterable[Line]) -> int:
    """Add the lines whose runs are not in the file yet (same config); return their number."""
    before = _lines(path) if path.exists() else []
    known, new = set(map(_identity, before)), []
    for line in lines:
        if (identity := _identity(line)) not in known:
            known.add(identity)
            new.append(line)
    replace_file(path, b"".join(_text(line) + b"\n" for line in (*before, *new)))
    return len(new)


def _text(line: Line) -> bytes:
    return json.dumps(line, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def _identity(line: Line) -> tuple[str, int, str]:
    """Return what makes a line unique; a trained run and an answer of the lens are two results."""
    return configuration_of(_stored(line)), line["config"]["seed"], line.get(STEPS_OF, "")


def _stored(line: Line) -> str:
    """Return the config in the format of the store."""
    return json.dumps(line["config"], separators=(",", ":"))


def _check(line: Line) -> None:
    """Raise an error if this is not a line as `pack` makes them."""
    _text(line)  # fails on NaN and lone surrogates
    _identity(line)
    _measurements(line)
    forgetting_of(line)
    if not all(isinstance(line["config"][name], int) for name in ("seed", "tasks")):
        raise ValueError("config")
    if not isinstance(line["label"], str):
        raise ValueError("label")
    for name in NUMBERS:
        if not (line[name] is None or (isinstance(line[name], float | int) and isfinite(line[name]))):
            raise ValueError(name)


def _lines(path: Path) -> list[Line]:
    lines = []
    for number, text in enumerate(path.read_bytes().splitlines(), 1):
        try:
            line = json.loads(text)
            _check(line)
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
            raise UsageError(f"line {number} of {path} is not the result of a run; write it with mgem publish.") from None
        lines.append(line)
    return lines


def read(name: str, folder: Path | None = None) -> tuple[pd.DataFrame, dict[int, Measurements]]:
    """Return the runs of a file, as `frames.with_forgetting`, and id → measurements; both are empty if it is missing.

    The default folder holds the results that come with the tool. All callers share the two objects and must not change
    them.
    """
    path = (folder or FOLDER) / f"{name}.jsonl"
    return _read(path, version(name, folder)) if path.exists() else _frame([])


def version(name: str, folder: Path | None = None) -> int:
    """Return a number that changes whenever the file is written; 0 if it is missing."""
    path = (folder or FOLDER) / f"{name}.jsonl"
    return path.stat().st_mtime_ns if path.exists() else 0


@lru_cache(maxsize=32)
def _read(path: Path, version: int) -> tuple[pd.DataFrame, dict[int, Measurements]]:
    """Read a file; `version` makes the cache read it again after a change."""
    return _frame(_lines(path))


def _frame(lines: Sequence[Line]) -> tuple[pd.DataFrame, dict[int, Measurements]]:
    columns = [*frames.COLUMNS, "forgetting", *MEASURED_OUTSIDE, STEPS_OF, "config"]
    defaults = {"attempts": 1, "step": 0, "progress": 1.0}
    records = [
        {**defaults, **line, "id": number, "task": line["config"]["tasks"], "forgetting": forgetting_of(line)}
        | {"config": _stored(line)}
        for number, line in enumerate(lines, 1)
    ]
    frame = pd.DataFrame(records, columns=columns)
    frame = frame.astype(dict.fromkeys([*NUMBERS, "forgetting", *MEASURED_OUTSIDE], float))
    return frames.with_fields(frame), {number: _measurements(line) for number, line in enumerate(lines, 1)}


def _measurements(line: Line) -> Measurements:
    pairs = {}
    for pair, values in line["pairs"].items():
        s, t = map(int, pair.split(","))
        pairs[s, t] = _floats(values)
    return measurements(pairs, np.array([*map(_floats, line["matrix"])], float))


def _floats(values: Sequence[float | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]
