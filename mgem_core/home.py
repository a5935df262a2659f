"""Where results and data live: MGEM_HOME (default: the project's data_cache/), MGEM_DATA (default: MGEM_HOME)."""

import os
from pathlib import Path


def home() -> Path:
    beside = Path(__file__).parents[1] / "data_cache"
    return Path(os.environ.get("MGEM_HOME") or (beside if beside.is_dir() else "data_cache"))


def data_root() -> Path:
    return Path(os.environ.get("MGEM_DATA") or home())
