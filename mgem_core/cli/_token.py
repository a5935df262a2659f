"""The token of `mgem dashboard --token`, kept in a file, so that it stays the same when the dashboard is started again."""

import os
import secrets
from pathlib import Path

FILE_NAME = "dashboard-token"


def read_token(home: Path) -> str:
    """Return the token in this folder; make one if there is none, or if other users could have read it."""
    path = home / FILE_NAME
    if _is_private(path) and (token := path.read_text().strip()):
        return token
    home.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    token = secrets.token_urlsafe(32)
    # O_EXCL: the file is new, so nobody else owns it or has it open. The mode applies from the first moment.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{token}\n")
    return token


def _is_private(path: Path) -> bool:
    """Whether it is a file that only this user can read. On Windows, where there are no such modes, folders are private."""
    if path.is_symlink() or not path.is_file():
        return False
    if not hasattr(os, "getuid"):
        return True
    status = path.stat()
    return status.st_uid == os.getuid() and status.st_mode & 0o077 == 0
