"""Fingerprints of the code that decides numbers, and versions of the libraries that compute them.

They are taken before that code is loaded (it is the first thing that `import mgem_core` does), so that an edit after that
is noticed. This file imports nothing of the project.
"""

import ast
import hashlib
import re
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent
FOLDERS = ("learners", "streams", "networks")  # every file there is part of some run
CORE = (
    *("partition", "gradients", "dual", "direction", "engine", "checkpoints", "metrics", "randomness"),
    *(f"{folder}/__init__" for folder in FOLDERS),
)
LIBRARIES = ("torch", "numpy", "quadprog", "torchvision", "mlxtend")


def parts() -> list[str]:
    """Everything that decides the numbers of some run: files of code, and libraries."""
    files = [file for folder in FOLDERS for file in ROOT.glob(f"{folder}/*.py") if file.stem != "__init__"]
    return [*CORE, *(f"{file.parent.name}/{file.stem}" for file in files), *LIBRARIES]


def shared_parts() -> list[str]:
    """The core, and in each folder the files whose names begin with an underscore, which the others share."""
    return [name for name in parts() if name in CORE or "/_" in name]


def remember_code() -> None:
    """Take the fingerprints of the code that this process is about to load, and the versions of its libraries."""
    for name in parts():
        part_at_start(name)


def code_has_changed() -> bool:
    """Does the code on disk, or an installed library, differ from what this process runs? Comments do not count."""
    return any(part_on_disk(name) != part_at_start(name) for name in parts())


@cache
def part_at_start(name: str) -> str:
    return part_on_disk(name)


def part_on_disk(name: str) -> str:
    """A library's version, or a fingerprint of the code in a file; empty if it is not there, or being edited."""
    try:
        if name in LIBRARIES:
            return library_version(name)
        status = (ROOT / f"{name}.py").stat()
        return _code(ROOT / f"{name}.py", status.st_mtime_ns, status.st_size)
    except (OSError, SyntaxError, metadata.PackageNotFoundError):
        return ""


def library_version(library: str) -> str:
    """As `metadata.version`, which parses the whole description of the library: five times slower."""
    description = metadata.distribution(library).read_text("METADATA") or ""
    match = re.search(r"^Version: *(\S+)$", description, re.MULTILINE)
    return match[1] if match else metadata.version(library)


@lru_cache(maxsize=1000)
def _code(file: Path, changed: int, size: int) -> str:
    """A fingerprint of the code in a file, without comments, docstrings and formatting; read again when it has changed."""
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
