"""Where results and data are stored: MGEM_HOME (default: the project's data_cache/), MGEM_DATA (default: MGEM_HOME)."""

import os
from pathlib import Path


def home() -> Path:
    of_project = Path(__file__).parents[1] / "data_cache"
    return Path(os.environ.get("MGEM_HOME") or (of_project if of_project.is_dir() else "data_cache"))


def store_path() -> Path:
    return home() / "runs.db"


def data_root() -> Path:
    return Path(os.environ.get("MGEM_DATA") or home())


def partial_of(path: Path) -> Path:
    """Where a file is written first; always the same name, so that what a killed process left is overwritten."""
    return path.with_name(f"{path.name}.partial")


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file atomically: whatever happens, it has either its old content or the new one."""
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
    """Rename a file that cannot be used, so that it can be inspected; an earlier one that was set aside is overwritten."""
    return path.replace(aside_of(path))


def file_identity(path: Path) -> tuple[int, int] | None:
    """Device and inode number, which differ after the file was replaced; None if there is no file."""
    try:
        status = path.stat()
        return status.st_dev, status.st_ino
    except OSError:
        return None
