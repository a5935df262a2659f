"""A run's state in a file that is either the whole old one or the whole new one, whatever happens while it is written."""

import io
import os
import pickle
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from mgem_core.config import RunConfig, UsageError

FORMAT = 1


def check_writable(path: Path) -> None:
    """Say now, not at the end of the first task, that nothing can be written there."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"checkpoint is {str(path)!r}, which is no regular file; give the name of one.")
        _partial(path).touch()
        _partial(path).unlink()
    except OSError as error:
        raise UsageError(f"checkpoint is {str(path)!r}, but it cannot be written: {error.strerror}.") from None


def _partial(path: Path) -> Path:
    """Where a checkpoint is written first: one name, so that what a killed run left is overwritten."""
    return path.with_name(f"{path.name}.partial")


def save(path: Path, config: RunConfig, state: dict[str, Any]) -> None:
    """Write beside the target, flush to the disk, then rename over it."""
    packed = io.BytesIO()  # torch.save to a full disk would not say that it is full
    torch.save({"format": FORMAT, "config": config.model_dump_json(), **state}, packed)
    partial = _partial(path)
    try:
        with partial.open("wb") as file:
            file.write(packed.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        partial.unlink(missing_ok=True)


def load(path: Path, config: RunConfig) -> dict[str, Any]:
    """The state saved there, for the same config, in the CPU's memory."""
    if not path.is_file():
        raise UsageError(f"resume is {str(path)!r}, but there is no such file; leave it out to start anew.")
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        known = state["format"], state["config"]
    except (OSError, RuntimeError, EOFError, LookupError, TypeError, ValueError, pickle.UnpicklingError):
        raise UsageError(f"resume is {str(path)!r}, which is no checkpoint of a run, or a damaged one.") from None
    if known[0] != FORMAT:
        raise UsageError(f"resume is {str(path)!r}, of checkpoint format {known[0]}; this version reads format {FORMAT}.")
    try:
        saved = RunConfig.model_validate_json(known[1])
    except ValidationError:
        raise UsageError(f"resume is {str(path)!r}, a run that this version of mgem does not know.") from None
    if other := [name for name in RunConfig.model_fields if getattr(saved, name) != getattr(config, name)]:
        now, then = getattr(config, other[0]), getattr(saved, other[0])
        raise UsageError(f"resume is {str(path)!r}, a run with {other[0]} {then!r}, not {now!r}; give the same settings.")
    return state
