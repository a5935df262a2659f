"""Text for the pages; what the command line shares, such as `pluralize`, is in `mgem_core.text`."""

import re
from datetime import datetime, tzinfo

from mgem_core.streams import BENCHMARKS
from mgem_core.text import without_surrogates

LONGEST_QUOTE = 60  # characters of a text from a URL in a message


def escape_markdown(text: str) -> str:
    """Escape a text of the user's, or of an error, so that it is shown as it is."""
    return re.sub(r"([\\`*_{}\[\]()#+!|$~:<>])", r"\\\1", without_surrogates(text))


def quote(text: str) -> str:
    """A text from a URL as part of a message: escaped, on one line, and not longer than can be read at a glance."""
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return escape_markdown(line if len(line) <= LONGEST_QUOTE else line[:LONGEST_QUOTE] + " …")


def format_time(timestamp: float, zone: tzinfo | None = None) -> str:
    """Date and time in that zone; the year only if it is not the current one."""
    moment, today = datetime.fromtimestamp(timestamp, zone), datetime.now(zone)
    return moment.strftime("%d %b %H:%M" if moment.year == today.year else "%d %b %Y %H:%M").lstrip("0")


def abbreviate(items: list[str], most: int) -> str:
    """a, b, c …"""
    return ", ".join(items[:most]) + (" …" if len(items) > most else "")


def field_title(name: str) -> str:
    """The name of a config field as people read it."""
    return name.replace("_", " ")


def benchmark_title(name: str) -> str:
    return BENCHMARKS[name].title if name in BENCHMARKS else name


def benchmark_choice(name: str) -> str:
    """The title of a benchmark in a list to choose from; it says if its data is not here."""
    return BENCHMARKS[name].title + (" (needs a download)" if BENCHMARKS[name].missing() else "")
