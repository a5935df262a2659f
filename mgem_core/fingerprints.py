"""Fingerprints of the code that decides numbers, and versions of the libraries that compute them.

`import mgem_core` reads the code before it loads it, so that later edits are noticed. The code is parsed when a fingerprint
is needed, because many commands need none. This file imports nothing of the project.
"""

import ast
import hashlib
import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent
FOLDERS = ("learners", "streams", "networks")  # every file in these folders is part of some run
CORE = (
    *("restriction/partition", "restriction/restriction", "restriction/dual", "restriction/direction"),
    *("gradients/memory", "gradients/linear_chain", "gradients/rows", "gradients/devices"),
    *("training/evaluation", "training/probes", "training/engine", "training/checkpoints", "training/step_means"),
    "training/kept_stream",
    *("metrics", "randomness"),
    *(f"{folder}/__init__" for folder in FOLDERS),
)
LIBRARIES = ("torch", "numpy", "quadprog", "torchvision", "mlxtend")  # a benchmark or network may name others


def parts() -> list[str]:
    """Return the names of all files of code and libraries that affect the numbers of any run."""
    files = [file for folder in FOLDERS for file in ROOT.glob(f"{folder}/*.py") if file.stem != "__init__"]
    return [*CORE, *sorted(f"{file.parent.name}/{file.stem}" for file in files), *LIBRARIES]


def parts_at_start() -> list[str]:
    """Return `parts()` as of the start of this process."""
    return [*code_at_start(), *LIBRARIES]


def is_shared(part: str) -> bool:
    """Return whether a part belongs to every run: the core, and files whose names begin with an underscore."""
    return part in CORE or "/_" in part


def remember_code() -> None:
    """Read the code that this process will load, and the versions of its libraries."""
    code_at_start()
    for library in LIBRARIES:
        version_at_start(library)


def code_has_changed() -> bool:
    """Return whether the code on disk or a library differs from what this process runs, apart from comments."""
    before, current = code_at_start(), _read_all()
    return (
        before.keys() != current.keys()
        or any(current[name] != before[name] and _parse(current[name]) != _parse(before[name]) for name in current)
        or any(part_on_disk(library) != version_at_start(library) for library in LIBRARIES)
    )


@cache
def code_at_start() -> dict[str, bytes | None]:
    """Return the content of each file, as it was before this process loaded it."""
    return _read_all()


@cache
def version_at_start(library: str) -> str:
    return part_on_disk(library)


def part_at_start(name: str) -> str:
    """Return the same as `part_on_disk`, for the code and libraries that this process runs."""
    return _fingerprint(name, code_at_start().get) if is_code(name) else version_at_start(name)


def part_on_disk(name: str) -> str:
    """Return the version of a library, or a fingerprint of a file and of the methods, streams and networks it imports.

    The result is empty if the part is missing, or if the file is not valid Python while it is being edited.
    """
    try:
        return _fingerprint(name, _read) if is_code(name) else library_version(name)
    except (OSError, metadata.PackageNotFoundError):
        return ""


def library_version(library: str) -> str:
    """Return the same as `metadata.version`, five times faster, because it does not parse the whole metadata."""
    description = metadata.distribution(library).read_text("METADATA") or ""
    match = re.search(r"^Version: *(\S+)$", description, re.MULTILINE)
    return match[1] if match else metadata.version(library)


def is_code(name: str) -> bool:
    """Return whether a part is a file of code, not a library."""
    return "/" in name or name in CORE


def _read_all() -> dict[str, bytes | None]:
    return {name: _read(name) for name in parts() if is_code(name)}


def _read(name: str) -> bytes | None:
    """Return the content of a file of code; None if there is no such file."""
    try:
        return (ROOT / f"{name}.py").read_bytes()
    except OSError:
        return None


def _fingerprint(name: str, read: Callable[[str], bytes | None]) -> str:
    """Return the fingerprint of a file and of the files that it imports; `read` returns their contents."""
    files, fingerprints = [name], []
    for file in files:  # this list grows during the loop
        fingerprint, imported = _parse(read(file))
        files += [other for other in imported if other not in files and read(other) is not None]
        fingerprints.append(fingerprint)
    return "".join(fingerprints) if all(fingerprints) else ""


@lru_cache(maxsize=200)
def _parse(code: bytes | None) -> tuple[str, list[str]]:
    """Return the fingerprint of code, ignoring comments, docstrings and formatting, and the parts it may import.

    The fingerprint is empty if the content is not valid Python.
    """
    if code is None:
        return "", []
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):  # ValueError: a null byte
        return "", []
    imported = _imported_parts(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imported


def _imported_parts(tree: ast.Module) -> list[str]:
    """Return the methods, benchmarks and networks that a file imports; some names may not be files.

    Files whose names begin with an underscore are left out, because they are part of every key.
    """
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    modules = [name.split(".")[1:] for name in sorted(names) if name.startswith("mgem_core.")]
    return ["/".join(part) for part in modules if len(part) == 2 and part[0] in FOLDERS and not part[1].startswith("_")]
