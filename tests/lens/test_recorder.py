"""The recorder: what any loop records is what the lens shows, and no file that is not whole is taken for one."""

import io
import json
import re
import runpy
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mgem_core import UsageError
from mgem_core.lens import header, recordings
from mgem_core.lens.answers import answers
from mgem_core.lens.recorder import Recorder, named_gradients
from mgem_core.lens.steps import steps_of
from mgem_core.restriction.restriction import Restriction

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def model_and_gradients(count=4):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 2))
    return model, [named_gradients(model, (model(torch.randn(8, 6)) ** 2).mean()) for _ in range(count)]


def flat(named):
    return torch.cat([tensor.flatten() for tensor in named.values()]).double().numpy()


def test_lens_shows_recorded_steps(tmp_path):
    _, (g, row, other, true) = model_and_gradients()
    with Recorder(tmp_path / "my.lens", lr=0.2, seed=3) as recorder:
        recorder.snap(g, [[row, other]], true_past=[true], sizes=[[3, 1]], step=7)
    recording = recordings.read(tmp_path / "my.lens")
    assert (recording.lr, recording.seed, recording.tasks) == (0.2, 3, [1])
    assert [layer.name for layer in recording.layers] == ["0", "1", "3"]
    steps = steps_of(recording, 1)
    found = answers(steps, [Restriction(strength=0.5, trigger="always")])
    memory = 0.75 * flat(row) + 0.25 * flat(other)
    v = max(0.5, -flat(g) @ memory / (memory @ memory))
    z = flat(g) + v * memory
    assert found.gs_z[0, 0, 0] == pytest.approx(flat(true) @ z, rel=1e-4)
    assert [found.gt_z[0, 0], found.batch_z[0, 0]] == pytest.approx([flat(g) @ z] * 2, rel=1e-4)
    assert found.memory_z[0, 0, 0] == pytest.approx(memory @ z, rel=1e-4)
    assert steps.steps.tolist() == [7]


def test_batch_and_memory_mean_replace_missing_true_gradients(tmp_path):
    _, (g, row, other, third) = model_and_gradients()
    with Recorder(tmp_path / "my.lens") as recorder:
        recorder.snap(g, [[row, other], [third, g]], sizes=[[3, 1], [1, 1]])
    steps = steps_of(recordings.read(tmp_path / "my.lens"), 2)
    gram = steps.gram[0].sum(0)
    vectors = [g, g, (row, other, 0.75), (third, g, 0.5), row, other, third, g]
    rows = np.stack([v[2] * flat(v[0]) + (1 - v[2]) * flat(v[1]) if isinstance(v, tuple) else flat(v) for v in vectors])
    np.testing.assert_allclose(gram, rows @ rows.T, rtol=1e-4, atol=1e-7)


def test_missing_gradient_is_zero(tmp_path):
    _, (g, row, *_) = model_and_gradients()
    without = {name: None if name == "0.weight" else tensor for name, tensor in row.items() if name != "0.bias"}
    with Recorder(tmp_path / "my.lens") as recorder:
        recorder.snap(g, [without])
    gram = steps_of(recordings.read(tmp_path / "my.lens"), 1).gram[0]
    assert (gram[:2, 3] == 0).all()
    assert (gram[:2, 0, 0] > 0).all()


def test_numpy_arrays_and_undotted_names_are_accepted(tmp_path):
    g, row = np.random.default_rng(0).normal(size=(2, 3, 4))
    with Recorder(tmp_path / "my.lens") as recorder:
        recorder.snap({"weight": g}, [{"weight": row}])
    recording = recordings.read(tmp_path / "my.lens")
    assert [*recording.layers[0].tensors] == ["model.weight"]
    assert recording.snapshots[0].gram[0, 0, 3] == pytest.approx((g * row).sum(), rel=1e-5)


def test_tensors_are_grouped_by_layer(tmp_path):
    names = ["model.weight", "head.weight", "model.bias"]
    with Recorder(tmp_path / "my.lens") as recorder:
        g = {name: torch.full((2,), i + 1.0) for i, name in enumerate(names)}
        recorder.snap(g, [{name: torch.ones(2) for name in names}])
    recording = recordings.read(tmp_path / "my.lens")
    assert [name for layer in recording.layers for name in layer.tensors] == ["model.weight", "model.bias", "head.weight"]
    assert recording.snapshots[0].gram[:, 0, 3].tolist() == pytest.approx([2, 6, 4])


def test_recording_does_not_change_the_model():
    model, _ = model_and_gradients(0)
    loss = (model(torch.randn(8, 6)) ** 2).mean()
    found = named_gradients(model, loss)
    assert all(p.grad is None for p in model.parameters())
    loss.backward()
    for name, p in model.named_parameters():
        torch.testing.assert_close(found[name], p.grad)


