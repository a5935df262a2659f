"""Where browsers get plotly.js from."""

import parts
from test_explore_page import opened


def test_plotly_is_copied_to_the_folder_that_is_served(store, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "STATIC", tmp_path / "static" / "plotly.min.js")
    opened()
    assert parts.STATIC.read_bytes() == parts.PLOTLY.read_bytes()


def test_a_folder_that_cannot_be_written_is_no_error(store, tmp_path, monkeypatch):
    (tmp_path / "static").touch()
    monkeypatch.setattr(parts, "STATIC", tmp_path / "static" / "plotly.min.js")
    opened()  # asserts that there is no exception
