"""`mgem lens`: other settings at the steps of recorded runs, on the terminal and as JSON."""

import json

import numpy as np
import pytest
import torch

from mgem_core import RunConfig, run
from mgem_core.cli import main
from mgem_core.config.sweeps import SweepSpec
from mgem_core.events import Probed, Snapped
from mgem_core.home import store_path
from mgem_core.lens import recordings
from mgem_core.lens.recorder import Recorder
from mgem_core.store import Store

BASE = {
    "tasks": 3,
    "iterations": 20,
    "memory": 24,
    "probe_every": 5,
    "snap_every": 5,
    "snap_splits": 4,
    "trigger": "always",
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A home with a recorded run of two seeds, r1 and r2, and their probes."""
    home = tmp_path_factory.mktemp("home")
    store = Store(home / "runs.db")
    store.submit(SweepSpec(base=BASE, grid={"seed": [0, 1]}))
    probes = {}
    while claimed := store.claim():
        number, config = claimed
        events = list(run(config))
        store.record([(number, event) for event in events])
        probes[number] = [event for event in events if isinstance(event, Probed)]
    store.submit(SweepSpec(base={**BASE, "snap_every": 0}))  # r3, which records nothing
    store.submit(SweepSpec(base={**BASE, "iterations": 10, "tasks": 2, "modules": 2}))  # r4, of another configuration
    for event in run(RunConfig(**BASE, modules=2)):
        if isinstance(event, Snapped):
            store.record([(4, event)])
    store.submit(SweepSpec(base={**BASE, "benchmark": "mnist5k-rotations"}))  # r5, of another benchmark
    store.record([(5, snapshot) for snapshot in store.snapshots(1)])
    return home, probes


@pytest.fixture
def probes(trained, monkeypatch):
    home, found = trained
    monkeypatch.setenv("MGEM_HOME", str(home))
    return found


def rows_of(capsys, *arguments):
    assert main(["lens", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_row_of_the_runs_own_setting_is_what_it_measured(probes, capsys):
    rows = rows_of(capsys, "r1", "--modules", "1,layers", "--splits", "1,2,4", "--strengths", "0,0.5")
    assert len(rows) == 2 * 3 * 2
    [row] = [one for one in rows if (one["modules"], one["splits"], one["strength"]) == (1, 1, 0.5)]
    measured = [probe for probe in probes[1] if probe.task == 1]
    assert row["x"] == pytest.approx(np.mean([probe.gs_z[0] / probe.norm_z for probe in measured]), rel=1e-4)
    assert row["y"] == pytest.approx(np.mean([probe.gt_z / probe.norm_z for probe in measured]), rel=1e-4)
    assert row["batch_y"] == pytest.approx(np.mean([probe.batch_z / probe.norm_z for probe in measured]), rel=1e-4)
    assert row["norm_z"] == pytest.approx(np.mean([probe.norm_z for probe in measured]), rel=1e-4)
    assert "seeds" not in row


def test_pairs_and_axes_are_those_that_are_asked_for(probes, capsys):
    [raw] = rows_of(capsys, "r1", "--strengths", "0.5", "--axes", "raw", "--pair", "2,3")
    measured = [probe for probe in probes[1] if probe.task == 2]
    assert raw["x"] == pytest.approx(np.mean([probe.gs_z[1] for probe in measured]), rel=1e-4)
    pairs = [rows_of(capsys, "r1", "--strengths", "0.5", "--pair", pair)[0]["x"] for pair in ("1,2", "1,3", "2,3")]
    [mean] = rows_of(capsys, "r1", "--strengths", "0.5", "--pair", "mean")
    assert mean["x"] == pytest.approx(np.mean(pairs))


def test_several_runs_are_averaged_over_their_seeds(probes, capsys):
    both = rows_of(capsys, "s1", "--strengths", "0,1")
    alone = [rows_of(capsys, run, "--strengths", "0,1") for run in ("r1", "r2")]
    for i, row in enumerate(both):
        x = [rows[i]["x"] for rows in alone]
        assert row["seeds"] == [0, 1]
        assert row["x"] == pytest.approx(np.mean(x))
        assert row["x_error"] == pytest.approx(abs(x[0] - x[1]) / 2)


def test_a_run_or_file_that_is_named_twice_counts_once(probes, capsys, tmp_path):
    alone, both = rows_of(capsys, "r1", "--strengths", "1"), rows_of(capsys, "s1", "--strengths", "1")
    assert rows_of(capsys, "r1", "r1", "--strengths", "1") == alone
    assert rows_of(capsys, "r1", "s1", "--strengths", "1") == both
    file = tmp_path / "my.lens"
    recordings.write(recordings.of_run(Store(store_path()), 1), file)
    again = str(tmp_path / ".." / tmp_path.name / "my.lens")
    assert rows_of(capsys, str(file), again, "--strengths", "1") == rows_of(capsys, str(file), "--strengths", "1")


def test_settings_that_are_not_given_are_those_of_the_run(probes, capsys):
    default, always, violation = (rows_of(capsys, "r1", "--strengths", "3", *more) for more in (
        [], ["--trigger", "always"], ["--trigger", "violation"]
    ))  # fmt: skip
    assert default == always
    assert default != violation


def test_rules_of_gradient_surgery_are_rows_too(probes, capsys):
    rows = rows_of(capsys, "r1", "--strengths", "0,1", "--rules", "agem,replay")
    assert [(row["rule"], row["strength"]) for row in rows] == [
        ("gem", 0.0), ("gem", 1.0), ("agem", None), ("replay", 0.0), ("replay", 1.0),
    ]  # fmt: skip
    assert rows[2]["x"] == pytest.approx(rows[0]["x"], rel=1e-4)  # with one past task, A-GEM is GEM without a floor


def test_a_file_of_any_loop_is_opened(tmp_path, capsys):
    rng = torch.Generator().manual_seed(0)
    with Recorder(tmp_path / "my.lens") as recorder:
        for _ in range(4):
            g, row = (
                {"a.weight": torch.randn(3, 4, generator=rng), "b.weight": torch.randn(5, generator=rng)} for _ in "12"
            )
            recorder.snap(g, [row])
    rows = rows_of(capsys, str(tmp_path / "my.lens"), "--modules", "1;a=0,b=1", "--strengths", "0,1")
    assert [row["modules"] for row in rows] == [1, 1, {"a": 0, "b": 1}, {"a": 0, "b": 1}]


def test_the_table_is_explained(probes, capsys):
    assert main(["lens", "s1", "--strengths", "0.5"]) == 0
    header, row, *_, legend = capsys.readouterr().out.splitlines()
    assert header.split() == ["rule", "modules", "splits", "strength", "x", "y", "batch", "y", "‖z‖"]
    assert row.split()[:4] == ["gem", "1", "1", "0.5"]
    assert row.count("±") == 2
    assert "mean over 8 recorded steps, per unit ‖z‖" in legend


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["r9"], "there is no 'r9'; mgem runs lists what there is."),
        (["r3"], "run r3 has recorded nothing that a lens can show; train it with snapshots"),
        (
            ["r1", "r4"],
            "r1 and r4 differ in more than their seeds; give runs of one configuration, whose seeds can be averaged.",
        ),
        (
            ["r1", "r5"],
            "r1 and r5 differ in more than their seeds; give runs of one configuration, whose seeds can be averaged.",
        ),
        (["none.lens"], "'none.lens' cannot be read: No such file or directory."),
        (
            ["r1", "--splits", "3"],
            "splits is 3; r1 recorded 4 memory splits of each past task, which can be joined to 1, 2, 4.",
        ),
        (["r1", "--splits", "8"], "splits is 8; r1 recorded 4 memory splits of each past task, so it must be from 1 to 4."),
        (["r1", "--splits", "x"], "splits is 'x'; it must be a whole number."),
        (["r1", "--modules", "conv=0"], "modules is {'conv': 0}; 'conv' is no layer or tensor of this network"),
        (["r1", "--modules", "x"], "modules is 'x'; it must be a whole number,"),
        (["r1", "--strengths", "-1"], "strengths is '-1'; it must be a number from 0 to a million"),
        (["r1", "--rules", "magic"], "rule is 'magic'; it must be one of agem, pcgrad, mgda, cagrad, upgrad, replay."),
        (["r1", "--pair", "1,9"], "pair is '1,9'; recorded are 1,2, 1,3, 2,3, or mean for all of them."),
    ],
)
def test_a_wrong_request_is_one_sentence(probes, arguments, sentence, capsys):
    assert main(["lens", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"mgem: {sentence}")
    assert error.count("\n") == 1
