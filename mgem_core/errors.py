"""What went wrong because of what was asked for, not because of the code."""


class UsageError(ValueError):
    """A request that cannot be met, said in one sentence that tells what to do instead."""
