"""The cost of recording for the lens: number of snapshots, size in the store, and time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mgem_core import networks
from mgem_core.config import RunConfig
from mgem_core.config.sweeps import estimate_seconds, relative_work, snapshots_per_task
from mgem_core.restriction.gram_factors import packed_length
from mgem_core.text import duration, file_size, one_of, pluralize

# A stored snapshot (`packed` in store/recording.py) is a compressed numpy archive. Measured on the MLP and conv-small with
# 4 to 47 vectors: compression reduces the numbers to 0.948 of their size, and the archive adds 410 bytes.
COMPRESSED, ARCHIVE = 0.948, 410
# How SQLite lays out rows in pages (sqlite.org/fileformat2.html, "B-tree Pages"); the header and pointer of a row: 12.
PAGE, LEAF, OVERFLOW, MOST_IN_LEAF, LEAST_IN_LEAF, ROW = 4096, 4088, 4092, 4061, 489, 12


@dataclass(frozen=True)
class SnapshotCost:
    snapshots: int
    bytes: float  # added to the store
    times_as_long: float  # training time with snapshots ÷ without
    seconds: float | None  # training time added by snapshots; None if the speed of a network is unknown
    hidden: tuple[str, ...]  # reasons why the lens will not be able to show some of the configurations

    @property
    def sentence(self) -> str:
        size = f"{pluralize(self.snapshots, 'snapshot')} for the lens: about {file_size(self.bytes)} in the store"
        times = f"{self.times_as_long:.1f}" if self.times_as_long < 10 else f"{self.times_as_long:,.0f}"
        ratio = f"training takes about {times} times as long as without"
        if self.times_as_long < 1.05:
            ratio = "training takes hardly longer than without"
        time = ratio if self.seconds is None else f"about {duration(self.seconds)} of the training time"
        hidden = f" {one_of(self.hidden[0], len(self.hidden))}" if self.hidden else ""
        return f"{size}, and {time}.{hidden}"


def snapshot_cost(configs: Sequence[RunConfig], speeds: Mapping[str, float], workers: int) -> SnapshotCost | None:
    """Estimate the cost for runs to be trained; None if they record nothing. `speeds` is as in `estimate_seconds`."""
    recorded = [config for config in configs if count_snapshots(config)]
    if not recorded:
        return None
    without_snapshots = [config.model_copy(update={"snap_every": 0}) for config in configs]
    work, work_without = (sum(map(relative_work, some)) for some in (configs, without_snapshots))
    seconds, seconds_without = (estimate_seconds(some, speeds, workers) for some in (configs, without_snapshots))
    return SnapshotCost(
        snapshots=sum(map(count_snapshots, recorded)),
        bytes=sum(map(_bytes_in_store, recorded)),
        times_as_long=work / work_without,
        seconds=None if seconds is None or seconds_without is None else seconds - seconds_without,
        hidden=tuple(dict.fromkeys(filter(None, map(_why_hidden, recorded)))),
    )


def count_snapshots(config: RunConfig) -> int:
    return snapshots_per_task(config) * (config.tasks - 1)


def _recorded_splits(config: RunConfig) -> int:
    return int(config.snap_splits or config.splits)


def _why_hidden(config: RunConfig) -> str:
    """Return why the lens will not be able to show what the run itself did; empty if it will."""
    recorded = _recorded_splits(config)
    joined = f"{pluralize(recorded, 'recorded split')} cannot be joined to {config.splits}"
    return f"The lens cannot show {config.label} itself: {joined}." if recorded % config.splits else ""


def _bytes_in_store(config: RunConfig) -> float:
    info = config.benchmark_info
    tensors = sum(len(layer.tensors) for layer in networks.layers(config.network, info.shape, info.classes))
    sizes = (_snapshot_bytes(tensors, past, _recorded_splits(config)) for past in range(1, config.tasks))
    return snapshots_per_task(config) * sum(sizes)


@lru_cache(maxsize=1000)
def _snapshot_bytes(tensors: int, past: int, splits: int) -> float:
    """Return the size of a snapshot: factors of the Gram matrices of g, g_t, the g_s of past tasks and memory rows."""
    packed = ARCHIVE + COMPRESSED * 4 * tensors * packed_length(past, splits)
    overflow, in_leaf = 0.0, packed
    if packed > MOST_IN_LEAF:  # the rest goes to overflow pages
        overflow, rest = divmod(packed - LEAST_IN_LEAF, OVERFLOW)
        in_leaf = LEAST_IN_LEAF + rest
        if in_leaf > MOST_IN_LEAF:
            overflow, in_leaf = overflow + 1, LEAST_IN_LEAF
    return PAGE * (overflow + 1 / (LEAF // (in_leaf + ROW)))
