"""The token of `mgem dashboard --token`, stored in a file, so that it stays the same after a restart."""

import os
import secrets
from pathlib import Path

from mgem_core.home import TOKEN_NAME, is_private


def read_token(home: Path) -> str:
    """Return the token in this folder; create one if there is none, or if other users could have read it."""
    path = home / TOKEN_NAME
    if is_private(path) and (token := path.read_text().strip()):
        return token
    home.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    token = secrets.token_urlsafe(32)
    # O_EXCL: the file is new, so no other user owns it or has it open. The mode applies from the start.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{token}\n")
    return token
