"""What a sweep says that its snapshots cost, against what they do cost."""

import pytest
from trained_store import trained_store

from mgem_core import RunConfig
from mgem_core.analysis.estimate import estimate
from mgem_core.config.snapshot_cost import snapshot_cost
from mgem_core.config.sweeps import SweepSpec, estimate_seconds, relative_work

SHORT = {"iterations": 10, "memory": 12, "probe_every": 0, "probe_samples": 50, "snap_every": 1, "device": "cpu"}


@pytest.mark.parametrize(
    "fields",
    [
        {"tasks": 4, "snap_splits": 6},
        {"tasks": 2, "iterations": 30},  # small ones, of which several share a page
        {"benchmark": "mnist5k-split", "tasks": 4, "snap_splits": 6},
    ],
)
def test_store_grows_by_the_estimated_size(tmp_path, fields):
    sizes = []
    for snap_every in (0, 1):
        spec = SweepSpec(base={**SHORT, **fields, "snap_every": snap_every})
        store = trained_store(tmp_path / f"{snap_every}.db", spec)
        sizes.append(store.size()[0])
    expected = snapshot_cost(spec.runs(), {}, 1)
    assert expected.snapshots == len(store.snapshots(1))
    assert sizes[1] - sizes[0] == pytest.approx(expected.bytes, rel=0.05)


def config(**fields) -> RunConfig:
    return RunConfig(**{"tasks": 3, "iterations": 100, "snap_every": 10, **fields})


def test_only_runs_that_record_something_cost_something():
    assert snapshot_cost([config(method="ewc"), config(snap_every=0), config(tasks=1)], {}, 1) is None
    one, both = snapshot_cost([config()], {}, 1), snapshot_cost([config(), config(method="ewc")], {}, 1)
    assert (one.snapshots, one.bytes) == (both.snapshots, both.bytes)
    assert one.times_as_long > both.times_as_long > 1
    assert one.snapshots == 2 * 10
    assert snapshot_cost([config(snap_every=30)], {}, 1).snapshots == 2 * 4  # steps 1, 31, 61 and 91 of two tasks


def test_time_is_in_seconds_if_the_speed_is_known_else_a_ratio():
    without = config(snap_every=0)
    ratio = relative_work(config()) / relative_work(without)
    speeds = {"mlp": 20.0 / relative_work(without)}
    told = snapshot_cost([config()], speeds, 1)
    assert told.seconds == pytest.approx(20 * (ratio - 1))
    assert told.sentence.startswith("20 snapshots for the lens: about 17 KiB")
    assert told.sentence.endswith(f"in the store, and about {20 * (ratio - 1):.0f} s of the training time.")
    assert snapshot_cost([config()], {}, 1).sentence.endswith(f"training takes about {ratio:.1f} times as long as without.")
    hardly = snapshot_cost([config(snap_every=100), *[config(snap_every=0, seed=seed) for seed in range(50)]], {}, 1)
    assert hardly.sentence.endswith("training takes hardly longer than without.")


def test_the_time_for_snapshots_is_a_part_of_the_whole():
    sweep = [config(snap_every=1), *[config(method="single", seed=seed) for seed in range(8)]]
    speeds = {"mlp": 1e-3}
    whole, told = estimate_seconds(sweep, speeds, 8), snapshot_cost(sweep, speeds, 8)
    assert 0 < told.seconds < whole


def test_a_configuration_that_the_lens_cannot_show_is_named():
    def told(*splits: tuple[int, int]) -> str:
        return snapshot_cost([config(splits=K, snap_splits=recorded) for K, recorded in splits], {}, 1).sentence

    assert told((2, 6), (4, 0)).endswith("without.")
    assert told((4, 6), (2, 6)).endswith("The lens cannot show d-mGEM(4) itself: 6 recorded splits cannot be joined to 4.")
    assert told((4, 6), (5, 3)).endswith("cannot be joined to 4. (1 more of this kind.)")


def test_snapshots_that_are_recorded_already_cost_nothing_more(tmp_path):
    spec = SweepSpec(base={**SHORT, "tasks": 2, "snap_every": 5}, grid={"seed": [0]})
    store = trained_store(tmp_path / "runs.db", spec)
    assert estimate(store, spec.runs(), 1).snapshots is None
    assert estimate(store, spec.runs(), 1, again=True).snapshots.snapshots == 2
    more = SweepSpec(base=spec.base, grid={"seed": [0, 1, 2]})
    assert estimate(store, more.runs(), 1).snapshots.snapshots == 4
