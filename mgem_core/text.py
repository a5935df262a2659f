"""Format numbers and counts for people: on the command line, on the pages and in files."""

import re
from collections.abc import Iterable, Sequence
from math import isnan
from typing import Any

MISSING = "—"


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


def without_surrogates(text: str) -> str:
    """Return text that can be stored and sent; bytes of file names that are not UTF-8 are shown as in caf\\xe9."""
    return re.sub("[\ud800-\udfff]", lambda found: _escaped(ord(found[0])), text)


def _escaped(surrogate: int) -> str:
    return f"\\x{surrogate - 0xDC00:02x}" if 0xDC80 <= surrogate <= 0xDCFF else f"\\u{surrogate:04x}"


def mean_and_error(mean: float | None, error: float | None = None) -> str:
    """Format as 84.31 ± 0.52; without the error if it is unknown."""
    if is_missing(mean):
        return MISSING
    text = f"{mean:.2f}" if is_missing(error) else f"{mean:.2f} ± {error:.2f}"
    return text.replace("-", "−")


def signed(value: float, decimals: int = 1) -> str:
    return f"{value:+.{decimals}f}".replace("-", "−")


def strength(q: Any) -> str:
    """Format a memory strength, or one per past task."""
    if isinstance(q, list | tuple):
        return ", ".join(f"{one:g}" for one in q)
    return MISSING if is_missing(q) else f"{q:g}"


def pluralize(count: int, noun: str) -> str:
    """Format as 1 run or 1,080 runs."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def recordings_and_runs(recordings: int, runs: int) -> str:
    """Format as 6 recordings + 216 runs; without recordings, as 216 runs."""
    found = [pluralize(recordings, "recording")] if recordings else []
    return " + ".join([*found, *([pluralize(runs, "run")] if runs or not found else [])])


def name_seeds(seeds: Iterable[int]) -> str:
    """Format as seed 0, or seeds 1, 2."""
    names = [str(seed) for seed in sorted(seeds)]
    return f"seed{'' if len(names) == 1 else 's'} {', '.join(names)}"


def duration(seconds: float) -> str:
    """Format approximately, as 45 s, 12 min, 1.5 h, 30 h or 3 days."""
    hours = seconds / 3600
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if hours < 1.5:
        return f"{seconds / 60:.0f} min"
    if hours < 48:
        return f"{hours:.1f} h" if hours < 10 else f"{hours:.0f} h"
    return f"{hours / 24:,.0f} days"


def tasks_in_order(names: Sequence[str]) -> str:
    return f"Tasks in order: {' · '.join(names)}"


def one_of(sentence: str, count: int) -> str:
    """Return the first of `count` similar sentences, with the number of the others."""
    return sentence if count == 1 else f"{sentence} ({count - 1:,} more of this kind.)"


def file_size(bytes: float) -> str:
    """Format as 28 KiB or 1,234.5 MiB."""
    return f"{bytes / 2**10:.0f} KiB" if bytes < 2**20 / 10 else f"{bytes / 2**20:,.1f} MiB"
