"""A run's state as bytes, and back: refused in one sentence where it is damaged or another run's."""

import io
import pickle
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from mgem_core.config import RunConfig, UsageError
from mgem_core.home import partial_of

FORMAT = 1


def check_writable(path: Path) -> None:
    """Say now, not at the end of the first task, that nothing can be written there."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"checkpoint is {str(path)!r}, which is no regular file; give the name of one.")
        partial_of(path).touch()
        partial_of(path).unlink()
    except OSError as error:
        raise UsageError(f"checkpoint is {str(path)!r}, but it cannot be written: {error.strerror}.") from None


def pack(config: RunConfig, state: dict[str, Any]) -> bytes:
    packed = io.BytesIO()
    torch.save({"format": FORMAT, "config": config.model_dump_json(), **state}, packed)
    return packed.getvalue()


def load(source: Path | bytes, config: RunConfig) -> dict[str, Any]:
    """The state saved there, for the same config, in the CPU's memory."""
    path = "a checkpoint" if isinstance(source, bytes) else repr(str(source))
    if isinstance(source, Path) and not source.is_file():
        raise UsageError(f"resume is {path}, but there is no such file; leave it out to start anew.")
    try:
        file = io.BytesIO(source) if isinstance(source, bytes) else source
        state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
        known = state["format"], state["config"]
    except (OSError, RuntimeError, EOFError, LookupError, TypeError, ValueError, pickle.UnpicklingError):
        raise UsageError(f"resume is {path}, which is no checkpoint of a run, or a damaged one.") from None
    if known[0] != FORMAT:
        raise UsageError(f"resume is {path}, of checkpoint format {known[0]}; this version reads format {FORMAT}.")
    try:
        saved = RunConfig.model_validate_json(known[1])
    except ValidationError:
        raise UsageError(f"resume is {path}, a run that this version of mgem does not know.") from None
    if other := [name for name in RunConfig.model_fields if getattr(saved, name) != getattr(config, name)]:
        now, then = getattr(config, other[0]), getattr(saved, other[0])
        raise UsageError(f"resume is {path}, a run with {other[0]} {then!r}, not {now!r}; give the same settings.")
    return state
