"""A sweep with recordings is analysed like the same sweep without them, with one more strength of GEM."""

import numpy as np
import pandas as pd
import pytest
from filled_store import TWO_TASKS, filled_store, probe

from mgem_core.analysis import aggregate, frames, measurements, paired
from mgem_core.analysis.aggregate import View
from mgem_core.cli._sweep_table import sweep_table
from mgem_core.config.sweeps import SweepSpec
from mgem_core.figures import map, table
from mgem_core.figures.selection import Selection

SEEDS = [0, 1, 2, 3]


def results(run, config):
    """Return results that depend on the settings alone; p-mGEM(4) learns more."""
    rng = np.random.default_rng([config.seed, int(10 * config.strength), config.modules, config.splits])
    x = np.array([1.0 + config.seed + config.strength])
    y = (5.0 + 0.1 * config.seed) * (1.1 if config.modules == 4 else 1.0) + rng.normal(0, 0.01)
    return np.array([[90.0, 10.0], [70.0 + config.strength, 80.0]]) + rng.normal(0, 0.05, (2, 2)), [probe(1, x, y)]


def spec(strengths, **base):
    grid = [
        {"modules": [1, 4], "splits": [1, 2], "strength": strengths, "seed": SEEDS},
        {"method": ["single"], "seed": SEEDS},
    ]
    return SweepSpec(base={**TWO_TASKS, **base}, grid=grid)


@pytest.fixture(scope="module", params=[{}, {"probe_every": 0, "probe_samples": 100}], ids=["probed", "not probed"])
def stores(request, tmp_path_factory):
    """A sweep without and one with recordings."""
    one = spec([0.0, 0.3, 1.0], **request.param)
    folder = tmp_path_factory.mktemp("stores")
    sweeps = {"without": one, "with": one.with_default_record()}
    return [filled_store(folder / f"{name}.db", sweep, "sweep", results=results) for name, sweep in sweeps.items()]


def points(store):
    return measurements.points(store, frames.runs(store, 1), View())


def test_recordings_add_a_point_and_no_line(stores):
    without, recorded = (points(store) for store in stores)
    assert set(without["line"]) == set(recorded["line"]) == {"GEM", "p-mGEM(4)", "d-mGEM(2)", "md-GEM(4,2)", "Single"}
    assert set(recorded["key"]) - set(without["key"]) == set(recorded.loc[recorded["q"] == 0.5, "key"])
    [added] = recorded[recorded["q"] == 0.5].to_dict("records")
    assert (added["line"], added["seeds"]) == ("GEM", len(SEEDS))
    kept = recorded[recorded["q"] != 0.5].set_index("key").loc[without["key"], ["acc", "x", "y", "seeds"]]
    pd.testing.assert_frame_equal(kept, without.set_index("key")[["acc", "x", "y", "seeds"]])


def test_differences_at_equal_strength_and_retention_are_the_same(stores):
    expected, found = (
        {verdict.line: verdict for verdict in paired.compare(Selection(store, 1).runs_to_compare(), "GEM")}
        for store in stores
    )
    assert expected.keys() == found.keys() == {"p-mGEM(4)", "d-mGEM(2)", "md-GEM(4,2)", "Single"}
    for line in ("p-mGEM(4)", "d-mGEM(2)", "md-GEM(4,2)"):
        assert found[line].at_equal_x is not None
        for name in ("at_equal_x", "acc", "fwd", "bwd"):
            assert found[line].estimate(name) == expected[line].estimate(name)


def test_map_of_differences_is_the_same(stores):
    expected, found = (map.data(Selection(store, 1)) for store in stores)
    pd.testing.assert_frame_equal(found, expected)


def test_map_of_values_has_a_cell_for_the_recordings(stores):
    grid = map.grid(map.data(Selection(stores[1], 1, view=View(cells="values"))), View(cells="values"))
    column = [row[grid.columns.index("0.5")] for row in grid.texts]
    assert [line for line, text in zip(grid.lines, column, strict=True) if text] == ["GEM"]


def test_tables_list_the_recordings_among_the_strengths_of_gem(stores):
    """Recordings are trained first, but tables are sorted by strength."""
    expected = [("GEM", "0"), ("GEM", "0.3"), ("GEM", "0.5"), ("GEM", "1")]
    lines = sweep_table(stores[1], frames.runs(stores[1], 1)).splitlines()
    assert [tuple(line.split()[1:3]) for line in lines if " GEM " in line] == expected
    rows = table.data(Selection(stores[1], 1))[["line", "q"]].itertuples(index=False)
    assert [(line, f"{q:g}") for line, q in rows if line == "GEM"] == expected


def test_recorded_and_other_seeds_are_one_configuration(tmp_path):
    """One seed was trained before the others were recorded."""
    store = filled_store(tmp_path / "runs.db", spec([0.5]), results=results)
    grid = {"strength": [0.5], "seed": [4, 5]}
    store.extend(1, SweepSpec(base=TWO_TASKS, grid=grid).with_default_record())
    while claimed := store.claim():
        store.cancel([claimed[0]])
    frame = aggregate.run_measures(frames.runs(store, 1), measurements.read_measurements(store, store.run_ids(1)), View())
    of_gem = frame[frame["label"] == "GEM"]
    assert sorted(of_gem["seed"]) == [*SEEDS, 4, 5]
    assert set(of_gem["line"]) == {"GEM"}
    assert of_gem["configuration"].nunique() == 1
