"""Keep the file of a download until the browser has fetched it.

Streamlit makes the file of a button after the click, and no session refers to it. It deletes such a file when two runs of
any page or fragment have ended since, which takes less than a second with several viewers, so the browser found no file.
"""

import time

from streamlit import runtime
from streamlit.runtime.media_file_manager import MediaFileManager

KEPT_SECONDS = 60.0  # at least


def keep_downloads() -> None:
    if runtime.exists():  # not in tests without a server
        remove_seldom(runtime.get_instance().media_file_mgr)


def remove_seldom(manager: MediaFileManager) -> None:
    """Let the manager look for unused files at most once in KEPT_SECONDS; it deletes those that it sees a second time."""
    if "remove_orphaned_files" in vars(manager):
        return  # an earlier run of a page has done this
    remove, next_time = manager.remove_orphaned_files, 0.0

    def remove_if_due() -> None:
        nonlocal next_time
        if time.monotonic() >= next_time:
            next_time = time.monotonic() + KEPT_SECONDS
            remove()

    manager.remove_orphaned_files = remove_if_due  # type: ignore[method-assign]
