"""Files that a download button makes after a click."""

import downloads
import pytest
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage


@pytest.fixture
def file():
    """Return a manager of files, and the name of a file that was made for a click."""
    manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    name = manager.execute_deferred(manager.add_deferred(lambda: b"x,y\n", "text/csv", "button", "data.csv"))
    return manager, name.rpartition("/")[2]


def test_file_is_there_after_many_runs_of_pages(file):
    manager, name = file
    for _ in range(5):
        downloads.remove_seldom(manager)
        manager.remove_orphaned_files()
    assert manager._storage.get_file(name).content == b"x,y\n"


def test_file_is_deleted_later(file, monkeypatch):
    manager, name = file
    monkeypatch.setattr(downloads, "KEPT_SECONDS", 0.0)
    downloads.remove_seldom(manager)
    for _ in range(2):
        manager.remove_orphaned_files()
    with pytest.raises(Exception, match="Bad filename"):
        manager._storage.get_file(name)
