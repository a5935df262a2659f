"""Pairs of domains, 2 × 5 classes: DomainNet and PACS, and any other images in folders DOMAIN/CLASS/.

The seed draws the classes, and the pair of domains if the run names none. The paper uses three draws per ordered pair.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mgem_core.errors import UsageError
from mgem_core.home import data_root
from mgem_core.randomness import rng
from mgem_core.streams import NOT_UTF8, REMEDIES, Benchmark, Dataset, register
from mgem_core.streams._domains import choose_domains, image_errors, read_image, spread
from mgem_core.text import without_surrogates

if TYPE_CHECKING:
    from mgem_core.streams._stream import Stream

SIDE = 96
SHAPE = (3, SIDE, SIDE)
TASKS, PER_TASK = 2, 5
FEWEST, MOST = 20, 500  # images per class: smaller classes are never drawn; from larger ones the seed draws MOST
TEST_SHARE = 5  # one image in this many is a test image
# The learning rate is the default, 0.1. Accuracy on held-out images of PACS with seed 0, 2 tasks × 25 steps, at 0.03 / 0.1:
# single 33.4 / 45.5, GEM at strength 0.3 39.3 / 44.7. Other methods and DomainNet itself were not searched.
ENDINGS = (".jpg", ".jpeg", ".png")
FOLDER_NAME = re.compile(r"\w[\w .-]*")  # of a domain, which must be a direct subfolder of the benchmark


class Chosen(NamedTuple):
    """The images of a task [N, 27648], the index of each class among the five of the task, and which are test images."""

    images: np.ndarray
    places: np.ndarray
    is_test: np.ndarray


class UnreadableFolderError(UsageError):
    """A folder of images cannot be listed, or its name cannot be stored."""

    def __init__(self, folder: str | Path, reason: str):
        shown = without_surrogates(f"{folder} cannot be read ({reason})")
        super().__init__(f"The folder {shown}; {REMEDIES.get(reason, 'repair it')}, or name other domains.")
        self.problem = f"whose folder {shown}"  # as part of a sentence


def find_problem(name: str, domain: str, thorough: bool = False) -> str:
    """Return what is wrong with the folder of a domain, as part of a sentence; empty if it has enough classes."""
    folder = data_root() / name / domain
    try:
        classes = _class_names(folder)
        if classes is None:
            return f"which is not in {folder}"
        if denied := [one for one in classes if not os.access(folder / one, os.R_OK | os.X_OK)]:
            return UnreadableFolderError(folder / denied[0], "Permission denied").problem
        found = len(list(islice(_large_classes(folder), PER_TASK)))
    except UnreadableFolderError as error:
        return error.problem
    needed = f"{PER_TASK} classes with at least {FEWEST} images ({', '.join(ENDINGS)})"
    return "" if found == PER_TASK else f"whose folder {folder} does not have {needed}"


def find_bad_image(folder: Path) -> str:
    """Return the first image that a run may draw but cannot be read, as part of a sentence; empty if there is none.

    `find_problem` does not check images, because every run calls it: DomainNet has 0.6 million images, of which a run reads
    at most 5,000.
    """
    from PIL import Image

    try:
        paths = [folder / name / file for name in _large_classes(folder) for file in sorted(_images_of(folder / name))]
    except UnreadableFolderError as error:
        return error.problem
    for path in paths:
        try:
            with Image.open(path) as image:
                image.draft("RGB", (SIDE, SIDE))  # decodes a large JPEG faster, but still completely
                image.load()
        except image_errors() as error:
            return without_surrogates(f"whose image {path} cannot be read ({error})")
    return ""


def _large_classes(folder: Path) -> Iterator[str]:
    """Yield the names of the classes that have enough images, in alphabetical order."""
    for name in _class_names(folder) or []:
        if len(list(islice(_images_of(folder / name), FEWEST))) == FEWEST:
            yield name


def _class_names(folder: Path) -> list[str] | None:
    """Return the names of the subfolders, in alphabetical order; None if the folder does not exist."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableFolderError(folder, error.strerror or str(error)) from None
    if unclear := [name for name in names if without_surrogates(name) != name]:
        raise UnreadableFolderError(folder / unclear[0], NOT_UTF8)
    return names


