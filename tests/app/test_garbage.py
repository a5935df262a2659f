"""The collection of garbage after every run of a page."""

import gc
import weakref

import garbage
import pytest


class Node:
    """An object that may refer to itself."""


@pytest.fixture(autouse=True)
def _unfreeze(monkeypatch):
    monkeypatch.setattr(garbage, "FEWEST", 1000)
    monkeypatch.setattr(garbage, "LEAST_SHARE", 0.1)
    monkeypatch.setattr(garbage, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(garbage, "_next_check", 0.0)
    gc.unfreeze()  # what the pages of earlier tests have frozen
    yield
    gc.unfreeze()


def test_survivors_are_no_longer_visited():
    kept = [[] for _ in range(2000)]
    garbage.freeze_survivors()
    assert gc.get_freeze_count() >= len(kept)
    assert len(gc.get_objects()) < 1000


def test_garbage_is_freed_before_the_rest_is_frozen():
    kept, node = [[] for _ in range(2000)], Node()
    node.itself, is_alive = node, weakref.ref(node)
    del node
    garbage.freeze_survivors()
    assert gc.get_freeze_count() >= len(kept)
    assert is_alive() is None


def test_few_new_objects_are_not_frozen():
    garbage.freeze_survivors()
    before = gc.get_freeze_count()
    node = Node()
    node.itself, is_alive = node, weakref.ref(node)
    garbage.freeze_survivors()
    assert gc.get_freeze_count() == before
    del node
    gc.collect()
    assert is_alive() is None


def test_pages_freeze_survivors(store, monkeypatch):
    from pages import open_page

    calls = []
    monkeypatch.setattr(garbage, "freeze_survivors", lambda: calls.append(1))
    open_page("runs")
    assert calls
