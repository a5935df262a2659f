"""Explore is the first page; old links to the pages Explore and Lens still work."""

import pytest
from filled_store import known_store
from pages import MAIN, texts, workbench
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash
from trained_store import trained_store

from mgem_core.config.sweeps import SweepSpec

RECORDED = SweepSpec(base={"tasks": 2, "iterations": 4, "memory": 12, "snap_every": 2}, grid={"seed": [0, 1]})


def open_address(path: str = "", **query: str | list[str]) -> AppTest:
    """Open a path as a browser does."""
    app = AppTest.from_file(str(MAIN), default_timeout=60)
    if path:
        app._page_hash = calc_hash(path)
    app.query_params.update(query)
    app.run()
    assert not app.exception
    return app


def test_example_is_shown_before_any_training(store):
    app = open_address()
    assert workbench(app)["bar"]["source"] == "example"
    assert workbench(app)["feed"] == "/feed?source=example"
    assert "of" not in app.query_params  # so that the first sweep is shown once there is one
    store.submit(RECORDED)
    assert workbench(app.run())["bar"]["source"] == "s1"


@pytest.mark.parametrize("path", ["", "explore", "lens"])
def test_old_links_open_the_same_source_with_their_parameters(store, path):
    known_store(store.path)
    app = open_address(path, sweep="s1", view="q-3", plots=["Map", "Transfer"], axes="cosine")
    assert workbench(app)["source"] == "s1"
    assert app.query_params["view"] == "q-3"
    assert app.toggle(key="more").value
    assert app.button_group(key="axes").value == "cosine"
    assert len(app.button_group(key="plots").value) == 2
    other = open_address(path, of="example")
    assert workbench(other)["source"] == "example"
    assert other.query_params["of"] == "example"


def test_link_to_a_recorded_run_opens_its_sweep(store):
    trained_store(store.path, RECORDED)
    store.submit(SweepSpec(base={"tasks": 2}), "newer")
    app = open_address("lens", of="r2")
    assert workbench(app)["feed"] == "/feed?source=s1"
    assert app.query_params["sweep"] == "s1"
    assert "of" not in app.query_params


def test_recorded_run_without_a_sweep_is_a_source(store):
    trained_store(store.path, RECORDED)
    with store.database.transaction() as db:
        db.execute("DELETE FROM members")
        db.execute("DELETE FROM sweeps")
    app = open_address(of="r2")  # another seed of the same configuration
    assert workbench(app)["source"] == "r1"
    assert "2 seeds (r1 … r2)" in workbench(app)["bar"]["sources"][0][1]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"sweep": "s99"}, "There is no sweep s99 in this store; this is First · s1 · 4 runs."),
        ({"of": "r99"}, "There is no recorded run r99 in this store; this is First · s1 · 4 runs."),
        ({"of": "nonsense"}, "There is no recorded run nonsense in this store; this is First · s1 · 4 runs."),
    ],
)
def test_unknown_source_is_named_in_one_sentence(store, query, message):
    known_store(store.path)
    app = open_address(**query)
    assert [one.value for one in app.warning] == [message]
    assert workbench(app)["source"] == "s1"
    assert app.query_params["sweep"] == "s1"
    assert message not in texts(app.run())