def test_recording_survives_an_exception(tmp_path):
    _, (g, row, *_) = model_and_gradients()
    with suppress(ZeroDivisionError), Recorder(tmp_path / "my.lens") as recorder:
        recorder.snap(g, [row])
        1 / 0  # noqa: B018
    assert len(recordings.read(tmp_path / "my.lens").snapshots) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["my.lens"]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda r, g: r.snap(g, []), "memory has no gradients per past task"),
        (lambda r, g: r.snap(g, [[g], [g, g]]), r"memory has \[1, 2\] gradients per past task"),
        *(
            (
                lambda r, g, sizes=sizes: r.snap(g, [[g, g]], sizes=sizes),
                re.escape(f"sizes is {sizes}; it must be 1 × 2 whole numbers of at least 1."),
            )
            for sizes in ([[1]], [1, 2], 3, [[]], [[1, 2], [3]], [[0, 2]], [[-1, 2]], [[0.5, 1.5]], [[float("nan"), 1]])
        ),
        (lambda r, g: r.snap(g, [g], true_past=[]), "true_past has 0 gradients; memory has those of 1 past tasks"),
        (lambda r, g: r.snap({}, [{}]), "gradient has no tensors"),
        (
            lambda r, g: r.snap({"bias": g["0.bias"], "model.bias": g["0.bias"]}, [g]),
            "'bias' and 'model.bias' are parameters, and a recording would have the same name for both; rename one",
        ),
        (lambda r, g: (r.snap(g, [g]), r.snap({"new": g["0.bias"]}, [g])), "'new' is no parameter of the first snapshot"),
        (lambda r, g: (r.snap(g, [g]), r.snap({"0.bias": torch.ones(9)}, [g])), r"'0.bias' has the shape \(9,\)"),
    ],
)
def test_invalid_call_is_rejected(tmp_path, call, sentence):
    _, (g, *_) = model_and_gradients(1)
    with pytest.raises(UsageError, match=sentence):
        call(Recorder(tmp_path / "my.lens"), g)


def test_unwritable_file_is_rejected_immediately(tmp_path):
    with pytest.raises(UsageError, match="it cannot be written: No such file or directory"):
        Recorder(tmp_path / "missing" / "my.lens")


@pytest.fixture
def content(tmp_path):
    _, (g, row, *_) = model_and_gradients()
    with Recorder(tmp_path / "good.lens") as recorder:
        for _ in range(3):
            recorder.snap(g, [row])
    return (tmp_path / "good.lens").read_bytes()


def altered(content, **changes):
    """The file with other values in its header."""
    with np.load(io.BytesIO(content)) as arrays:
        header, factors = json.loads(arrays["header"].tobytes()), arrays["factors"]
    file = io.BytesIO()
    np.savez_compressed(file, header=np.frombuffer(json.dumps({**header, **changes}).encode(), np.uint8), factors=factors)
    return file.getvalue()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda content: content[: len(content) // 2], "is no recording of mgem, or it is damaged; record it again."),
        (lambda content: b"", "is no recording of mgem, or it is damaged; record it again."),
        (lambda content: b"some text", "is no recording of mgem, or it is damaged; record it again."),
        (
            lambda content: content[:200] + bytes(50) + content[250:],
            "is no recording of mgem, or it is damaged; record it again.",
        ),
        (lambda content: altered(content, format="other"), "is no recording of mgem, or it is damaged; record it again."),
        (lambda content: altered(content, layers=[]), "is no recording of mgem, or it is damaged; record it again."),
        *(
            (
                lambda content, sizes=sizes: altered(
                    content, snapshots=[{"task": 1, "step": n, "sizes": sizes} for n in range(3)]
                ),
                "is no recording of mgem, or it is damaged; record it again.",
            )
            for sizes in ([[0]], [[-3]], [[1.5]])
        ),
        *(
            (lambda content, used=used: altered(content, used=used), sentence)
            for used, sentence in (
                (["ridge"], "is no recording of mgem, or it is damaged; record it again."),
                ("ridge", "is no recording of mgem, or it is damaged; record it again."),
                ({"ridge": "abc"}, "has a setting that no run can have: ridge is 'abc'; it must be a valid number."),
                (
                    {"step_length": "foo"},
                    "has a setting that no run can have: step_length is 'foo'; it must be one of free, gradient.",
                ),
            )
        ),
        (lambda content: altered(content, snapshots=[1]), "is no recording of mgem, or it is damaged; record it again."),
        (
            lambda content: altered(content, version=2),
            "is a recording of version 2, and this program reads up to 1; update it.",
        ),
    ],
)
def test_damaged_or_newer_file_is_rejected(tmp_path, content, damage, sentence):
    path = tmp_path / "bad.lens"
    path.write_bytes(damage(content))
    with pytest.raises(UsageError) as raised:
        recordings.read(path)
    assert str(raised.value) == f"{str(path)!r} {sentence}"


def test_run_settings_are_stored_in_the_file(tmp_path, content):
    used = {"modules": {"0": 0, "3": 1}, "strength": (0.5, 0.1), "trigger": "always", "ridge": 0.0}
    (tmp_path / "my.lens").write_bytes(altered(content, used=used))
    assert recordings.read(tmp_path / "my.lens").used == used


def test_recording_beyond_the_limits_is_rejected(tmp_path, monkeypatch):
    _, (g, row, *_) = model_and_gradients()
    with pytest.raises(UsageError, match="has 1,004 rows in a Gram matrix, and at most 1,000 can be opened"):
        Recorder(tmp_path / "wide.lens").snap(g, [[row] * 1001])
    monkeypatch.setattr(header, "MOST_SNAPSHOTS", 2)
    with Recorder(tmp_path / "my.lens") as recorder:
        for _ in range(2):
            recorder.snap(g, [row])
        with pytest.warns(UserWarning, match="is full, and later steps are left out: with this one it has 3 snapshots"):
            recorder.snap(g, [row])
    assert len(recordings.read(tmp_path / "my.lens").snapshots) == 2


def test_missing_or_empty_recording_is_rejected(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file or directory"):
        recordings.read(tmp_path / "none.lens")
    with Recorder(tmp_path / "empty.lens"):
        pass
    with pytest.raises(UsageError, match="has no snapshots yet"):
        recordings.read(tmp_path / "empty.lens")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_run_and_their_files_open(tmp_path, example, monkeypatch):
    assert len(example.read_text().splitlines()) <= 20
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example))
    steps = steps_of(recordings.read(tmp_path / f"{example.stem}.lens"), 1)
    assert len(steps.gram) >= 50
    found = answers(steps, [Restriction(strength=q, trigger="always") for q in (0.0, 1.0)])
    assert found.gs_z[1].mean() > found.gs_z[0].mean()
