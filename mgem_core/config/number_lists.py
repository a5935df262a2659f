"""Lists of numbers as users type them: seeds such as 0-3, 7 and strengths such as 0, 0.1, 1."""

import re
from collections.abc import Iterable

MOST_SEEDS = 1000
LARGEST_SEED = 2**32 - 1
LARGEST_STRENGTH = 1e6


def parse_seeds(text: str) -> list[int]:
    """Return the seeds in a text, sorted; a ValueError says which part is not a seed or a range."""
    seeds: set[int] = set()
    for part in _parts(re.sub(r"\s*[-–]\s*", "-", text)):
        found = re.fullmatch(r"([0-9]{1,10})(?:-([0-9]{1,10}))?", part)
        if found is None:
            raise ValueError(f"“{part}” is not a whole number or a range such as 0-9")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise ValueError(f"{part} ends before it begins; write {last}-{first}")
        if last > LARGEST_SEED:
            raise ValueError(f"{last} is too large; a seed is at most {LARGEST_SEED:,}")
        if len(seeds) + last - first >= MOST_SEEDS:
            raise ValueError(f"these are too many; give at most {MOST_SEEDS:,}")
        seeds.update(range(first, last + 1))
    return sorted(seeds)


def parse_strengths(text: str) -> list[float]:
    """Return the strengths in a text, sorted; a ValueError says which part is not a strength."""
    return sorted({abs(_strength(part)) for part in _parts(text)})  # abs: −0 is 0


def _strength(part: str) -> float:
    try:
        value = float(part)
    except ValueError:
        raise ValueError(f"“{part}” is not a number") from None
    if not 0 <= value <= LARGEST_STRENGTH:
        raise ValueError(f"{part} is not from 0 to a million")
    return value


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"[\s,;]+", text) if part]


def seeds_text(seeds: Iterable[int]) -> str:
    """Format seeds as 0-3, 7."""
    ranges: list[list[int]] = []
    for seed in sorted(seeds):
        if ranges and seed == ranges[-1][-1] + 1:
            ranges[-1].append(seed)
        else:
            ranges.append([seed])
    return ", ".join(f"{one[0]}-{one[-1]}" if len(one) > 1 else f"{one[0]}" for one in ranges)


def strengths_text(strengths: Iterable[float]) -> str:
    return ", ".join(f"{strength:g}" for strength in sorted(strengths))
