"""Text for the pages; functions that the command line shares, such as `pluralize`, are in `mgem_core.text`."""

import re
from datetime import datetime, tzinfo

from mgem_core.streams import BENCHMARKS
from mgem_core.text import without_surrogates

LONGEST_QUOTE = 60  # the most characters of text from a URL in a message


def escape_markdown(text: str) -> str:
    """Escape text of a user or an error, so that it is shown literally."""
    return re.sub(r"([\\`*_{}\[\]()#+!|$~:<>])", r"\\\1", without_surrogates(text))


def quote(text: str) -> str:
    """Prepare text from a URL for a message: escaped, on one line, and shortened."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return escape_markdown(line if len(line) <= LONGEST_QUOTE else line[:LONGEST_QUOTE] + " …")


def format_time(timestamp: float, zone: tzinfo | None = None) -> str:
    """Format date and time in a time zone; with the year only if it is not the current one."""
    moment, today = datetime.fromtimestamp(timestamp, zone), datetime.now(zone)
    return moment.strftime("%d %b %H:%M" if moment.year == today.year else "%d %b %Y %H:%M").lstrip("0")


def abbreviate(items: list[str], most: int) -> str:
    """Join the first items, as in a, b, c …"""
    return ", ".join(items[:most]) + (" …" if len(items) > most else "")


def field_title(name: str) -> str:
    """Return the name of a config field in words."""
    return name.replace("_", " ")


def benchmark_title(name: str) -> str:
    return BENCHMARKS[name].title if name in BENCHMARKS else name


def benchmark_choice(name: str) -> str:
    """Return the title of a benchmark in a menu; it says if its data must be downloaded."""
    return BENCHMARKS[name].title + (" (needs a download)" if BENCHMARKS[name].missing() else "")
