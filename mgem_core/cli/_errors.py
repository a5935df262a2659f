"""Error messages of the `mgem` command: one line on stderr."""

import sys

from mgem_core.cli._report import printable


def print_error(message: str, exit_code: int) -> int:
    """Print the message on one line and return the exit code."""
    print(f"mgem: {printable(' '.join(message.split()))}", file=sys.stderr)
    return exit_code