def _images_of(folder: Path) -> Iterator[str]:
    """Yield the names of the images in a folder, in any order; names that are not UTF-8 have surrogates."""
    try:
        with os.scandir(folder) as entries:
            yield from (entry.name for entry in entries if entry.name.lower().endswith(ENDINGS))
    except OSError as error:
        raise UnreadableFolderError(folder, error.strerror or str(error)) from None


def draw_classes(folders: Sequence[Path], seed: int) -> list[list[str]]:
    """Draw five classes for each folder, from the classes that all folders have.

    The tasks share no class if there are ten. PACS has seven, so its second task has the remaining two and three of the
    first task.
    """
    common = sorted(set.intersection(*(set(_large_classes(folder)) for folder in folders)))
    if len(common) < PER_TASK:
        names = without_surrogates(" and ".join(map(str, folders)))
        raise UsageError(
            f"{names} have {len(common)} classes of at least {FEWEST} images in common; {PER_TASK} are needed."
        )
    drawn = [common[i] for i in rng(seed, "classes").permutation(len(common))]
    return [[drawn[(t * PER_TASK + i) % len(drawn)] for i in range(PER_TASK)] for t in range(len(folders))]


def version(folder: Path) -> str:
    """Return a fingerprint of the names of a domain's images, which users provide; empty if there are none."""
    classes = [folder / name for name in _class_names(folder) or []]
    try:
        changed = [path.stat().st_mtime_ns for path in classes]
    except OSError as error:
        raise UnreadableFolderError(error.filename, error.strerror or str(error)) from None
    return _hash_names(tuple(zip(classes, changed, strict=True))) if classes else ""


@lru_cache(maxsize=16)
def _hash_names(classes: tuple[tuple[Path, int], ...]) -> str:
    """Hash the names of the images in folders; cached until the time of the last change of a folder differs."""
    names = [f"{folder.name}/{image}" for folder, _ in classes for image in sorted(_images_of(folder))]
    return hashlib.sha256("\n".join(names).encode(errors="surrogateescape")).hexdigest()[:16]


@lru_cache(maxsize=2)  # the tasks of one run; the next runs of a sweep usually have the same seed
def read_task(folder: Path, version: str, classes: tuple[str, ...], seed: int, task: int) -> Chosen:
    """Read the images of a task. `version` is that of the folder, so that the cache is not used after a change."""
    images: list[np.ndarray] = []
    places: list[int] = []
    is_test: list[bool] = []
    for place, name in enumerate(classes):
        files = sorted(_images_of(folder / name))
        chosen = rng(seed, "images", task, place).permutation(len(files))[:MOST]
        images += [_read_pixels(folder / name / files[i]) for i in chosen]
        places += [place] * len(chosen)
        is_test += [number % TEST_SHARE == 0 for number in range(len(chosen))]
    return Chosen(np.stack(images), np.array(places), np.array(is_test))


def _read_pixels(path: Path) -> np.ndarray:
    """Read an image as [3 · 96 · 96] uint8: all of red, then green, then blue."""
    return read_image(path, (SIDE, SIDE)).transpose(2, 0, 1).reshape(-1)


def open_stream(name: str, available: Sequence[str], tasks: int, seed: int, domains: Sequence[str]) -> Stream:
    """Return a stream in which task t distinguishes five classes of its domain with the logits 5t … 5t + 4 only."""
    from mgem_core.streams._stream import Stream, Task

    chosen = choose_domains(dict.fromkeys(available), domains, tasks, seed)
    folders = [data_root() / name / domain for domain in chosen]
    classes = draw_classes(folders, seed)
    parts = [read_task(folder, version(folder), tuple(classes[t]), seed, t) for t, folder in enumerate(folders)]
    labels = np.concatenate([part.places + t * PER_TASK for t, part in enumerate(parts)])
    starts = np.cumsum([0, *(len(part.images) for part in parts)])
    return Stream(
        np.concatenate([part.images for part in parts]),
        labels.astype(np.int64),
        SHAPE,
        TASKS * PER_TASK,
        [
            Task(
                f"{chosen[t]}: {', '.join(classes[t])}",
                starts[t] + np.flatnonzero(~part.is_test),
                starts[t] + np.flatnonzero(part.is_test),
                classes=tuple(range(t * PER_TASK, (t + 1) * PER_TASK)),
            )
            for t, part in enumerate(parts)
        ],
    )


