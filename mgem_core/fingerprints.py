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
    *("partition", "memory", "linear_chain", "gradients", "dual", "direction", "evaluation", "probes", "engine"),
    *("checkpoints", "devices", "metrics", "randomness", "step_means"),
    *(f"{folder}/__init__" for folder in FOLDERS),
)
LIBRARIES = ("torch", "numpy", "quadprog", "torchvision", "mlxtend")  # a benchmark or network may name others


def parts() -> list[str]:
    """Everything that decides the numbers of some run: files of code, and libraries."""
    files = [file for folder in FOLDERS for file in ROOT.glob(f"{folder}/*.py") if file.stem != "__init__"]
    return [*CORE, *sorted(f"{file.parent.name}/{file.stem}" for file in files), *LIBRARIES]


def shared_parts() -> list[str]:
    """The core, and in each folder the files whose names begin with an underscore, which the others share."""
    return [name for name in parts() if name in CORE or "/_" in name]


def remember_code() -> None:
    """Take the fingerprints of the code that this process is about to load, and the versions of its libraries."""
    for name in parts_at_start():
        part_at_start(name)


def code_has_changed() -> bool:
    """Does the code on disk, or an installed library, differ from what this process runs? Comments do not count."""
    return parts() != parts_at_start() or any(part_on_disk(name) != part_at_start(name) for name in parts_at_start())


@cache
def parts_at_start() -> list[str]:
    return parts()


@cache
def part_at_start(name: str) -> str:
    return part_on_disk(name)


def part_on_disk(name: str) -> str:
    """A library's version, or a fingerprint of a file's code and of the methods, benchmarks and networks that it imports.

    Empty if it is not there, or being edited.
    """
    try:
        if "/" not in name and name not in CORE:
            return library_version(name)
        files = [name]
        for file in files:  # which grows while it is read
            files += [other for other in _code(file)[1] if other not in files]
        return "".join(_code(file)[0] for file in files)
    except (OSError, SyntaxError, metadata.PackageNotFoundError):
        return ""


def library_version(library: str) -> str:
    """As `metadata.version`, which parses the whole description of the library: five times slower."""
    description = metadata.distribution(library).read_text("METADATA") or ""
    match = re.search(r"^Version: *(\S+)$", description, re.MULTILINE)
    return match[1] if match else metadata.version(library)


def _code(name: str) -> tuple[str, list[str]]:
    file = ROOT / f"{name}.py"
    status = file.stat()
    return _read_code(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1000)
def _read_code(file: Path, changed: int, size: int) -> tuple[str, list[str]]:
    """A fingerprint of the code in a file, without comments, docstrings and formatting, and the parts that it imports.

    The file is read again when it has changed.
    """
    tree = ast.parse(file.read_bytes())
    imported = _imported_parts(tree, file.parents[1])
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imported


def _imported_parts(tree: ast.Module, root: Path) -> list[str]:
    """The methods, benchmarks and networks that a file imports; files with an underscore are part of every key anyway."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    modules = [name.split(".")[1:] for name in sorted(names) if name.startswith("mgem_core.")]
    parts = [module for module in modules if len(module) == 2 and module[0] in FOLDERS and not module[1].startswith("_")]
    return ["/".join(part) for part in parts if (root / part[0] / f"{part[1]}.py").is_file()]
