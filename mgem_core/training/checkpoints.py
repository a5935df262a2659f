"""Checkpoints: the state of a run as bytes, with a checksum and a header that identifies the run.

A run must only continue from its own, complete state, so any other checkpoint is refused with a reason. The header can be
read without torch.
"""

import hashlib
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mgem_core.config import RunConfig
from mgem_core.errors import UsageError
from mgem_core.home import partial_of

MAGIC = b"mgem checkpoint 2\n"  # 2: with a checksum and the run's key


class UnusableCheckpointError(ValueError):
    """A run cannot continue from a checkpoint. The message completes a sentence that begins "its checkpoint …"."""


@dataclass(frozen=True)
class Header:
    key: str  # of the run: names its config, code, library versions and device
    config: str  # as JSON
    task: int  # the next step to take
    step: int
    events: int  # number of events before this checkpoint, without Started


def check_writable(path: Path) -> None:
    """Raise UsageError if the checkpoint cannot be written, before the run starts and not after its first task."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"checkpoint is {str(path)!r}, which is not a regular file; give the name of a file.")
        partial_of(path).touch()
        partial_of(path).unlink()
    except OSError as error:
        raise UsageError(f"checkpoint is {str(path)!r}, but it cannot be written: {error.strerror}.") from None


def read_file(path: Path, config: RunConfig) -> bytes:
    """Read the checkpoint that a user wants to resume; raise UsageError if it is another file or has other settings."""
    if not path.is_file():
        raise UsageError(f"resume is {str(path)!r}, but there is no such file; leave it out to start a new run.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"resume is {str(path)!r}, but it cannot be read: {error.strerror}.") from None
    if not content.startswith(MAGIC):
        raise UsageError(f"resume is {str(path)!r}, which is not a checkpoint, or was written by another version of mgem.")
    try:
        saved = RunConfig.model_validate_json(read_header(content).config).canonical()
    except ValueError:  # the file is damaged, so the run will start from the beginning
        return content
    for name, value in config.canonical():
        if (old := getattr(saved, name)) != value:
            problem = f"but that run has {name} {old!r}, not {value!r}"
            raise UsageError(f"resume is {str(path)!r}, {problem}; give the same settings.")
    return content


def pack(header: Header, state: dict[str, Any]) -> bytes:
    """Return the bytes of a checkpoint: magic number, SHA-256 of the rest, header, state."""
    import torch

    payload = io.BytesIO()
    payload.write(json.dumps(asdict(header)).encode() + b"\n")
    torch.save(state, payload)
    checked = payload.getvalue()
    return MAGIC + hashlib.sha256(checked).digest() + checked


def read_header(content: bytes) -> Header:
    """Return the header of a complete checkpoint; raise UnusableCheckpointError for anything else."""
    return _parts(content)[0]


def unpack(content: bytes, config: RunConfig, key: str) -> tuple[Header, dict[str, Any]]:
    """Return the state of the run with this key, in CPU memory."""
    import torch

    header, payload = _parts(content)
    if header.key != key:
        same = header.config == config.model_dump_json()
        other = "other code, other library versions or another kind of device" if same else "a run with other settings"
        raise UnusableCheckpointError(f"was written by {other}")
    steps = config.iterations if header.task < config.tasks else 0  # after the last task, there is no next step
    if header.task > config.tasks or header.step > steps:
        raise UnusableCheckpointError(f"is damaged: it claims step {header.step} of task {header.task + 1}")
    try:
        state = torch.load(io.BytesIO(payload), map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling may raise anything
        raise UnusableCheckpointError(f"is damaged ({type(error).__name__})") from None
    if not isinstance(state, dict):
        raise UnusableCheckpointError("is damaged: it contains no state")
    return header, state


def _parts(content: bytes) -> tuple[Header, bytes]:
    start = len(MAGIC) + hashlib.sha256().digest_size
    if not content.startswith(MAGIC):
        raise UnusableCheckpointError("is damaged, or was written by another version of mgem")
    checked = content[start:]
    if hashlib.sha256(checked).digest() != content[len(MAGIC) : start]:
        raise UnusableCheckpointError("is damaged: its checksum is wrong")
    first, _, payload = checked.partition(b"\n")
    try:
        header = Header(**json.loads(first))
        valid = all(type(value) is Header.__annotations__[name] for name, value in asdict(header).items())
        valid = valid and all(0 <= number < 2**31 for number in (header.task, header.step, header.events))
    except (ValueError, TypeError, RecursionError):
        valid = False
    if not valid:
        raise UnusableCheckpointError("is damaged: its header cannot be read")
    return header, payload
