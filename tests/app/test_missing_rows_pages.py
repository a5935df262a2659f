"""Pages for runs with a missing row of R."""

import json

import pytest
from filled_store import finish
from pages import open_page, run_page, tables, texts
from streamlit.testing.v1 import AppTest

from mgem_core.config.sweeps import SweepSpec


@pytest.fixture
def gap(store):
    """Build two finished runs of three tasks: the first lacks the row of its second task, the second that of its last."""
    store.submit(SweepSpec(base={"tasks": 3, "iterations": 10, "memory": 20}, grid={"modules": [1, 4]}))
    for missing in (1, 2):
        finish(store, store.claim()[0], missing=(missing,))
    return store


def pictures(app: AppTest) -> dict[str, dict]:
    """Return the figures of a page by their descriptions."""
    shown = [json.loads(one.proto.json) for one in app.get("bidi_component") if one.proto.component_name.endswith("plot")]
    return {data["description"]: json.loads(data["figure"]) for data in shown}


@pytest.mark.parametrize("runs", ["r1", "r2", "r1,r2"])
def test_runs_page_shows_the_gap(gap, runs):
    app = run_page(open_page("runs", runs=runs))
    words = " ".join(pictures(app))
    assert ("R of r1 GEM" in words, "R of r2 p-mGEM(4)" in words) == ("r1" in runs, "r2" in runs)
    assert "—, —, —" in words
    assert "nan" not in words


@pytest.mark.parametrize("after", ["1", "2", "3"])
def test_explore_shows_known_values(gap, after):
    app = run_page(open_page("explore", plots="Map", after=after))
    best = {"1": "90.00", "2": "77.50", "3": "74.33"}
    assert best[after] in tables(app)
    assert "1 seed has finished in every configuration" in texts(app)
