"""The error for requests that cannot be met."""

from collections.abc import Iterable


class UsageError(ValueError):
    """A request cannot be met. The message is one sentence that says what to do instead."""


def check_choice(field: str, value: object, allowed: Iterable[object]) -> None:
    """Raise a UsageError if the value of a field is not one of those allowed."""
    if value not in (choices := list(allowed)):
        raise UsageError(f"{field} is {value!r}; it must be one of {', '.join(map(str, choices))}.")
