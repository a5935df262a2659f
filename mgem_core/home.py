"""Where results and data live: MGEM_HOME (default: the project's data_cache/), MGEM_DATA (default: MGEM_HOME)."""

import os
from pathlib import Path


def home() -> Path:
    beside = Path(__file__).parents[1] / "data_cache"
    return Path(os.environ.get("MGEM_HOME") or (beside if beside.is_dir() else "data_cache"))


def data_root() -> Path:
    return Path(os.environ.get("MGEM_DATA") or home())


def partial_of(path: Path) -> Path:
    """Where a file is written first: one name, so that what a killed process left is overwritten."""
    return path.with_name(f"{path.name}.partial")


def replace_file(path: Path, content: bytes) -> None:
    """Write a file that is either the whole old one or the whole new one, whatever happens meanwhile."""
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
    """Rename a file that is of no use any more but may be worth a look; the last one of that name is kept."""
    return path.replace(aside_of(path))


def file_identity(path: Path) -> tuple[int, int] | None:
    """Another one when the file was replaced; None when it is not there."""
    try:
        status = path.stat()
        return status.st_dev, status.st_ino
    except OSError:
        return None
