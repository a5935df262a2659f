"""Serving plotly.js to browsers."""

import components
from test_explore_page import open_explore


def test_plotly_is_copied_to_the_static_folder(store, tmp_path, monkeypatch):
    monkeypatch.setattr(components, "SERVED_PLOTLY", tmp_path / "static" / "plotly.min.js")
    open_explore()
    assert components.SERVED_PLOTLY.read_bytes() == components.INSTALLED_PLOTLY.read_bytes()


def test_read_only_folder_is_no_error(store, tmp_path, monkeypatch):
    (tmp_path / "static").touch()
    monkeypatch.setattr(components, "SERVED_PLOTLY", tmp_path / "static" / "plotly.min.js")
    open_explore()  # asserts that there is no exception
