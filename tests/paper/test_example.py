"""The example that comes with the tool is complete and consistent; damaged files are explained."""

import json
import shutil
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from trained_store import trained_store

from mgem_core import RunConfig, UsageError
from mgem_core.config.sweeps import SweepSpec
from mgem_core.metrics import acc_fwd_bwd
from mgem_core.paper.presets import EXAMPLE, PRESETS
from mgem_core.paper.published.example import FOLDER, recording_file, recordings, runs, spec
from studies.example import write_files

LINES = ["GEM", "p-mGEM(2)", "p-mGEM(4)", "p-mGEM(6)", "d-mGEM(2)", "d-mGEM(3)", "d-mGEM(6)", "ER"]
SEEDS = [0, 1, 2, 3, 4, 5]


@cache
def lines():
    return [json.loads(line) for line in (FOLDER / "runs.jsonl").read_bytes().splitlines()]


def config_of(line):
    return RunConfig.model_validate(line["config"])


def test_example_is_the_first_preset():
    assert next(iter(PRESETS)) == EXAMPLE
    assert spec() == PRESETS[EXAMPLE].spec


def test_every_run_of_the_preset_is_in_the_example():
    assert len(lines()) == len(spec().runs())
    assert {config_of(run).canonical() for run in lines()} == set(spec().runs())
    assert {(run["label"], run["config"]["seed"]) for run in lines()} == {(line, seed) for line in LINES for seed in SEEDS}
    assert all(run["label"] == config_of(run).label for run in lines())


def test_accuracies_are_finite_and_agree_with_the_matrix():
    for run in lines():
        assert run["status"] == "finished"
        R = np.array(run["matrix"], float)
        assert R.shape == (3, 3)
        assert ((R >= 0) & (R <= 100)).all()
        np.testing.assert_allclose([run["acc"], run["fwd"], run["bwd"]], acc_fwd_bwd(R), atol=0.011)  # R has two decimals
        assert run["seconds_per_step"] > 0


def test_probes_of_every_run_are_finite_and_consistent():
    for run in lines():
        assert run["pairs"].keys() == {"0,1", "0,2", "1,2"}
        for values in run["pairs"].values():
            x_raw, y_raw, _, x_unit, y_unit, _, x_cosine, y_cosine, _ = values
            assert np.isfinite([x_raw, y_raw, x_unit, y_unit]).all()
            assert max(abs(x_cosine), abs(y_cosine)) <= 1


def test_recordings_have_the_second_and_third_task_of_every_seed():
    configs = [config for config in spec().runs() if config.snap_every]
    recorded = [run["config"]["seed"] for run in lines() if run["config"].get("snap_every")]
    assert [config.seed for config in configs] == recorded == SEEDS
    assert [recording.seed for recording in recordings()] == SEEDS
    for config, recording in zip(configs, recordings(), strict=True):
        assert recording.tasks == [1, 2]
        assert (recording.used["strength"], recording.used["trigger"]) == (config.strength, config.trigger)
        for snapshot in recording.snapshots:
            assert snapshot.sizes.shape == (snapshot.task, config.snap_splits)
            assert (snapshot.sizes.sum(axis=1) == config.memory).all()
            assert np.isfinite(snapshot.factors).all()


def test_example_is_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2_500_000


def test_runs_can_be_analysed_like_other_published_results():
    frame, measured = runs()
    assert len(frame) == len(measured) == len(lines())
    np.testing.assert_array_equal(frame["acc"], [run["acc"] for run in lines()])


def test_files_are_written_from_a_store(tmp_path):
    base = {"tasks": 3, "iterations": 5, "memory": 12, "probe_every": 2, "snap_every": 2, "snap_splits": 2}
    store = trained_store(tmp_path / "runs.db", SweepSpec(base=base, grid={"seed": [0, 1]}))
    (tmp_path / "example").mkdir()
    (tmp_path / "example" / "old.lens").touch()
    assert [path.name for path in write_files(store, tmp_path / "example")] == [
        *("rotated-digits-0.lens", "rotated-digits-1.lens", "runs.jsonl")
    ]
    frame, measured = runs(tmp_path / "example")
    assert list(frame["seed"]) == [0, 1]
    assert frame["acc"].tolist() == pytest.approx([record["acc"] for record in store.run_records()], rel=1e-6)
    line = json.loads((tmp_path / "example" / "runs.jsonl").read_bytes().splitlines()[0])
    assert measured[1].pairs[0, 1] == line["pairs"]["0,1"]


@pytest.fixture
def copied(tmp_path):
    return shutil.copytree(FOLDER, tmp_path / "example")


def test_missing_file_is_named(copied):
    (copied / "runs.jsonl").unlink()
    recording_file(3, copied).unlink()
    with pytest.raises(UsageError, match=r"runs\.jsonl' cannot be read: No such file.*install mGEM Explorer again"):
        runs(copied)
    with pytest.raises(UsageError, match=r"digits-3\.lens' cannot be read: No such file.*install mGEM Explorer again"):
        recordings(copied)


NO_SEED = b'{"config": {"seed": "0"}}'
NO_PAIRS = b'{"config": {"seed": 0}, "pairs": {"0,1": []}}'


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"{}", b"\xff", NO_SEED, NO_PAIRS])
def test_damaged_runs_are_reported(copied, content):
    (copied / "runs.jsonl").write_bytes(content)
    with pytest.raises(UsageError, match=r"^The example is incomplete: .*runs\.jsonl' is damaged; install"):
        runs(copied)


def test_damaged_recording_is_reported(copied):
    recording_file(0, copied).write_bytes(recording_file(0, copied).read_bytes()[:5000])
    with pytest.raises(UsageError, match=r"^The example is incomplete: .*digits-0\.lens' is no recording of mgem"):
        recordings(copied)


def test_reading_the_example_does_not_import_torch():
    program = "import sys; from mgem_core.paper.published import example; example.runs(), example.recordings()"
    done = subprocess.run([sys.executable, "-c", f"{program}; sys.exit('torch' in sys.modules)"], check=False)
    assert done.returncode == 0
