"""Folders of results and data: MGEM_HOME (default: the project's data_cache/), MGEM_DATA (default: MGEM_HOME)."""

import os
from pathlib import Path

from mgem_core.errors import UsageError

TOKEN_NAME = "dashboard-token"  # of the file with the token of `mgem dashboard --token`


def home() -> Path:
    in_project = Path(__file__).parents[1] / "data_cache"
    return Path(os.environ.get("MGEM_HOME") or (in_project if in_project.is_dir() else "data_cache"))


def store_path() -> Path:
    return home() / "runs.db"


def data_root() -> Path:
    return Path(os.environ.get("MGEM_DATA") or home())


def partial_of(path: Path) -> Path:
    """Return the temporary name of a file. It is always the same, so leftovers of a killed process are overwritten."""
    return path.with_name(f"{path.name}.partial")


def check_writable(field: str, path: Path) -> None:
    """Raise a UsageError if the file that a field names cannot be written, before time is spent on its content."""
    try:
        partial_of(path).touch()
        partial_of(path).unlink()
    except OSError as error:
        raise UsageError(f"{field} is {str(path)!r}, but it cannot be written: {error.strerror}.") from None


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file atomically: after a crash it has either the old content or the new one."""
    partial = partial_of(path)
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        partial.unlink(missing_ok=True)


def aside_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.set-aside")


def set_aside(path: Path) -> Path:
    """Rename an unusable file, so that it can be inspected; a file that was set aside before is overwritten."""
    return path.replace(aside_of(path))


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode numbers, which change when the file is replaced; None if there is no file."""
    try:
        status = path.stat()
        return status.st_dev, status.st_ino
    except OSError:
        return None


def is_private(path: Path) -> bool:
    """Return whether only this user can read the file. Windows has no such modes, but its user folders are private."""
    if path.is_symlink() or not path.is_file():
        return False
    if not hasattr(os, "getuid"):
        return True
    status = path.stat()
    return status.st_uid == os.getuid() and status.st_mode & 0o077 == 0
