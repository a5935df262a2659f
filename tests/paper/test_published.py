"""Results that come with the tool: what is written from a store is read as if it were the store's."""

import json

import numpy as np
import pandas as pd
import pytest
from trained_store import SPEC, trained_store

from mgem_core import UsageError, run
from mgem_core.analysis import aggregate, frames, paired
from mgem_core.analysis.aggregate import View
from mgem_core.analysis.measurements import read_measurements
from mgem_core.cli import main
from mgem_core.config.sweeps import SweepSpec
from mgem_core.lens import recordings
from mgem_core.paper.published import FOLDER, append, pack, read
from mgem_core.paper.published.recorded import ask_recording
from mgem_core.paper.selection import find_result
from mgem_core.paper.tables import TABLES
from mgem_core.store import Store

RECORDED = SweepSpec(
    base={
        **{"tasks": 2, "iterations": 20, "memory": 20, "strength": 0.5, "trigger": "always", "network": "mlp"},
        **{"probe_every": 5, "snap_every": 5, "probe_samples": 100},
    }
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return trained_store(tmp_path_factory.mktemp("trained") / "runs.db")


@pytest.fixture
def published(store, tmp_path):
    append(tmp_path / "tiny.jsonl", pack(store))
    return read("tiny", tmp_path)


def test_line_is_complete_json(store):
    line = json.loads(json.dumps(pack(store)[0], allow_nan=False))
    assert line["label"] == "GEM"
    assert line["status"] == "finished"
    assert line["config"] == store.run_records()[0]["config"]
    assert line["validation_acc"] > 0
    assert np.shape(line["matrix"]) == (2, 2)
    assert {pair: len(values) for pair, values in line["pairs"].items()} == {"0,1": 9}
    assert {"seconds", "seconds_per_step", "fingerprint", "version"} <= line.keys()


def test_frame_has_the_columns_of_the_store(store, published):
    runs, measured = published
    stored = frames.runs(store)
    assert set(runs) >= set(stored)
    same = ["id", "label", "status", "configuration", "seed", "strength", "tasks", "benchmark", "progress"]
    pd.testing.assert_frame_equal(runs[same], stored[same], check_dtype=False)
    for name in ("acc", "fwd", "bwd", "validation_acc"):
        np.testing.assert_allclose(runs[name], stored[name], rtol=1e-6)
    assert measured.keys() == set(runs["id"])


@pytest.mark.parametrize("view", [View(), View(axes="raw"), View(after=1), View(pair=None, errors="seeds")], ids=str)
def test_points_and_comparisons_equal_those_of_the_store(store, published, view):
    runs, measured = published
    stored = frames.runs(store)
    ids = stored["id"].tolist()
    expected = aggregate.points(stored, read_measurements(store, ids), view)
    points = aggregate.points(runs, measured, view)
    for name in ("x", "y", "acc", "fwd", "bwd", "acc_within"):
        np.testing.assert_allclose(points[name], expected[name], rtol=1e-4, atol=0.006)
    assert points["line"].tolist() == expected["line"].tolist()
    rows = aggregate.runs_to_compare(runs, measured, view)
    assert rows["line"].tolist() == aggregate.runs_to_compare(stored, read_measurements(store, ids), view)["line"].tolist()
    assert paired.compare(rows, "GEM") == []


def test_runs_are_not_written_twice(store, tmp_path):
    path = tmp_path / "tiny.jsonl"
    lines = pack(store)
    assert append(path, lines[:2]) == 2
    assert append(path, [*lines, *lines]) == 2
    assert len(path.read_text().splitlines()) == 4
    assert append(path, lines) == 0


def test_runs_without_a_result_are_left_out(tmp_path):
    store = Store(tmp_path / "runs.db")
    store.submit(SPEC)
    assert pack(store) == []


def test_missing_file_is_an_empty_frame(published, tmp_path):
    runs, measured = read("nothing", tmp_path)
    assert list(runs) == list(published[0])
    assert runs.empty
    assert measured == {}
    for table in TABLES.values():
        assert find_result(runs, table, "short", table.rows[0]) is None


def test_changed_file_is_read_again(store, tmp_path):
    path, lines = tmp_path / "tiny.jsonl", pack(store)
    append(path, lines[:1])
    assert len(read("tiny", tmp_path)[0]) == 1
    append(path, lines)
    assert len(read("tiny", tmp_path)[0]) == 4


def test_invalid_line_is_named(tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"label": "GEM"}\n')
    with pytest.raises(UsageError, match=r"line 1 of .* is not the result of a run"):
        read("bad", tmp_path)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.jsonl")), ids=lambda path: path.stem)
def test_files_of_the_package_can_be_read(path):
    runs, measured = read(path.stem)
    assert (runs["status"] == "finished").all()
    assert not runs.duplicated(["configuration", "seed"]).any()
    for number, tasks, steps in runs[["id", "tasks", "steps_of"]].itertuples(index=False):
        assert len(measured[number].R) == (tasks if pd.isna(steps) else 0)  # the lens answers without accuracies


def test_publish_adds_the_runs_of_stores_to_a_file(store, tmp_path, capsys):
    path = tmp_path / "all.jsonl"
    assert main(["publish", str(store.path.parent), "-o", str(path), "--only", "r1,r2", "--peak-memory-mb", "321"]) == 0
    assert main(["publish", str(store.path), "-o", str(path)]) == 0
    assert "2 runs added" in capsys.readouterr().out.splitlines()[0]
    runs, _ = read("all", tmp_path)
    assert runs["peak_memory_mb"].dropna().tolist() == [321, 321]
    assert len(runs) == 4


def test_publish_to_a_table_file_adds_only_its_runs(tmp_path, capsys):
    table = TABLES["table-1-rotations"]
    fields = {**table.short, "method": "single", "seed": 0}
    store = Store(tmp_path / "runs.db")
    store.submit(SweepSpec(base=fields, grid={"tasks": [4, 5]}))
    while claimed := store.claim():
        run, config = claimed
        R = np.full((config.tasks, config.tasks), 80.0)
        with store.database.transaction() as db:  # without the data, it cannot be trained here
            matrix = json.dumps(R.tolist())
            db.execute("UPDATE runs SET status = 'finished', acc = 80, matrix = ? WHERE id = ?", (matrix, run))
    path = tmp_path / "table-1-rotations.jsonl"
    assert main(["publish", str(tmp_path), "-o", str(path)]) == 0
    assert "1 run added" in capsys.readouterr().out
    assert read(path.stem, tmp_path)[0]["tasks"].tolist() == [5]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-o", "results.json"], "it must be a file whose name ends with .jsonl"),
        (["nowhere.db", "-o", "results.jsonl"], "there is no such file"),
    ],
)
def test_invalid_publish_is_rejected(arguments, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["publish", *arguments]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


WHOLE_LINE = (
    b'{"label": %s, "config": {"seed": 0, "tasks": 1}, "matrix": [[1]], "pairs": {}, "acc": %s, "fwd": 1, "bwd": 1, '
    b'"validation_acc": null, "seconds": 1, "seconds_per_step": 1}'
)


def test_complete_line_is_accepted(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(WHOLE_LINE % (b'"GEM"', b"90"))
    assert append(tmp_path / "x.jsonl", []) == 0


@pytest.mark.parametrize(
    "content",
    [
        *(b"\xff\xfe", b"{", b"[]", b'{"config": {"seed": "x"}}'),
        b'{"config": {"seed": 0, "tasks": 2}, "matrix": 3, "pairs": {}}',
        *(
            b"[" * 100_000,
            b'{"config":' * 50_000,
            WHOLE_LINE % (b"[" * 400 + b"]" * 400, b"1"),
            WHOLE_LINE % (b"NaN", b"1"),
        ),
        *(WHOLE_LINE % (rb'"\ud800"', b"1"), WHOLE_LINE % (b'"x"', b"1" + b"0" * 400), WHOLE_LINE % (b'"x"', b"Infinity")),
    ],
    ids=lambda content: content[:20],
)
def test_invalid_file_is_rejected(tmp_path, content):
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(UsageError, match=r"line 1 of .* is not the result of a run; write it with mgem publish."):
        read("x", tmp_path)


@pytest.mark.parametrize("value", ["nan", "-5", "0", "inf"])
def test_invalid_peak_memory_is_rejected(tmp_path, monkeypatch, capsys, value):
    monkeypatch.setenv("MGEM_HOME", str(tmp_path))
    assert main(["publish", "-o", str(tmp_path / "x.jsonl"), "--peak-memory-mb", value]) == 2
    assert "it must be a number above 0." in capsys.readouterr().err


def test_lens_answers_equal_the_probes_of_the_recorded_run(tmp_path):
    store = Store(tmp_path / "runs.db")
    store.submit(RECORDED)
    [trained] = RECORDED.runs()
    store.record([(1, event) for event in run(trained)])
    finer = trained.model_copy(update={"modules": 3, "strength": 2.0})
    append(tmp_path / "asked.jsonl", ask_recording(recordings.of_run(store, 1), trained, [trained, finer]))
    runs, measured = read("asked", tmp_path)
    assert runs["steps_of"].tolist() == ["4 recorded steps of GEM, strength 0.5"] * 2
    assert runs["acc"].isna().all()
    [probed] = read_measurements(store, [1]).values()
    np.testing.assert_allclose(measured[1].pairs[0, 1], probed.pairs[0, 1], rtol=1e-4)
    assert append(tmp_path / "asked.jsonl", pack(store)) == 1  # the trained run is another result
    points = aggregate.points(runs, measured, View())
    assert points["line"].tolist() == ["GEM", "p-mGEM(3)"]
    assert points[["x", "y"]].notna().all(axis=None)
    assert points["x"].nunique() == 2
    assert points["seeds"].tolist() == [1, 1]
    assert points["is_shared"].all()