def sample(folder: Path, count: int) -> np.ndarray:
    """Return one image of each of up to `count` classes, evenly spaced in alphabetical order."""
    classes = list(_large_classes(folder))
    chosen = classes if len(classes) <= count else list(spread(np.array(classes), count))
    return np.stack([read_image(folder / name / min(_images_of(folder / name)), (SIDE, SIDE)) for name in chosen])


class Domains(dict[str, Dataset | None]):
    """The domains from which the seed draws, by name. Any other folder next to theirs can also be looked up.

    A folder need not exist, because moving it must not make stored configs invalid; `find_problem` reports it.
    """

    def __init__(self, known: Mapping[str, Dataset], other: Callable[[str], Dataset]) -> None:
        super().__init__(known)
        self.other = other

    def __contains__(self, domain: object) -> bool:
        return isinstance(domain, str) and bool(FOLDER_NAME.fullmatch(domain))

    def __missing__(self, domain: str) -> Dataset:
        if domain not in self:
            raise KeyError(domain)
        return self.other(domain)


def register_folders(name: str, title: str, source: str, domains: Mapping[str, str]) -> None:
    """Register a benchmark of the images in data_root()/`name`/DOMAIN/CLASS/.

    `source` says where the images come from; `domains` maps each domain to its size as text. The seed draws from these
    domains only, even if there are other folders.
    """
    unpack = f"unpack {source} so that each class has a folder there, or name other domains"
    fill = f"put a folder with images of each class there, or name other domains, such as {', '.join(domains)}"

    def root() -> Path:
        return data_root() / name

    def dataset_of(domain: str) -> Dataset:
        is_known = domain in domains
        return Dataset(
            f"{name}-{domain}",
            f"{title} {domain}" if is_known else f"the domain {domain}",
            lambda: root() / domain,
            partial(find_problem, name, domain),
            None,
            domains.get(domain, "your own images"),
            by_hand=unpack.format(domain=domain) if is_known else fill,
            version=lambda: version(root() / domain),
            find_bad_image=lambda: find_bad_image(root() / domain),
        )

    register(
        Benchmark(
            name=name,
            title=f"{title} (2 × 5 classes)",
            shape=SHAPE,
            classes=TASKS * PER_TASK,
            train_per_task=PER_TASK * FEWEST * (TEST_SHARE - 1) // TEST_SHARE,
            test_per_task=PER_TASK * MOST // TEST_SHARE,
            classes_per_task=PER_TASK,
            max_tasks=TASKS,
            defaults={"network": "domain-cnn", "tasks": TASKS, "iterations": 200, "batch_size": 32, "memory": 64},
            open=partial(open_stream, name, tuple(domains)),
            packages=("pillow",),
            module=__name__,
            largest_task=PER_TASK * MOST * (TEST_SHARE - 1) // TEST_SHARE,
            domains=Domains({domain: dataset_of(domain) for domain in domains}, dataset_of),
            sample=lambda domain, count: (dataset_of(domain).title, sample(root() / domain, count)),
            domain_root=root,
        )
    )


register_folders(
    "domainnet",
    "DomainNet",
    "{domain}.zip from http://ai.bu.edu/M3SDA",
    {
        "clipart": "1.3 GB",
        "infograph": "4.0 GB",
        "painting": "3.7 GB",
        "quickdraw": "0.4 GB",
        "real": "5.6 GB",
        "sketch": "2.5 GB",
    },
)
register_folders(
    "pacs",
    "PACS",
    "the images of https://dali-dl.github.io/project_iccv2017.html",
    dict.fromkeys(("art_painting", "cartoon", "photo", "sketch"), "all four: 0.2 GB"),
)
