"""Files of datasets: check that they exist, complete and unaltered, and download them."""

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from os.path import lexists
from pathlib import Path
from typing import TypeVar

from mgem_core.errors import UsageError
from mgem_core.home import data_root, partial_of
from mgem_core.text import without_surrogates

R = TypeVar("R")
Check = Callable[[Path], str]  # returns why a file is damaged, to be put in parentheses, or an empty string


def find_problem(folder: Path, checks: Mapping[str, Check]) -> str:
    """Return what is wrong with the first bad file, as part of a sentence; empty if all exist and pass their checks."""
    for name, check in checks.items():
        path = folder / name
        try:
            damage = check(path)
        except (FileNotFoundError, NotADirectoryError):
            others_exist = any(is_there(folder / other) for other in checks)
            return f"{f'whose file {name}' if others_exist else 'which'} is not in {folder}"
        except OSError as error:
            return f"whose file {path} cannot be read ({error.strerror})"
        if damage:
            return f"whose file {path} is damaged ({damage})"
    return ""


def is_there(path: Path) -> bool:
    """Return whether a path exists, or may exist in a folder that this user cannot read; the checks then report it."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return lexists(path)  # a broken link exists
    except OSError:
        return True
    return True


def unreadable(path: object, error: OSError) -> UsageError:
    """Return the error for data that cannot be read."""
    named = without_surrogates(str(path or error.filename or "a file"))
    return UsageError(f"{named} cannot be read ({error.strerror or error}); allow this user to read it, or use other data.")


def once_per_file(function: Callable[[Path], R]) -> Callable[[Path], R]:
    """Decorate a function of a file so that its result is cached until the file changes."""

    @lru_cache(maxsize=100)
    def remembered(path: Path, changed: int, size: int) -> R:
        return function(path)

    @wraps(function)
    def ask(path: Path) -> R:
        status = path.stat()
        return remembered(path, status.st_mtime_ns, status.st_size)

    return ask


@once_per_file
def md5_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def version_of(files: Iterable[Path]) -> str:
    """Return a fingerprint of those files that exist; raise UsageError if one cannot be read."""
    try:
        return "-".join(md5_of(file)[:8] for file in files if is_there(file))
    except OSError as error:
        raise unreadable(error.filename, error) from None


def exists(path: Path) -> str:
    path.stat()  # raises if the file does not exist
    return ""


def has_size(expected: int) -> Check:
    def check(path: Path) -> str:
        size = path.stat().st_size
        return "" if size == expected else f"it has {size} bytes, not {expected}"

    return check


def has_md5(expected: str) -> Check:
    return lambda path: "" if md5_of(path) == expected else "its checksum is not the published one"


def download(name: str, fetch: Callable[[Path], object], files: Mapping[str, Path]) -> None:
    """Call `fetch` to download into a temporary folder, then move all its files into place; move none if it fails."""
    temporary = partial_of(data_root() / name)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        fetch(temporary)
        for file, place in files.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            (temporary / file).replace(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
