"""Results of small studies that claims rest on: `studies.json`, written by the scripts in `studies/`.

Each study has the command that measures it and its results, one object per measured case.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from mgem_core.home import replace_file

FILE = Path(__file__).with_name("studies.json")


def read_study(name: str) -> pd.DataFrame:
    """Return one row per measured case of a study. The frame is shared by all callers, who must not change it."""
    return _read(FILE, FILE.stat().st_mtime_ns)[name]


def write_study(name: str, command: str, rows: Sequence[dict[str, Any]]) -> None:
    """Replace the results of one study in the file."""
    studies = json.loads(FILE.read_text()) if FILE.exists() else {}
    studies[name] = {
        "measured_by": command,
        "results": [{key: _rounded(value) for key, value in row.items()} for row in rows],
    }
    replace_file(FILE, _text(dict(sorted(studies.items()))).encode())


def _rounded(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _text(studies: dict[str, Any]) -> str:
    """Write one line per measured case, so that a change shows up as a changed line."""
    parts = []
    for name, study in studies.items():
        rows = ",\n".join(f"   {json.dumps(row, ensure_ascii=False, allow_nan=False)}" for row in study["results"])
        command = json.dumps(study["measured_by"], ensure_ascii=False)
        parts.append(f' {json.dumps(name)}: {{\n  "measured_by": {command},\n  "results": [\n{rows}\n  ]\n }}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


@lru_cache(maxsize=2)
def _read(path: Path, version: int) -> dict[str, pd.DataFrame]:
    """`version` changes whenever the file is written again."""
    return {name: pd.DataFrame(study["results"]) for name, study in json.loads(path.read_text()).items()}
