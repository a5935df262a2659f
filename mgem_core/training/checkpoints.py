"""A run's state as bytes, and back: a checksum of everything, a header that identifies the run, and the state itself.

A checkpoint that does not fit is refused with a reason: a run must only continue from its own, complete state. The header
can be read without torch.
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
    """Why a run cannot continue from a checkpoint; the message completes a sentence that begins "its checkpoint …"."""


@dataclass(frozen=True)
class Header:
    key: str  # of the run: its config, code, library versions and device
    config: str  # as JSON
    task: int  # the next step to take
    step: int
    events: int  # number of events yielded before, without Started


def check_writable(path: Path) -> None:
    """Raise UsageError at the start of a run, not at the end of its first task, if the checkpoint cannot be written."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"checkpoint is {str(path)!r}, which is no regular file; give the name of one.")
        partial_of(path).touch()
        partial_of(path).unlink()
    except OSError as error:
        raise UsageError(f"checkpoint is {str(path)!r}, but it cannot be written: {error.strerror}.") from None


def read_file(path: Path, config: RunConfig) -> bytes:
    """Read the checkpoint that a user wants to resume. Any other file, or a run with other settings, is a UsageError."""
    if not path.is_file():
        raise UsageError(f"resume is {str(path)!r}, but there is no such file; leave it out to start anew.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"resume is {str(path)!r}, but it cannot be read: {error.strerror}.") from None
    if not content.startswith(MAGIC):
        raise UsageError(f"resume is {str(path)!r}, which is no checkpoint of a run, or one of another version of mgem.")
    try:
        saved = RunConfig.model_validate_json(read_header(content).config).canonical()
    except ValueError:  # damaged: the run will start again
        return content
    for name, value in config.canonical():
        if (old := getattr(saved, name)) != value:
            raise UsageError(f"resume is {str(path)!r}, a run with {name} {old!r}, not {value!r}; give the same settings.")
    return content


def pack(header: Header, state: dict[str, Any]) -> bytes:
    """The bytes of a checkpoint: magic, SHA-256 of all that follows, header, state."""
    import torch

    payload = io.BytesIO()
    payload.write(json.dumps(asdict(header)).encode() + b"\n")
    torch.save(state, payload)
    checked = payload.getvalue()
    return MAGIC + hashlib.sha256(checked).digest() + checked


def read_header(content: bytes) -> Header:
    """The header of a complete checkpoint; anything else raises UnusableCheckpointError."""
    return _parts(content)[0]


def unpack(content: bytes, config: RunConfig, key: str) -> tuple[Header, dict[str, Any]]:
    """The state of the run with this key, in the CPU's memory."""
    import torch

    header, payload = _parts(content)
    if header.key != key:
        same = header.config == config.model_dump_json()
        other = "other code, other library versions or another kind of device" if same else "a run with other settings"
        raise UnusableCheckpointError(f"was written by {other}")
    steps = config.iterations if header.task < config.tasks else 0  # after the last task, there is no more step
    if header.task > config.tasks or header.step > steps:
        raise UnusableCheckpointError(f"is damaged: it stands at step {header.step} of task {header.task + 1}")
    try:
        state = torch.load(io.BytesIO(payload), map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling may raise anything
        raise UnusableCheckpointError(f"is damaged ({type(error).__name__})") from None
    if not isinstance(state, dict):
        raise UnusableCheckpointError("is damaged: it holds no state")
    return header, state


def _parts(content: bytes) -> tuple[Header, bytes]:
    start = len(MAGIC) + hashlib.sha256().digest_size
    if not content.startswith(MAGIC):
        raise UnusableCheckpointError("is damaged, or was written by another version of mgem")
    checked = content[start:]
    if hashlib.sha256(checked).digest() != content[len(MAGIC) : start]:
        raise UnusableCheckpointError("is damaged: its checksum does not fit")
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
