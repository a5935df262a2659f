"""The error for requests that cannot be met."""


class UsageError(ValueError):
    """A request cannot be met. The message is one sentence that says what to do instead."""
